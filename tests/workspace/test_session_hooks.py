"""Hooks: which fire, with what, and that a broken one hurts nobody."""

import asyncio
import gc
import logging
import threading
import warnings
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from cortext import Session, SessionManager, SessionStorage

Opener = Callable[..., SessionManager]
EVENTS = ("session:start", "session:end", "session:message", "session:save")


def record_all(manager: SessionManager) -> list[tuple[str, tuple[object, ...]]]:
    fired: list[tuple[str, tuple[object, ...]]] = []
    for event in EVENTS:
        manager.register_hook(event, lambda *args, event=event: fired.append((event, args)))
    return fired


async def record_later(seen: list[object], *args: object) -> None:
    seen.append(args)


class Later:
    """An object whose calls are coroutines."""

    async def __call__(self, session: object) -> None: ...

    async def record(self, session: object) -> None: ...


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not happened():  # noqa: ASYNC110  threads make it happen too
            await asyncio.sleep(0.005)


def test_manager_methods_fire_their_event_once(open_manager: Opener) -> None:
    """create and resume fire session:start only; arguments are positional, and the objects."""
    manager = open_manager()
    fired = record_all(manager)
    session = manager.create()
    assert fired == [("session:start", (session,))]
    fired.clear()
    message = manager.add_message("user", "Hello")
    assert fired == [("session:message", (session, message))]
    assert fired[0][1][0] is session
    assert fired[0][1][1] is message
    fired.clear()
    manager.save()
    assert fired == [("session:save", (session,))]
    fired.clear()
    manager.close()
    assert [event for event, _ in fired] == ["session:save", "session:end"]
    fired.clear()
    resumed = manager.resume(session.id)
    assert fired == [("session:start", (resumed,))]
    fired.clear()
    manager.record_tool_call("bash", {})
    manager.update_usage(1, 2)
    manager.set_title("T")
    manager.add_tag("t")
    manager.delete(resumed.id)
    assert fired == []
    manager.close()
    assert fired == []


def test_create_saves_and_ends_the_open_session_first(
    open_manager: Opener, storage: SessionStorage
) -> None:
    manager = open_manager()
    first = manager.create()
    manager.add_message("user", "unsaved")
    fired = record_all(manager)
    stored: list[int] = []
    manager.register_hook(
        "session:save", lambda session: stored.append(len(storage.load(session.id).messages))
    )
    second = manager.create()
    assert fired == [
        ("session:save", (first,)), ("session:end", (first,)), ("session:start", (second,)),
    ]  # fmt: skip
    assert fired[1][1][0] is first
    assert stored == [1]


@pytest.mark.parametrize("verb", ["resume", "resume_latest", "resume_or_create"])
def test_resume_saves_and_ends_another_open_session_first(
    open_manager: Opener, storage: SessionStorage, verb: str
) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    storage.save(Session("other", updated_at=last))
    manager = open_manager()
    opened = manager.create()
    fired = record_all(manager)
    resumed = getattr(manager, verb)(*(["other"] if verb == "resume" else []))
    assert resumed.id == "other"
    assert fired == [
        ("session:save", (opened,)), ("session:end", (opened,)), ("session:start", (resumed,)),
    ]  # fmt: skip


def test_resume_of_open_session_fires_no_end_event(open_manager: Opener) -> None:
    manager = open_manager()
    session = manager.create()
    manager.add_message("user", "unsaved")
    fired = record_all(manager)
    resumed = manager.resume(session.id)
    assert fired == [("session:start", (resumed,))]


def test_create_fires_no_end_event_for_deleted_session(open_manager: Opener) -> None:
    manager = open_manager()
    manager.delete(manager.create().id)
    fired = record_all(manager)
    manager.create()
    assert [event for event, _ in fired] == ["session:start"]


@pytest.mark.parametrize("event", EVENTS)
def test_failing_hook_is_logged_and_other_hooks_run(
    open_manager: Opener, caplog: pytest.LogCaptureFixture, event: str
) -> None:
    """A hook that raises is named in the log; hooks after it and the verb itself go on."""
    manager = open_manager()
    seen: list[str] = []

    def broken(*args: object) -> None:
        raise RuntimeError("broken on purpose")

    manager.register_hook(event, lambda *args: seen.append("before"))
    manager.register_hook(event, broken)
    manager.register_hook(event, lambda *args: seen.append("after"))
    with caplog.at_level(logging.ERROR, logger="cortext"):
        session = manager.create()
        manager.add_message("user", "Hello")
        manager.close()
    assert seen == ["before", "after"]
    assert [record.name for record in caplog.records] == ["cortext.lifecycle"]
    assert event in caplog.text
    assert "broken on purpose" in caplog.text
    assert len(manager.storage.load(session.id).messages) == 1


def test_hook_can_unregister_itself_while_hooks_run(open_manager: Opener) -> None:
    """A hook that unregisters itself runs once, and no other is passed over."""
    manager = open_manager()
    seen: list[str] = []

    def once(session: object) -> None:
        seen.append("once")
        manager.unregister_hook("session:start", once)

    manager.register_hook("session:start", once)
    manager.register_hook("session:start", lambda session: seen.append("always"))
    manager.create()
    manager.create()
    assert seen == ["once", "always", "always"]


def test_hook_can_call_manager(open_manager: Opener) -> None:
    """A hook may add to the session, save it, or close it."""
    manager = open_manager()
    manager.register_hook("session:start", lambda s: manager.add_message("system", "Be brief"))
    manager.register_hook("session:message", lambda s, m: manager.save())
    session = manager.create()
    assert [m.role for m in manager.storage.load(session.id).messages] == ["system"]
    manager.register_hook("session:save", lambda s: manager.set_title("saved"))
    manager.save()
    assert session.title == "saved"


