"""A machine with one tool for `aur spawn`, and the processes it leaves."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.real.machine import Machine
from tests.tools.real.record import repository
from tests.tools.real.stub import Stub


def machine(tmp_path: Path, stub: Stub, name: str, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with one tool, whose environment is ours now."""
    made = Machine(tmp_path / "root", stub, tools=[name])
    repository(made.project)
    environment = made.environment
    for variable in list(os.environ):
        # What the test runner keeps for itself is nothing to a tool.
        if not variable.startswith("PYTEST_"):
            monkeypatch.delenv(variable)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return made


def living(root: Path) -> list[str]:
    """The processes whose HOME is in this folder: all that a tool started."""
    return [*_living(f"HOME={root}/".encode())]


def _living(mark: bytes) -> Iterator[str]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or folder.name == str(os.getpid()):
            continue
        try:
            if mark in (folder / "environ").read_bytes():
                yield (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it ended while we looked, or is not ours
