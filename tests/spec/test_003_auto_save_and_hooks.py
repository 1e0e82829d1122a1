"""Spec 003: auto-save and hooks."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from cortext import SessionManager, SessionStorage

Opener = Callable[..., SessionManager]
Calls = list[tuple[object, ...]]


def recorder() -> tuple[Calls, Callable[..., None]]:
    calls: Calls = []
    return calls, lambda *args: calls.append(args)


def test_auto_save_starts_on_session_create(open_manager: Opener) -> None:
    """Auto-Save: Auto-save starts on session create"""
    manager = open_manager(auto_save_interval=60)
    before = manager._auto_save_task
    manager.create()
    assert before is None
    assert manager._auto_save_task.is_alive()


def test_auto_save_runs_periodically(open_manager: Opener, storage: SessionStorage) -> None:
    """Auto-Save: Auto-save runs periodically"""
    manager = open_manager(auto_save_interval=0.05)
    saved = threading.Event()
    manager.register_hook("session:save", lambda session: saved.set())
    session = manager.create()

    def stored() -> list[str]:
        found = SessionStorage(storage.storage_dir).load_or_none(session.id)
        return [message.content for message in found.messages] if found else []

    for content in ("first", "second"):
        manager.add_message("user", content)
        # A save may have begun before the message was added.
        while content not in stored():
            assert saved.wait(60)
            saved.clear()


def test_auto_save_stops_on_close(open_manager: Opener) -> None:
    """Auto-Save: Auto-save stops on close"""
    manager = open_manager(auto_save_interval=60)
    manager.create()
    task = manager._auto_save_task
    manager.close()
    task.join(60)
    assert not task.is_alive()
    assert manager._auto_save_task is None


def test_disabled_auto_save(open_manager: Opener) -> None:
    """Auto-Save: Disabled auto-save"""
    manager = open_manager(auto_save_interval=0)
    before = threading.active_count()
    manager.create()
    assert manager._auto_save_task is None
    assert threading.active_count() == before


def test_register_session_hook(manager: SessionManager) -> None:
    """Session Hooks: Register session hook"""
    calls, callback = recorder()
    manager.register_hook("session:start", callback)
    assert calls == []
    session = manager.create()
    assert calls == [(session,)]


def test_hooks_fire_on_session_start(manager: SessionManager) -> None:
    """Session Hooks: Hooks fire on session start"""
    calls, callback = recorder()
    manager.register_hook("session:start", callback)
    created = manager.create()
    manager.close()
    resumed = manager.resume(created.id)
    assert [args[0] for args in calls] == [created, resumed]
    assert calls[1][0] is resumed


def test_hooks_fire_on_session_end(manager: SessionManager) -> None:
    """Session Hooks: Hooks fire on session end"""
    calls, callback = recorder()
    manager.register_hook("session:end", callback)
    session = manager.create()
    assert calls == []
    manager.close()
    assert calls == [(session,)]
    replaced, current = manager.create(), manager.create()
    assert calls == [(session,), (replaced,)]
    manager.resume(session.id)
    assert calls == [(session,), (replaced,), (current,)]


def test_hooks_fire_on_message_add(manager: SessionManager) -> None:
    """Session Hooks: Hooks fire on message add"""
    calls, callback = recorder()
    manager.register_hook("session:message", callback)
    session = manager.create()
    message = manager.add_message("user", "Hello")
    assert calls == [(session, message)]


def test_hooks_fire_on_save(manager: SessionManager) -> None:
    """Session Hooks: Hooks fire on save"""
    calls, callback = recorder()
    manager.register_hook("session:save", callback)
    session = manager.create()
    assert calls == []
    manager.save()
    assert calls == [(session,)]
    manager.create()
    assert calls == [(session,), (session,)]


def test_unregister_hook(manager: SessionManager) -> None:
    """Session Hooks: Unregister hook"""
    calls, callback = recorder()
    manager.register_hook("session:start", callback)
    assert manager.unregister_hook("session:start", callback) is True
    manager.create()
    assert calls == []
    assert manager.unregister_hook("session:start", callback) is False


def test_hook_error_handling(
    manager: SessionManager, storage: SessionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """Session Hooks: Hook error handling"""

    def broken(session: object) -> None:
        raise RuntimeError("the hook is broken")

    calls, callback = recorder()
    manager.register_hook("session:start", broken)
    manager.register_hook("session:start", callback)
    with caplog.at_level(logging.WARNING, logger="cortext"):
        session = manager.create()
    assert "the hook is broken" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR
    assert calls == [(session,)]
    assert manager.current_session is session
    assert storage.exists(session.id)


def test_hook_error_handling_of_a_coroutine_hook(
    manager: SessionManager, caplog: pytest.LogCaptureFixture
) -> None:
    """Session Hooks: Hook error handling"""
    calls: Calls = []
    done = asyncio.Event()

    async def broken(session: object) -> None:
        raise RuntimeError("the hook is broken")

    async def working(session: object) -> None:
        calls.append((session,))
        done.set()

    async def talk() -> None:
        for hook in (broken, working):
            manager.register_hook("session:start", hook)
        session = manager.create()
        assert manager.current_session is session
        await asyncio.wait_for(done.wait(), 60)
        assert calls == [(session,)]

    asyncio.run(talk())
    assert "the hook is broken" in caplog.text
    assert [record.name for record in caplog.records] == ["cortext.lifecycle"]
