"""`cortext stop` killed, out of space, locked out or many at once: nothing lost, git in order."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortext import open_session_store
from tests.command import SCRIPT, begin, cortext, folder_of, git, head_of, ok, stop_notes
from tests.faults.inject import KILL, Fault
from tests.faults.mounts import fill, mounted, read_only
from tests.faults.stop_faults import SCENES, Stopping

pytestmark = [
    pytest.mark.long,
    pytest.mark.needs("strace", "to inject faults"),
    pytest.mark.usefixtures("git_identity"),
]
APPEND = """
import itertools, select, sys
from cortext import SessionMessage, open_session_store
store = open_session_store(f"workspace:{sys.argv[1]}")
for number in itertools.count():
    store.append(sys.argv[2], SessionMessage("user", f"appended {number}"))
    print(f"appended {number}", flush=True)
    if select.select([sys.stdin], [], [], 0)[0]:
        break
"""
HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "a")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
# The moments that matter most: the head changes, the folder is exchanged, git is begun.
FEW = {
    "plain": ("rename", "vfork"),
    "mask": ("rename", "renameat2"),
    "clone": ("write",),
    "first": ("poll",),
}


@pytest.fixture
def stop_workspace(tmp_path: Path) -> Path:
    """A workspace at the top of a repository with one commit."""
    return _workspace(tmp_path / "work")


def _workspace(root: Path) -> Path:
    root.mkdir()
    ok(root, "init")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def _status(root: Path) -> str:
    return git(root, "status", "--porcelain", "-uall")


def _commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", "HEAD"))


def _stopping(root: Path, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [SCRIPT, "stop", *args],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def _held(lock: Path) -> Iterator[int]:
    """A process that holds a lock; its id."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.pid
        finally:
            holder.kill()


def _sweep(stopping: Stopping, faults: list[Fault], record_property) -> None:
    violations: list[str] = []
    for fault in faults:
        stopped = stopping.run_with(fault)
        violations += [f"{fault}: {text}" for text in stopping.violations(stopped)]
    record_property("fault cases", len(faults))
    record_property("fault violations", len(violations))
    assert faults
    assert violations == []


@pytest.mark.parametrize("scene", SCENES)
def test_stop_killed_at_critical_calls_leaves_workspace_consistent(
    scene: str, tmp_path: Path, record_property
) -> None:
    """Killed there it is stopped or not, git is free, and the next stop ends clean."""
    stopping = Stopping(tmp_path, scene)
    faults = [fault for fault in stopping.faults(every=False) if fault.kind == KILL]
    _sweep(stopping, [fault for fault in faults if fault.call in FEW[scene]], record_property)


def test_stop_fails_with_one_sentence_when_head_cannot_be_written(
    tmp_path: Path, record_property
) -> None:
    """A disk that fails where the head is written: one sentence, exit 1, and all is as it was."""
    stopping = Stopping(tmp_path, "plain")
    faults = [fault for fault in stopping.faults(every=False) if fault.call == "rename"]
    _sweep(stopping, [fault for fault in faults if fault.kind != KILL], record_property)


@pytest.mark.faults
@pytest.mark.parametrize("scene", SCENES)
def test_stop_killed_at_every_call_leaves_workspace_consistent(
    scene: str, tmp_path: Path, record_property
) -> None:
    """A kill at any call leaves it stopped or not, and the next stop ends clean."""
    stopping = Stopping(tmp_path, scene)
    faults = [fault for fault in stopping.faults(every=True) if fault.kind == KILL]
    _sweep(stopping, faults, record_property)


