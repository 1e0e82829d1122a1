"""A session of Claude Code that a slash command is called in."""

import subprocess
from pathlib import Path

from tests.command import SCRIPT

ID = "11111111-2222-4333-8444-555555555555"


def fed(space: Path, words: str, *arguments: str) -> str:
    """With the words on stdin, as the command file of Claude Code gives them."""
    done = subprocess.run(
        [SCRIPT, "slash", *arguments, "--stdin"],
        cwd=space,
        input=f"{words}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
