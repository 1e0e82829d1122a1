"""Locks and marks of the living: one holder, named, and free when it is gone."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cortext.durability.file_lock import FileLock
from cortext.durability.live_session_mark import LiveMark, live_holder
from cortext.errors import SessionLockedError

MARK = """
import sys
from cortext.durability.live_session_mark import LiveMark
mark = LiveMark(sys.argv[1])
print(mark.take(), flush=True)
sys.stdin.read()
"""


def test_lock_is_exclusive_within_process_and_names_holder(tmp_path: Path) -> None:
    """Two holders in one process exclude each other too, and the error names us."""
    path = str(tmp_path / "locks/l")
    with FileLock(path, guards="/a/file"):
        with (
            pytest.raises(SessionLockedError) as caught,
            FileLock(path, guards="/a/file", wait=0.02),
        ):
            pass
        assert str(os.getpid()) in caught.value.holder
        assert (caught.value.path, caught.value.waited) == ("/a/file", 0.02)
    with FileLock(path, wait=0):
        pass


@pytest.mark.parametrize("keep_open", [True, False])
def test_lock_can_be_taken_again_after_errors(tmp_path: Path, keep_open: bool) -> None:
    """Also after an error inside, and after it could not be had."""
    path = str(tmp_path / "l")
    lock = FileLock(path, wait=0, keep_open=keep_open)
    with pytest.raises(KeyError), lock:
        raise KeyError
    with FileLock(path), pytest.raises(SessionLockedError), lock:
        pass
    with lock:
        pass
    lock.close()
    lock.close()
    with lock:
        pass
    lock.close()


@pytest.mark.parametrize("keep_open", [True, False])
def test_waiter_gets_lock_after_holder_releases(tmp_path: Path, keep_open: bool) -> None:
    """A second writer waits until the first is done."""
    path = str(tmp_path / "l")
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with FileLock(path, wait=30, keep_open=keep_open):
            order.append("second")

    with FileLock(path):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


@pytest.mark.parametrize("keep_open", [True, False])
def test_forked_child_does_not_keep_released_lock_of_parent(
    tmp_path: Path, keep_open: bool
) -> None:
    """When we let go it is free, however long the child lives."""
    path = str(tmp_path / "l")
    lock = FileLock(path, keep_open=keep_open)
    with lock:
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        with FileLock(path, wait=0.2):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lock.close()


def test_lock_excludes_forked_child_while_parent_holds_lock(tmp_path: Path) -> None:
    """A lock object from before the fork excludes parent and child from each other."""
    path = str(tmp_path / "l")
    lock = FileLock(path, wait=0.02, keep_open=True)
    with lock:
        pass
    with lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with lock:
                    pass
            except SessionLockedError:
                code = 7
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    lock.close()


def test_lock_file_is_private_and_never_removed(tmp_path: Path) -> None:
    """0600 in a 0700 folder; never unlinked; a link in its place is refused."""
    path = tmp_path / "locks/l"
    with FileLock(str(path)):
        inode = path.stat().st_ino
    with FileLock(str(path)):
        pass
    assert (path.stat().st_ino, path.stat().st_mode & 0o777) == (inode, 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"), FileLock(str(tmp_path / "link")):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_live_mark_names_holder_until_release(tmp_path: Path) -> None:
    """Nobody, then us, then nobody; looking writes nothing."""
    path = str(tmp_path / "live/m")
    assert live_holder(path) is None
    assert not (tmp_path / "live").exists()
    mark = LiveMark(path)
    assert mark.take() is None
    assert str(os.getpid()) in (live_holder(path) or "")
    assert str(os.getpid()) in (LiveMark(path).take() or "")
    mark.release()
    mark.release()
    assert live_holder(path) is None
    assert LiveMark(path).take() is None


def test_live_mark_names_other_process_until_process_ends(tmp_path: Path) -> None:
    """It is named while it lives, and gone with it, however it ended."""
    path = str(tmp_path / "m")
    with subprocess.Popen(
        [sys.executable, "-c", MARK, path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "None\n"
        assert f"process {child.pid} (python" in (live_holder(path) or "")
        assert f"process {child.pid} (python" in (LiveMark(path).take() or "")
        child.kill()
        child.wait()
    assert live_holder(path) is None
    mark = LiveMark(path)
    assert mark.take() is None
    mark.release()


def test_live_mark_can_be_taken_twice_by_one_object(tmp_path: Path) -> None:
    """Taking what is ours is no conflict."""
    mark = LiveMark(str(tmp_path / "m"))
    assert [mark.take(), mark.take()] == [None, None]
    mark.release()
    assert live_holder(str(tmp_path / "m")) is None


@pytest.mark.parametrize("content", [b"", b"garbage", b"999999999\n", b"-1", b"\0" * 40])
def test_live_mark_with_stale_content_has_no_holder(tmp_path: Path, content: bytes) -> None:
    """A stale or odd file means nobody."""
    (tmp_path / "m").write_bytes(content)
    assert live_holder(str(tmp_path / "m")) is None
    mark = LiveMark(str(tmp_path / "m"))
    assert mark.take() is None
    assert (tmp_path / "m").read_bytes() == f"{os.getpid()}\n".encode()
    mark.release()
