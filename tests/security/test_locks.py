"""Locks whose holder is dead, stopped or forked, and disks where they may not hold.

`docs/explanation/locks.md` tells the same in words.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext import Session, SessionLockedError, SessionMessage
from cortext.durability.file_lock import FileLock
from cortext.features.doctor import check_programs_and_disks
from cortext.features.doctor.check_held_locks import check_locks
from cortext.stores.log import LogStore

HOLD = """
import sys
from cortext.durability.file_lock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
FORK = """
import os, sys
from cortext.durability.file_lock import FileLock
with FileLock(sys.argv[1]):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        sys.stdin.read()
    os._exit(0)  # as one that is killed: it lets go of nothing
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The lock of a session."""
    LogStore(tmp_path).save(Session("s"))
    LogStore(tmp_path).append("s", SessionMessage("user", "first"))
    return tmp_path / ".cortext/locks/s.lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds it."""
    yield from _started(HOLD, path)


def _started(code: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _append(path: Path, wait: float) -> int:
    return LogStore(path.parents[2], lock_wait=wait).append("s", SessionMessage("user", "next"))


def test_killed_lock_holder_blocks_no_writer(path: Path, holder: subprocess.Popen[str]) -> None:
    """Killed in the middle: the next writer has the lock, with nothing to clean up."""
    assert _line(holder) == "held"
    with pytest.raises(SessionLockedError):
        _append(path, 0)
    holder.kill()
    holder.wait()
    inode = path.stat().st_ino
    assert _append(path, 0) == 1
    assert path.stat().st_ino == inode


def test_stopped_lock_holder_is_named_and_keeps_lock(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    """Nobody takes its lock away; the error says who it is, and doctor that it is stopped."""
    assert _line(holder) == "held"
    os.kill(holder.pid, signal.SIGSTOP)
    os.waitpid(holder.pid, os.WUNTRACED)
    with pytest.raises(SessionLockedError) as caught:
        _append(path, 0.05)
    assert f"process {holder.pid} " in caught.value.holder
    assert caught.value.hint
    (problem,) = check_locks([str(path)])
    assert "is stopped" in problem.text
    assert f"kill -CONT {holder.pid}" in problem.hint
    os.kill(holder.pid, signal.SIGCONT)
    assert holder.stdin is not None
    holder.stdin.close()
    assert _append(path, 30) == 1
    assert check_locks([str(path)]) == []


def test_forked_child_keeps_lock_after_holder_ends(path: Path) -> None:
    """The lock is as long as the child has it open; both the error and doctor say so."""
    for parent in _started(FORK, path):
        child = int(_line(parent))
        parent.wait()
        with pytest.raises(SessionLockedError) as caught:
            _append(path, 0.05)
        assert str(parent.pid) in caught.value.holder
        (problem,) = check_locks([str(path)])
        assert "has ended" in problem.text
        os.kill(child, signal.SIGKILL)
        assert _append(path, 30) == 1


def test_forked_child_with_inherited_store_respects_lock(path: Path) -> None:
    """It writes with the object that it inherited, and the two keep each other out."""
    store = LogStore(path.parents[2], lock_wait=0.05)
    store.append("s", SessionMessage("user", "before the fork"))
    with FileLock(str(path)):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.append("s", SessionMessage("user", "from the child"))
            except SessionLockedError:
                code = 7
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert store.append("s", SessionMessage("user", "from the parent")) == 1
    texts = [message.content for message in store.load("s").messages]
    assert texts == ["first", "before the fork", "from the parent"]


REMOTE = ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"]


@pytest.mark.parametrize("kind", REMOTE)
def test_doctor_notes_network_disk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where locks may not hold between machines, doctor says so; it is no error."""
    table = f"server:/x {tmp_path} {kind} rw 0 0\n/dev/a / ext4 rw 0 0\n"
    monkeypatch.setattr(check_programs_and_disks, "read_mounts", table.encode)
    (problem,) = check_programs_and_disks.check_network_disks([str(tmp_path / "sessions")])
    assert kind in problem.text
    assert problem.severity == check_programs_and_disks.NOTE
    monkeypatch.setattr(check_programs_and_disks, "read_mounts", table.replace(kind, "ext4").encode)
    assert check_programs_and_disks.check_network_disks([str(tmp_path / "sessions")]) == []
