"""`cortext doctor --fix` in a terminal: it asks, and does what the answer is."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from cortext import paths
from tests.command import SCRIPT
from tests.features.doctor.damage import Kept, torn


def answered(word: str) -> tuple[int, str]:
    """What a person sees who answers so, and the exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, "doctor", "--fix"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, f"{word}\n".encode())
    seen = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(ours)
    return process.wait(timeout=60), seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("word", ["n", "y"])
def test_doctor_fix_repairs_only_after_yes(word: str) -> None:
    kept = Kept("log", Path(paths.spawn_sessions())).make()
    torn(kept)
    before = kept.lines.read_bytes()
    code, seen = answered(word)
    assert f"1. set aside the incomplete last line of {kept.lines}\n" in seen
    assert "Make this repair? [y/N]: " in seen
    if word == "n":
        assert (code, kept.lines.read_bytes()) == (1, before)
        assert "Nothing was changed." in seen
    else:
        assert (code, before.startswith(kept.lines.read_bytes())) == (0, True)
        assert f"{kept.lines}.torn" in seen
