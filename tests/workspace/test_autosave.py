"""Auto-save: with and without an event loop, through failures, and no longer than its manager."""

import asyncio
import errno
import gc
import logging
import os
import threading
import weakref
from collections.abc import Callable

import pytest

from cortext import Session, SessionManager, SessionStorage, SessionStorageError
from cortext.durability.live_session_mark import live_holder
from cortext.workspace.autosave import AutoSaveThread

Opener = Callable[..., SessionManager]
SHORT = 0.02


def signal_of(manager: SessionManager, event: str) -> threading.Event:
    happened = threading.Event()
    manager.register_hook(event, lambda *args: happened.set())
    return happened


def stored(storage: SessionStorage, id: str) -> list[str]:
    return [message.content for message in SessionStorage(storage.storage_dir).load(id).messages]


class Disk:
    """A storage's save that fails as often as it is told to."""

    def __init__(self, storage: SessionStorage, error: Exception) -> None:
        self.failures = 0
        self.failed = threading.Semaphore(0)
        self._error, self._save = error, storage.save

    def save(self, session: Session) -> None:
        if self.failures:
            self.failures -= 1
            self.failed.release()
            raise self._error
        self._save(session)


def test_auto_save_without_event_loop_uses_daemon_thread(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """Without an event loop a daemon thread saves, and ends with the session."""
    manager = open_manager(SHORT)
    saved = signal_of(manager, "session:save")
    session = manager.create()
    task = manager._auto_save_task
    assert isinstance(task, AutoSaveThread)
    assert task.daemon
    manager.add_message("user", "Hello")
    assert saved.wait(60)
    assert stored(storage, session.id) == ["Hello"]
    manager.close()
    task.join(60)
    assert not task.is_alive()


def test_auto_save_with_event_loop_uses_task(open_manager: Opener, storage: SessionStorage) -> None:
    """With a running event loop a task saves, without blocking it, and ends with the session."""

    async def talk() -> str:
        manager = open_manager(SHORT)
        saved = asyncio.Event()
        loop = asyncio.get_running_loop()
        manager.register_hook("session:save", lambda s: loop.call_soon_threadsafe(saved.set))
        session = manager.create()
        task = manager._auto_save_task
        assert isinstance(task, asyncio.Task)
        for content in ("one", "two"):
            manager.add_message("user", content)
            await asyncio.wait_for(saved.wait(), 60)
            saved.clear()
            assert stored(storage, session.id)[-1] == content
        manager.close()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)
        assert manager._auto_save_task is None
        return session.id

    assert stored(storage, asyncio.run(talk())) == ["one", "two"]


