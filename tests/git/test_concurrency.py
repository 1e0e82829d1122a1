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
from cortext.git.commit_conversation import record
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


def test_commit_runs_expected_number_of_git_commands(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more than the tests below know of would be one moment that they do not kill at."""
    commands: list[str] = []
    communicate = run_git._communicate

    def counted(
        process: "subprocess.Popen[bytes]", command: str, given: bytes | None
    ) -> run_git.GitResult:
        commands.append(command)
        return communicate(process, command, given)

    monkeypatch.setattr(run_git, "_communicate", counted)
    repository_space.record()
    assert len(commands) == CALLS
    assert commands[-2:] == ["update-ref", "update-index"]


@pytest.mark.parametrize("moment", ["before", "started", "fed", "after"])
@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_killed_commit_is_whole_or_absent_and_next_commit_succeeds(
    repository_space: Space, number: int, moment: str
) -> None:
    """The commit is whole or absent; no lock; staged files stay; the next stop ends clean."""
    repository_space.record()
    for name in NAMES:
        repository_space.write(name, "second\n")
    (repository_space.root / "theirs.txt").write_text("staged\n")
    repository_space.git("add", "theirs.txt")
    before = repository_space.git("rev-parse", "HEAD")

    assert _killed(repository_space, number, moment) == -signal.SIGKILL
    assert repository_space.locks == []
    assert (
        repository_space.git("diff", "--cached", "--name-only", "--", ":!conversations")
        == "theirs.txt\n"
    )
    if repository_space.git("rev-parse", "HEAD") != before:
        assert repository_space.committed() == repository_space.paths
        assert repository_space.git("rev-parse", "HEAD~1") == before
    for name in NAMES:
        assert (repository_space.folder / name).read_text() == "second\n"

    assert repository_space.record().outcome in ("committed", "unchanged")
    assert [repository_space.content(name) for name in NAMES] == ["second\n"] * 3
    assert repository_space.git("rev-parse", "HEAD~1") == before
    assert repository_space.status() == "M  theirs.txt\n"
    repository_space.git("fsck", "--strict", "--no-dangling")


def test_reset_heals_commit_killed_between_branch_and_index(repository_space: Space) -> None:
    """The one state that shows: staged changes back, in our files alone; reset heals it too."""
    _killed(repository_space, CALLS - 1, "after")
    assert repository_space.committed() == repository_space.paths
    expected = "".join(f"D  {path}\n" for path in repository_space.paths)
    assert repository_space.status() == expected + "".join(
        f"?? {path}\n" for path in repository_space.paths
    )
    repository_space.git("reset", "-q", "--", repository_space.place)
    assert repository_space.status() == ""


@pytest.mark.parametrize("command", ["update-ref", "update-index", "hash-object", "mktree"])
def test_interrupted_commit_leaves_no_lock(repository_space: Space, command: str) -> None:
    """Control-C while git runs: git ends and takes its locks with it; the next stop works."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, command, *_arguments(repository_space)],
        cwd=repository_space.root,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGINT
    assert repository_space.locks == []
    assert repository_space.record().outcome in ("committed", "unchanged")
    assert repository_space.status() == ""


def test_concurrent_commits_hold_only_their_own_conversation(repository_space: Space) -> None:
    """Eight conversations of one workspace: eight commits, each with its own files."""
    spaces = [
        Space(repository_space.root, f"conversations/2026-02-0{n}/001-x") for n in range(1, 9)
    ]
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
    commits = repository_space.git("rev-list", "HEAD~8..HEAD").split()
    assert sorted(repository_space.committed(commit) for commit in commits) == [
        one.paths for one in spaces
    ]
    assert repository_space.git("diff", "--cached", "--name-only") == ""
    assert repository_space.locks == []


def test_concurrent_commits_of_same_conversation_make_one_commit(repository_space: Space) -> None:
    """One commits, the other has nothing left to do."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RECORD, *_arguments(repository_space)],
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
    assert repository_space.git("rev-list", "--count", "HEAD") == "2\n"
    assert repository_space.status() == ""


def test_commit_keeps_files_that_user_stages_concurrently(repository_space: Space) -> None:
    """Plain `git add` beside our stops: all that was staged is, and none of it is committed."""
    loop = "for n in 1 2 3 4 5 6 7 8; do echo $n > f$n; until git add f$n; do :; done; done"
    with subprocess.Popen(
        ["sh", "-c", loop],
        cwd=repository_space.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as person:
        outcomes: list[str] = []
        while person.poll() is None or not outcomes:
            repository_space.write(HEAD, os.urandom(8).hex())
            outcomes.append(repository_space.record().outcome)
    repository_space.record()
    assert {*outcomes} <= {"committed", "busy"}
    added = repository_space.git("diff", "--cached", "--name-status")
    assert added == "".join(f"A\tf{n}\n" for n in range(1, 9))
    assert repository_space.git("rev-list", "--count", "HEAD").strip() != "1"
