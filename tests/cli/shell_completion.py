"""What a shell offers for a command."""

from pathlib import Path

from tests.command import ok


def offered(cwd: Path, line: str) -> list[str]:
    """What completes the last word of a line; a space at its end begins a new one."""
    words = line.split(" ")
    env = {
        "_CORTEXT_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    shown = ok(cwd, env=env).splitlines()
    return [text.partition(",")[2] for text in shown if text]
