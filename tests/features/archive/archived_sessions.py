"""Sessions of tools, and their copies in the archive."""

import os
from pathlib import Path

from cortext.features.archive.archive_copy_states import folder_of
from cortext.tools.registry import open_bridge
from tests.tools.claude import claude_lines

ID = claude_lines.ID


def say(home: Path, *texts: str, id: str = ID) -> Path:
    """A conversation in Claude Code."""
    lines = [claude_lines.line(f"u{n}", None, "user", text) for n, text in enumerate(texts)]
    path = Path(claude_lines.write(home / ".claude", *lines, name=id).path)
    os.utime(path, (1, 1_700_000_000 + len(texts)))
    return path


def other(number: int) -> str:
    return f"{number:08}-0000-4000-8000-000000000000"


def archived(tool: str = "claude") -> dict[str, list[str]]:
    """What was said in each conversation that the archive has."""
    bridge = open_bridge(tool, folder_of(tool))
    decoded = {source.id: bridge.decode(source).session for source in bridge.sources()}
    return {id: [message.content for message in it.messages] for id, it in decoded.items()}
