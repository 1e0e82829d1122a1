"""The settings files of the AI tools."""

from pathlib import Path

CLAUDE = b"""\xef\xbb\xbf{
\t// Mine, and \xe2\x82\xac
\t"permissions": { "allow": ["Bash(ls:*)"],   "deny": [] },
\t"env": {"A": "1"}, /* two */
\t"hooks": {
\t\t"Stop": [ { "hooks": [ { "type": "command", "command": "notify-send done" } ] } ], // mine
\t\t"PreToolUse": []
\t},
\t"mcpServers": {"other": {"command": "x"}},
}""".replace(b"\n", b"\r\n")
GEMINI = b'{"security":{"auth":{"selectedType":"x"},"folderTrust":{"enabled":true}},"hooks":{}}'
CODEX = b"""# mine
model = "x"
[projects."/a"]
trust_level = "trusted"
[mcp_servers.other]
command = "x\""""


def files(folder: Path) -> dict[str, bytes]:
    """Every file and folder below; a folder has no bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }
