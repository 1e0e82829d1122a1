"""Whoever reads what a list or a search says: slow, gone, or a full disk."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.list_terminal import put
from tests.command import SCRIPT, cortext, folder_of

COMMANDS = (["list"], ["resume", "--list"], ["search", "words"])


@pytest.fixture
def many(space: Path) -> Path:
    """More than a pipe holds."""
    for number in range(1, 71):
        put(space, f"{number:03}-plan-a", "words " * 400, title="words " * 300)
    return space


def run(cwd: Path, command: list[str], out: int, err: int) -> int:
    done = subprocess.run(
        [SCRIPT, *command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        timeout=60,
        check=False,
    )
    return done.returncode


def unread() -> int:
    """The end for writing of a pipe that nobody reads any more."""
    ours, its = os.pipe()
    os.close(ours)
    return its


@pytest.mark.parametrize("command", COMMANDS)
def test_list_and_search_exit_0_when_reader_closes_pipe(
    command: list[str], many: Path, tmp_path: Path
) -> None:
    """As with `head`: nothing is wrong, and nothing is said of it."""
    its = unread()
    with (tmp_path / "said").open("w+b") as said:
        assert run(many, command, its, said.fileno()) == 0
        said.seek(0)
        assert not {"error", "Error", "Traceback"} & set(said.read().decode().split())
    os.close(its)


@pytest.mark.parametrize("command", COMMANDS)
def test_list_and_search_exit_1_when_output_disk_is_full(
    command: list[str], many: Path, tmp_path: Path
) -> None:
    """What was not written is no success."""
    with (tmp_path / "said").open("w+b") as said, open("/dev/full", "wb") as full:
        assert run(many, command, full.fileno(), said.fileno()) == 1
        said.seek(0)
        assert b"error: no space left on device\nhint: " in said.read()


@pytest.mark.parametrize(("command", "code"), [(["list"], 0), (["search", "zzzzqqqq"], 1)])
def test_list_and_search_print_same_data_when_stderr_is_closed(
    command: list[str], code: int, space: Path, tmp_path: Path
) -> None:
    """The data and the exit code are the same."""
    put(space, "001-plan-a", "words")
    put(space, "002-plan-b", "words")
    (folder_of(space, "002-plan-b") / ".session/messages.jsonl").write_text("{nonsense\n{}\n")
    told = cortext(space, *command)
    assert told.stderr
    its, data = unread(), tmp_path / "data"
    with data.open("wb") as out:
        assert (run(space, command, out.fileno(), its), told.returncode) == (code, code)
    os.close(its)
    assert data.read_text() == told.stdout
