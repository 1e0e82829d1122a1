"""Killed at any moment, or many at once: no lock is left, nothing is lost, the next stop heals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.git import run_git
from tests.git.space import HEAD, NAMES, RECORD, Space

CALLS = 10
"""As many git processes as one commit takes."""
KILLED = Path(__file__).parent / "killed_record.py"
INTERRUPTED = """
import os
import subprocess
import sys
from cortext.git.record import record
plain = subprocess.Popen.communicate
def interrupted(process, *rest):
    if sys.argv[1] in process.args:
        while sys.argv[1] == "update-index" and not os.path.exists(".git/index.lock"):
            pass
        raise KeyboardInterrupt
    return plain(process, *rest)
subprocess.Popen.communicate = interrupted
root, folder, *files = sys.argv[2:]
record(root, folder, files, mode="auto", title="T", id="x", verb="stop")
"""


def _arguments(space: Space) -> list[str]:
    return [str(space.root), str(space.folder), *(str(space.folder / name) for name in NAMES)]


def _killed(space: Space, number: int, moment: str) -> int:
    root, folder, *files = _arguments(space)
    done = subprocess.run(
        [sys.executable, str(KILLED), root, folder, str(number), moment, *files],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(done.stdout)


def test_commit_takes_few_processes(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than the tests below know of would be one moment that they do not kill at."""
    commands: list[str] = []
    communicate = run_git._communicate

    def counted(
        process: "subprocess.Popen[bytes]", command: str, given: bytes | None
    ) -> run_git.Result:
        commands.append(command)
        return communicate(process, command, given)

    monkeypatch.setattr(run_git, "_communicate", counted)
    space.record()
    assert len(commands) == CALLS
    assert commands[-2:] == ["update-ref", "update-index"]


@pytest.mark.parametrize("moment", ["before", "started", "fed", "after"])
@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_killed_at_any_moment(space: Space, number: int, moment: str) -> None:
    """The commit is whole or absent; no lock; staged files stay; the next stop ends clean."""
    space.record()
    for name in NAMES:
        space.write(name, "second\n")
    (space.root / "theirs.txt").write_text("staged\n")
    space.git("add", "theirs.txt")
    before = space.git("rev-parse", "HEAD")

    assert _killed(space, number, moment) == -signal.SIGKILL
    assert space.locks == []
    assert space.git("diff", "--cached", "--name-only", "--", ":!conversations") == "theirs.txt\n"
    if space.git("rev-parse", "HEAD") != before:
        assert space.committed() == space.paths
        assert space.git("rev-parse", "HEAD~1") == before
    for name in NAMES:
        assert (space.folder / name).read_text() == "second\n"

    assert space.record().outcome in ("committed", "unchanged")
    assert [space.content(name) for name in NAMES] == ["second\n"] * 3
    assert space.git("rev-parse", "HEAD~1") == before
    assert space.status() == "M  theirs.txt\n"
    space.git("fsck", "--strict", "--no-dangling")


def test_killed_between_branch_and_index(space: Space) -> None:
    """The one state that shows: staged changes back, in our files alone; reset heals it too."""
    _killed(space, CALLS - 1, "after")
    assert space.committed() == space.paths
    expected = "".join(f"D  {path}\n" for path in space.paths)
    assert space.status() == expected + "".join(f"?? {path}\n" for path in space.paths)
    space.git("reset", "-q", "--", space.place)
    assert space.status() == ""


@pytest.mark.parametrize("command", ["update-ref", "update-index", "hash-object", "mktree"])
def test_interrupted_by_the_person(space: Space, command: str) -> None:
    """Control-C while git runs: git ends and takes its locks with it; the next stop works."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, command, *_arguments(space)],
        cwd=space.root,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGINT
    assert space.locks == []
    assert space.record().outcome in ("committed", "unchanged")
    assert space.status() == ""


def test_eight_stops_at_once(space: Space) -> None:
    """Eight conversations of one workspace: eight commits, each with its own files."""
    spaces = [Space(space.root, f"conversations/2026-02-0{n}/001-x") for n in range(1, 9)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RECORD, *_arguments(one)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for one in spaces
    ]  # fmt: skip
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    outcomes = [child.communicate(timeout=100)[0] for child in children]
    assert outcomes == ["committed\n"] * 8
    commits = space.git("rev-list", "HEAD~8..HEAD").split()
    assert sorted(space.committed(commit) for commit in commits) == [one.paths for one in spaces]
    assert space.git("diff", "--cached", "--name-only") == ""
    assert space.locks == []


def test_same_conversation_stopped_twice_at_once(space: Space) -> None:
    """One commits, the other has nothing left to do."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RECORD, *_arguments(space)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    outcomes = sorted(child.communicate(timeout=100)[0] for child in children)
    assert outcomes == ["committed\n", "unchanged\n"]
    assert space.git("rev-list", "--count", "HEAD") == "2\n"
    assert space.status() == ""


def test_a_person_who_stages_meanwhile(space: Space) -> None:
    """Plain `git add` beside our stops: all that was staged is, and none of it is committed."""
    loop = "for n in 1 2 3 4 5 6 7 8; do echo $n > f$n; until git add f$n; do :; done; done"
    with subprocess.Popen(
        ["sh", "-c", loop], cwd=space.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as person:
        outcomes: list[str] = []
        while person.poll() is None or not outcomes:
            space.write(HEAD, os.urandom(8).hex())
            outcomes.append(space.record().outcome)
    space.record()
    assert {*outcomes} <= {"committed", "busy"}
    added = space.git("diff", "--cached", "--name-status")
    assert added == "".join(f"A\tf{n}\n" for n in range(1, 9))
    assert space.git("rev-list", "--count", "HEAD").strip() != "1"
