"""Hooks: which fire, with what, and that a broken one hurts nobody."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from cortext import Session, SessionManager, SessionStorage

Opener = Callable[..., SessionManager]
EVENTS = ("session:start", "session:end", "session:message", "session:save")


def record_all(manager: SessionManager) -> list[tuple[str, tuple[object, ...]]]:
    fired: list[tuple[str, tuple[object, ...]]] = []
    for event in EVENTS:
        manager.register_hook(event, lambda *args, event=event: fired.append((event, args)))
    return fired


def test_each_verb_fires_its_own_event_once(open_manager: Opener) -> None:
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


def test_resume_of_the_open_session_does_not_end_it(open_manager: Opener) -> None:
    manager = open_manager()
    session = manager.create()
    manager.add_message("user", "unsaved")
    fired = record_all(manager)
    resumed = manager.resume(session.id)
    assert fired == [("session:start", (resumed,))]


def test_a_session_that_was_deleted_is_not_ended_by_the_next(open_manager: Opener) -> None:
    manager = open_manager()
    manager.delete(manager.create().id)
    fired = record_all(manager)
    manager.create()
    assert [event for event, _ in fired] == ["session:start"]


@pytest.mark.parametrize("event", EVENTS)
def test_a_broken_hook_is_logged_and_the_others_run(
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


def test_hooks_may_change_the_hooks(open_manager: Opener) -> None:
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


def test_hooks_may_use_the_manager(open_manager: Opener) -> None:
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
def test_a_hook_may_wait_for_another_thread_that_uses_the_manager(
    open_manager: Opener, event: str
) -> None:
    """No lock is held while hooks run: one that waits for a thread does not wait for ever."""
    manager = open_manager()
    waited: list[bool] = []

    def hook(session: object) -> None:
        thread = threading.Thread(target=lambda: manager.delete("some-id"), daemon=True)
        thread.start()
        thread.join(2)
        waited.append(not thread.is_alive())

    manager.register_hook(event, hook)
    manager.create()
    manager.close()
    manager.resume_latest()
    assert waited == [True, True] if event == "session:start" else [True]


@pytest.mark.parametrize("event", ["", "session:stop", "start"])
def test_an_unknown_event_is_a_value_error(open_manager: Opener, event: str) -> None:
    """A hook on an event that never comes is a mistake, and the error lists the events."""
    manager = open_manager()
    for verb in (manager.register_hook, manager.unregister_hook):
        with pytest.raises(ValueError, match="session:start"):
            verb(event, print)
