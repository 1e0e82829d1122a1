"""Locks: a second writer waits, then is told who holds the session."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.errors import SessionLockedError
from cortext.testing.suite_base import finish, message, session, start_child, texts
from tests.stores.files import KINDS, Place

HOLD = """
import sys
from cortext.durability.file_lock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(saved_place: Place):
    """A process that holds the session's lock until it is told or killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(saved_place.lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_writers_wait_for_lock_and_then_name_its_holder(
    saved_place: Place, holder: subprocess.Popen[str]
) -> None:
    """A writer waits, then gets an error that names the holder; nothing was written."""
    before = saved_place.files()
    store = saved_place.open(lock_wait=0.05)
    verbs = {
        "append": lambda: store.append("s", message("two", 1)),
        "save": lambda: store.save(session("s")),
        "checkpoint": lambda: store.checkpoint(session("s")),
        "delete": lambda: store.delete("s"),
    }
    for verb in verbs.values():
        with pytest.raises(SessionLockedError) as caught:
            verb()
        assert str(holder.pid) in caught.value.holder
        assert f"process {holder.pid} (python" in str(caught.value)
        assert (caught.value.waited, bool(caught.value.hint)) == (0.05, True)
        assert isinstance(caught.value, TimeoutError)
    assert saved_place.files() == before


def test_readers_do_not_wait_for_lock(saved_place: Place, holder: subprocess.Popen[str]) -> None:
    """Reading works while somebody writes."""
    store = saved_place.open(lock_wait=0)
    assert texts(store.load("s").messages) == texts(store.tail("s", 1)) == ["one"]
    assert (store.read("s").damages, store.exists("s")) == ([], True)
    assert store.list_session_ids() == ["s"]


def test_lock_is_free_after_holder_is_killed(
    saved_place: Place, holder: subprocess.Popen[str]
) -> None:
    """The system takes the lock back, and the stale file is harmless."""
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert saved_place.lock.exists()
    saved_place.open(lock_wait=0).append("s", message("two", 1))
    assert texts(saved_place.open().load("s").messages) == ["one", "two"]


def test_stale_or_missing_lock_file_does_not_block_append(saved_place: Place) -> None:
    """Whatever stands in them, and also if somebody removed them."""
    saved_place.lock.write_bytes(b"99999999\n")
    saved_place.open(lock_wait=0).append("s", message("two", 1))
    saved_place.lock.unlink()
    saved_place.open(lock_wait=0).append("s", message("three", 2))
    assert texts(saved_place.open().load("s").messages) == ["one", "two", "three"]


def test_lock_file_is_never_removed(saved_place: Place) -> None:
    """A lock file that goes away would have two holders; also delete leaves it."""
    store = saved_place.open()
    store.append("s", message("two", 1))
    inode = saved_place.lock.stat().st_ino
    store.save(store.load("s"))
    store.delete("s")
    assert saved_place.lock.stat().st_ino == inode


def test_parent_and_forked_child_append_every_message(saved_place: Place) -> None:
    """A store object that was used before a fork works on both sides of it."""
    store = saved_place.open()
    store.append("s", message("before", 1))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for step in range(20):
                store.append("s", message(f"child {step}", step))
            code = 0
        finally:
            os._exit(code)
    for step in range(20):
        store.append("s", message(f"parent {step}", step))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found = texts(saved_place.open().load("s").messages)
    assert found[:2] == ["one", "before"]
    for name in ("child", "parent"):
        mine = [text for text in found if text.startswith(name)]
        assert mine == [f"{name} {step}" for step in range(20)]


def test_parallel_saves_of_several_processes_lose_no_message(saved_place: Place) -> None:
    """Saves wait for each other; nobody's message is lost."""
    children = [start_child(saved_place.url, "save", "s", f"w{n}", "10") for n in range(3)]
    said = [line for child in children for line in finish(child)]
    assert {item.id for item in saved_place.open().load("s").messages} >= set(said)
    assert len(said) == 30


def test_append_of_stored_message_syncs_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append that finds its message there acknowledges it, so it syncs it, in every store."""
    for kind in KINDS:
        place = Place(kind, tmp_path / kind)
        place.open().save(session("s", message("one", id="a")))
        synced: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", synced.append)
            patch.setattr(os, "fdatasync", synced.append)
            place.open().append("s", message("one", id="a"))
        assert (kind, bool(synced)) == (kind, True)