def test_close_saves_session_after_event_loop_ended(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """A manager that was used in asyncio.run goes on afterwards: close saves and raises nothing."""

    async def begin() -> SessionManager:
        manager = open_manager(60)
        manager.create()
        manager.add_message("user", "inside")
        return manager

    manager = asyncio.run(begin())
    session = manager.current_session
    assert session is not None
    manager.add_message("user", "outside")
    manager.close()
    assert stored(storage, session.id) == ["inside", "outside"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_close_saves_session_when_event_loop_closed_with_pending_task(
    open_manager: Opener, storage: SessionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """A loop that somebody closed without cancelling its tasks does not stop close or create."""
    manager = open_manager(60)
    loop = asyncio.new_event_loop()

    async def begin() -> Session:
        return manager.create()

    async def pause() -> None:
        pass

    session = loop.run_until_complete(begin())
    loop.run_until_complete(pause())
    loop.close()
    manager.add_message("user", "after")
    manager.close()
    assert manager.current_session is None
    assert stored(storage, session.id) == ["after"]


@pytest.mark.parametrize("interval", [0, -1, -0.5, 0.0])
def test_interval_of_zero_or_less_starts_no_auto_save(
    open_manager: Opener, interval: float
) -> None:
    """An interval of zero or less starts nothing, with and without a loop."""
    manager = open_manager(interval)
    threads = threading.active_count()
    session = manager.create()
    assert manager._auto_save_task is None
    manager.resume(session.id)
    assert manager._auto_save_task is None

    async def within() -> int:
        manager.create()
        return len(asyncio.all_tasks())

    assert asyncio.run(within()) == 1
    assert threading.active_count() == threads


def test_auto_save_writes_only_changed_session(
    open_manager: Opener, storage: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An auto-save of an unchanged session writes nothing; every kind of change is one."""
    manager = open_manager()
    session = manager.create()
    saves: list[str] = []
    save = manager.storage.save
    monkeypatch.setattr(manager.storage, "save", lambda s: saves.append(s.id) or save(s))
    manager._auto_save()
    assert saves == []
    changes: list[Callable[[], object]] = [
        lambda: manager.add_message("user", "x"),
        lambda: manager.record_tool_call("bash", {}),
        lambda: manager.update_usage(1, 1),
        lambda: manager.set_title("new"),
        lambda: manager.add_tag("t"),
        lambda: manager.remove_tag("t"),
        lambda: session.metadata.update(k=1),
        lambda: setattr(session, "summary", "s"),
    ]
    for number, change in enumerate(changes, 1):
        change()
        manager._auto_save()
        manager._auto_save()
        assert len(saves) == number
    assert SessionStorage(storage.storage_dir).load(session.id) == session


@pytest.mark.parametrize(
    "error",
    [
        SessionStorageError("could not write: no space left on device", errno=errno.ENOSPC),
        ValueError("metadata contains a set, which JSON cannot represent"),
        OSError(errno.EIO, "input/output error"),
    ],
    ids=["disk", "value", "raw"],
)
def test_failed_auto_save_is_logged_each_time_and_retried(
    open_manager: Opener,
    storage: SessionStorage,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    """Two failures are two lines in the log and in last_save_error; the third try saves."""
    manager = open_manager(SHORT)
    saved = signal_of(manager, "session:save")
    session = manager.create()
    disk = Disk(manager.storage, error)
    disk.failures = 2
    monkeypatch.setattr(manager.storage, "save", disk.save)
    with caplog.at_level(logging.ERROR, logger="cortext"):
        manager.add_message("user", "Hello")
        assert disk.failed.acquire(timeout=60)
        assert disk.failed.acquire(timeout=60)
        assert saved.wait(60)
    lines = [record for record in caplog.records if "auto-save" in record.getMessage()]
    assert len(lines) == 2
    assert all(str(error) in record.getMessage() for record in lines)
    assert manager.last_save_error is None
    assert stored(storage, session.id) == ["Hello"]


def test_last_save_error_stays_until_save_succeeds(
    open_manager: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """last_save_error tells a program that what it has is not durable yet."""
    manager = open_manager()
    manager.create()
    error = SessionStorageError("could not write")
    disk = Disk(manager.storage, error)
    monkeypatch.setattr(manager.storage, "save", disk.save)
    disk.failures = 1
    manager.add_message("user", "Hello")
    manager._auto_save()
    assert manager.last_save_error is error
    manager.save()
    assert manager.last_save_error is None


def test_auto_save_continues_after_value_that_cannot_be_stored(
    open_manager: Opener, storage: SessionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """A set in the metadata is an error that is shown; once it is gone, auto-save saves."""
    manager = open_manager()
    session = manager.create()
    session.metadata["bad"] = {1, 2}
    manager.add_message("user", "Hello")
    manager._auto_save()
    assert isinstance(manager.last_save_error, ValueError)
    assert "set" in caplog.text
    del session.metadata["bad"]
    manager._auto_save()
    assert manager.last_save_error is None
    assert stored(storage, session.id) == ["Hello"]


def test_unreferenced_manager_is_garbage_collected(storage: SessionStorage) -> None:
    """Neither the thread nor the exit handler keeps a manager alive; its thread ends."""
    manager = SessionManager(storage, auto_save_interval=SHORT)
    session = manager.create()
    task = manager._auto_save_task
    mark = storage.storage_dir / ".cortext" / "live" / session.id
    assert live_holder(str(mark)) is not None
    ref = weakref.ref(manager)
    manager.index.close()
    del manager
    gc.collect()
    assert ref() is None
    task.join(60)
    assert not task.is_alive()


def test_garbage_collected_manager_releases_live_mark(storage: SessionStorage) -> None:
    """A session whose manager is gone does not count as open, and no file stays open for it."""
    manager = SessionManager(storage, auto_save_interval=0)
    session = manager.create()
    manager.index.close()
    before = len(os.listdir("/proc/self/fd"))
    del manager
    gc.collect()
    mark = storage.storage_dir / ".cortext" / "live" / session.id
    assert live_holder(str(mark)) is None
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_auto_save_accepts_infinite_interval(open_manager: Opener) -> None:
    """An interval longer than a system can wait does not end the thread with an error."""
    for interval in (float("inf"), 1e12):
        manager = open_manager(interval)
        manager.create()
        task = manager._auto_save_task
        if task is not None:
            task.join(0.05)
            assert task.is_alive()
        manager.close()