@pytest.mark.faults
@pytest.mark.parametrize("scene", SCENES)
def test_stop_killed_at_random_times_leaves_workspace_consistent(
    scene: str, tmp_path: Path, record_property
) -> None:
    """Sixty kills at times that nobody chose, over all scenes."""
    stopping = Stopping(tmp_path, scene)
    pick = random.Random(scene)
    violations: list[str] = []
    for _ in range(60 // len(SCENES)):
        seconds = pick.uniform(0.05, 0.5)
        stopped = stopping.run_for(seconds)
        violations += [f"after {seconds} s: {text}" for text in stopping.violations(stopped)]
    record_property("fault cases", 60 // len(SCENES))
    assert violations == []


@pytest.mark.parametrize("verb", ["stop", "done"])
def test_stop_or_done_killed_before_commit_commits_when_repeated(
    stop_workspace: Path, verb: str
) -> None:
    """What was killed after the head was saved can be asked for again, and then is committed."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    kill = ["strace", "-o", os.devnull, "-e", "trace=vfork", "-e", f"inject=vfork:{KILL}"]
    killed = subprocess.run([*kill, SCRIPT, verb, id], cwd=stop_workspace, capture_output=True)
    assert killed.returncode == -9
    assert head_of(stop_workspace, id)["status"] == {"stop": "paused", "done": "completed"}[verb]
    again = cortext(stop_workspace, verb, id)
    assert again.returncode == 0, again.stderr
    assert _status(stop_workspace) == ""


def test_stop_repairs_empty_gitignore_of_cortext_folder(stop_workspace: Path) -> None:
    """Its `.gitignore` was begun and never written: the next stop mends that, and git sees none."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    (stop_workspace / "conversations/.cortext/.gitignore").write_bytes(b"")
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""


@pytest.mark.parametrize(
    "command",
    [
        *("rev-parse", "config", "check-ignore", "ls-files", "hash-object", "cat-file"),
        *("mktree", "commit-tree", "update-ref", "update-index"),
    ],
)
def test_stop_pauses_and_names_git_command_that_was_killed(
    stop_workspace: Path, tmp_path: Path, command: str
) -> None:
    """Paused, one line says which git command failed, and the next stop ends clean."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    env = _git_that(tmp_path / "bin", command, "kill -9 $$")
    done = cortext(stop_workspace, "stop", id, env=env)
    assert (done.returncode, head_of(stop_workspace, id)["status"]) == (0, "paused"), done.stderr
    assert f"git {command} failed" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((stop_workspace / ".git").rglob("*.lock")) == []
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""


def test_stop_names_index_lock_left_by_killed_git(stop_workspace: Path, tmp_path: Path) -> None:
    """Its lock stays, as git's do: the line and the next stop name it; without it all is well."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    strace = f"exec strace -o {os.devnull} -e inject=rename:{KILL} {shutil.which('git')}"
    env = _git_that(tmp_path / "bin", "update-index", f'{strace} "$@"')
    lock = stop_workspace / ".git/index.lock"
    for _ in range(2):
        done = cortext(stop_workspace, "stop", id, env=env)
        assert (done.returncode, lock.exists()) == (0, True), done.stderr
        assert "index.lock" in done.stderr
    lock.unlink()
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""


def _git_that(folder: Path, when: str, does: str) -> dict[str, str]:
    """An environment in which git does something first when a word is among its arguments."""
    folder.mkdir()
    (folder / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" {when} "*) {does};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("leave", [0, 4096, 16384])
def test_stop_on_full_disk_fails_cleanly_or_skips_commit(tmp_path: Path, leave: int) -> None:
    """Not stopped, with one sentence; or paused, and said that git has no space; then it works."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "none") as disk:
        root = _workspace(disk / "work")
        id = begin(root, "brainstorm", "Topic", "Hello.")
        before = head_of(root, id)
        filler = fill(disk, leave)
        done = cortext(root, "stop", id)
        assert "Traceback" not in done.stderr
        if done.returncode:
            assert (done.returncode, head_of(root, id)) == (1, before)
            assert "free some space" in done.stderr
        else:
            assert head_of(root, id)["status"] == "paused"
            assert "not recorded in git: " in done.stderr
        assert [m.content for m in open_session_store(f"workspace:{root}").load(id).messages] == [
            "Hello."
        ]
        filler.unlink()
        ok(root, "stop", id)
        assert _status(root) == ""


def test_stop_succeeds_when_disk_of_catalog_is_full(
    stop_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog can be thrown away: that it cannot be written keeps nobody from stopping."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "none") as disk:
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
            monkeypatch.setenv(name, str(disk))
        id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
        fill(disk, 0)
        done = cortext(stop_workspace, "stop", id)
    assert "Traceback" not in done.stderr, done.stderr.splitlines()[-1]
    assert (done.returncode, head_of(stop_workspace, id)["status"]) == (0, "paused"), done.stderr
    assert _status(stop_workspace) == ""


@pytest.mark.parametrize("number", [2, 8])
def test_parallel_stops_keep_messages_of_appender_and_git_valid(
    stop_workspace: Path, tmp_path: Path, number: int
) -> None:
    """They take turns: each succeeds, and of eight who waited ten seconds says for whom; every
    message is there, and git is in order."""
    id = begin(stop_workspace, "brainstorm", "Topic", "First.")
    acknowledged = tmp_path / "acknowledged"
    with (
        acknowledged.open("w") as out,
        subprocess.Popen(
            [sys.executable, "-c", APPEND, stop_workspace, id], stdin=subprocess.PIPE, stdout=out
        ) as appending,
    ):
        stops = [_stopping(stop_workspace, id) for _ in range(number)]
        ended = [(*stop.communicate(timeout=100), stop.returncode) for stop in stops]
        appending.communicate(timeout=60)

    codes = [code for _, _, code in ended]
    assert {*codes} <= {0, 6}, ended
    assert codes.count(0) > number // 2, ended
    assert all("locked by" in stderr for _, stderr, code in ended if code), ended
    messages = open_session_store(f"workspace:{stop_workspace}").load(id).messages
    texts = ["First.", *acknowledged.read_text().splitlines()]
    assert [message.content for message in messages] == texts
    assert list((stop_workspace / ".git").rglob("*.lock")) == []
    assert 2 <= _commits(stop_workspace) <= 1 + number
    git(stop_workspace, "fsck", "--strict", "--no-dangling")
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""
    assert head_of(stop_workspace, id)["message_count"] == len(texts)


def test_parallel_stops_of_folder_without_session_both_succeed(stop_workspace: Path) -> None:
    """A folder without a session, stopped twice at the same time: both succeed."""
    id = begin(stop_workspace, "brainstorm", "Topic")
    shutil.rmtree(folder_of(stop_workspace, id) / ".session")
    stops = [_stopping(stop_workspace, id) for _ in range(2)]
    ended = [(*stop.communicate(timeout=100), stop.returncode) for stop in stops]
    assert [code for _, _, code in ended] == [0, 0], ended
    assert head_of(stop_workspace, id)["status"] == "paused"
    assert _status(stop_workspace) == ""


def test_stop_waits_for_held_lock_and_then_succeeds(stop_workspace: Path) -> None:
    """A stop that finds the lock taken waits for it, and then succeeds."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    day = folder_of(stop_workspace, id).parent.name
    lock = stop_workspace / f"conversations/.cortext/locks/{day}~{id}.change.lock"
    with _held(lock):
        waiting = _stopping(stop_workspace, id)
        while not _has_open(waiting.pid, lock) and waiting.poll() is None:
            os.sched_yield()
        assert waiting.poll() is None
        assert head_of(stop_workspace, id)["status"] == "active"
    _, said = waiting.communicate(timeout=60)
    assert (waiting.returncode, head_of(stop_workspace, id)["status"]) == (0, "paused"), said


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(link.resolve() == path.resolve() for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["change.lock", "lock"])
def test_stop_exits_6_and_names_holder_when_lock_stays_held(
    stop_workspace: Path, suffix: str
) -> None:
    """After the wait: exit 6, who holds it, and nothing has changed."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    folder = folder_of(stop_workspace, id)
    before = head_of(stop_workspace, id)
    lock = stop_workspace / f"conversations/.cortext/locks/{folder.parent.name}~{id}.{suffix}"
    with _held(lock) as pid:
        done = cortext(stop_workspace, "stop", id)
    assert done.returncode == 6
    assert f"process {pid}" in done.stderr
    assert (head_of(stop_workspace, id), _commits(stop_workspace)) == (before, 1)
    ok(stop_workspace, "stop", id)


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_stop_pauses_and_names_stale_git_lock(stop_workspace: Path, name: str) -> None:
    """Paused, and one line says that git is busy and which lock it may be; then it works."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    lock = stop_workspace / ".git" / name
    lock.write_bytes(b"")
    done = cortext(stop_workspace, "stop", id)
    assert (done.returncode, head_of(stop_workspace, id)["status"]) == (0, "paused")
    assert str(lock) in done.stderr
    assert len(stop_notes(done).splitlines()) == 1
    assert lock.exists()
    lock.unlink()
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""


def test_stop_in_read_only_workspace_fails_with_hint_and_no_change(stop_workspace: Path) -> None:
    """One sentence and a hint; the conversation is as it was, and git too."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    before = head_of(stop_workspace, id)
    with read_only(stop_workspace):
        done = cortext(stop_workspace, "stop", id)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["error", "hint"]
    assert "could not write" in done.stderr
    assert (head_of(stop_workspace, id), _commits(stop_workspace)) == (before, 1)


def test_stop_pauses_and_says_why_read_only_git_has_no_commit(stop_workspace: Path) -> None:
    """A read-only `.git`: paused, and one line says why there is no commit."""
    id = begin(stop_workspace, "brainstorm", "Topic", "Hello.")
    with read_only(stop_workspace / ".git"):
        done = cortext(stop_workspace, "stop", id)
    assert (done.returncode, head_of(stop_workspace, id)["status"]) == (0, "paused")
    assert "\nnot recorded in git: " in f"\n{done.stderr}"
    assert len(done.stderr.splitlines()) == 2
    ok(stop_workspace, "stop", id)
    assert _status(stop_workspace) == ""
