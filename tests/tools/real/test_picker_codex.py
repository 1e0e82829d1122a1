"""`cortext` alone in a terminal, with the real Codex: picked, reopened, left, and kept.

Apart from the other tools because Codex in a terminal would start a server that outlives it, and a
test must leave nothing behind: the `codex` on the PATH here adds the option against that.
"""

import shlex
from pathlib import Path

import pytest

from tests.tools.real.install import installed
from tests.tools.real.machine import Machine
from tests.tools.real.record import repository
from tests.tools.real.resumed_tool import pick
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("tmux", "to have a terminal"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.fixture
def without_server(tmp_path: Path) -> Path:
    """A folder for the PATH with the real Codex, which starts nothing that outlives it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "codex"
    real = shlex.quote(str(installed("codex")))
    program.write_text(f'#!/bin/sh\nexec {real} "$@" --no-daemon\n', encoding="utf-8")
    program.chmod(0o700)
    return folder


def test_picker_enter_opens_codex_and_its_exit_returns_to_shell(
    tmp_path: Path, without_server: Path
) -> None:
    """Found by words that were said in it; Codex has the terminal and the whole history, and what
    is said there is in the conversation."""
    with Stub(["The first answer.", "The second answer.", "The third answer."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=["codex"])
        tool = machine.tools["codex"]
        tool.extra["PATH"] = f"{without_server}:{tool.extra['PATH']}"
        repository(machine.project)
        pick(machine, stub, "codex")
