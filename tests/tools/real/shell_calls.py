"""How each tool is told to run a shell command."""

SHELL = {
    "claude": ("Bash", "command", ["--allowedTools", "Bash"]),
    "opencode": ("bash", "command", []),
    "gemini": ("run_shell_command", "command", ["--yolo"]),
    "codex": ("exec_command", "cmd", ["--sandbox", "danger-full-access"]),
}