@pytest.mark.parametrize("event", ["session:start", "session:save", "session:end"])
def test_hook_can_wait_for_thread_that_uses_manager(open_manager: Opener, event: str) -> None:
    """No lock is held while hooks run: one that waits for a thread does not wait for ever."""
    manager = open_manager()
    waited: list[bool] = []

    def hook(session: object) -> None:
        thread = threading.Thread(target=lambda: manager.delete("some-id"), daemon=True)
        thread.start()
        thread.join(60)
        waited.append(not thread.is_alive())

    manager.register_hook(event, hook)
    manager.create()
    manager.close()
    manager.resume_latest()
    assert waited == [True, True] if event == "session:start" else [True]


@pytest.mark.parametrize("event", ["", "session:stop", "start"])
def test_unknown_event_raises_value_error(open_manager: Opener, event: str) -> None:
    """A hook on an event that never comes is a mistake, and the error lists the events."""
    manager = open_manager()
    for verb in (manager.register_hook, manager.unregister_hook):
        with pytest.raises(ValueError, match="session:start"):
            verb(event, print)


def test_coroutine_hook_runs_on_event_loop(open_manager: Opener) -> None:
    seen: list[object] = []

    async def hook(*args: object) -> None:
        await asyncio.sleep(0)
        seen.append(args)

    async def talk() -> None:
        manager = open_manager()
        manager.register_hook("session:start", hook)
        manager.register_hook("session:message", hook)
        session = manager.create()
        message = manager.add_message("user", "Hello")
        assert seen == []
        await until(lambda: len(seen) == 2)
        assert seen == [(session,), (session, message)]
        manager.close()

    asyncio.run(talk())


@pytest.mark.parametrize("kind", ["partial", "object", "method"])
def test_partials_objects_and_methods_count_as_coroutine_hooks(
    open_manager: Opener, kind: str
) -> None:
    hook = {"partial": partial(record_later, []), "object": Later(), "method": Later().record}[kind]
    manager = open_manager()
    with pytest.raises(RuntimeError, match="no event loop is running"):
        manager.register_hook("session:start", hook)


def test_coroutine_hook_is_rejected_without_event_loop(open_manager: Opener) -> None:
    manager = open_manager()
    with pytest.raises(RuntimeError, match=r"record_later .* no event loop is running"):
        manager.register_hook("session:start", record_later)
    manager.create()
    assert manager.unregister_hook("session:start", record_later) is False


def test_coroutine_hook_runs_on_event_loop_when_auto_save_fires(open_manager: Opener) -> None:
    """Auto-save works in a thread of its own, and the hook runs on the loop all the same."""
    threads: list[int] = []

    async def hook(session: object) -> None:
        threads.append(threading.get_ident())

    async def talk() -> None:
        manager = open_manager(0.02)
        manager.register_hook("session:save", hook)
        manager.create()
        manager.add_message("user", "Hello")
        await until(lambda: bool(threads))
        manager.close()

    asyncio.run(talk())
    assert set(threads) == {threading.get_ident()}


@pytest.mark.parametrize("kind", ["function", "lambda"])
def test_coroutine_hook_of_ended_event_loop_is_logged_and_closed(
    open_manager: Opener, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    seen: list[object] = []
    manager = open_manager()
    hook = partial(record_later, seen)

    async def register() -> None:
        manager.register_hook("session:save", hook if kind == "function" else lambda s: hook(s))

    asyncio.run(register())
    manager.create()
    manager.add_message("user", "Hello")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager._auto_save()
        gc.collect()
    assert seen == []
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "session:save did not run: no event loop is running" in caplog.text


def test_failing_coroutine_hook_is_logged_once(
    open_manager: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of asyncio has nothing about an exception that was never retrieved."""
    seen: list[str] = []

    async def broken(session: object) -> None:
        raise RuntimeError("broken on purpose")

    async def talk() -> None:
        manager = open_manager()
        manager.register_hook("session:start", broken)
        manager.register_hook("session:start", lambda session: seen.append("after"))
        manager.create()
        await until(lambda: bool(caplog.records))
        manager.close()

    asyncio.run(talk())
    gc.collect()
    assert seen == ["after"]
    assert [record.name for record in caplog.records] == ["cortext.lifecycle"]
    assert "session:start" in caplog.text
    assert "broken on purpose" in caplog.text


def test_running_coroutine_hook_survives_garbage_collection(open_manager: Opener) -> None:
    """The loop keeps no reference to a task, and neither does the manager that is gone."""
    seen: list[str] = []

    async def wait_for(future: asyncio.Future[str]) -> None:
        seen.append(await future)

    async def talk(folder: str) -> None:
        manager = SessionManager(folder, auto_save_interval=0)
        loop = asyncio.get_running_loop()
        waited = weakref.WeakSet[asyncio.Future[str]]()

        def make() -> asyncio.Future[str]:
            future = loop.create_future()
            waited.add(future)
            return future

        manager.register_hook("session:start", lambda session: wait_for(make()))
        manager.create()
        await asyncio.sleep(0)
        manager.close()
        manager.index.close()
        del manager
        gc.collect()
        for future in tuple(waited):
            future.set_result("done")
        await until(lambda: seen == ["done"])

    asyncio.run(talk(str(open_manager().storage.storage_dir)))
