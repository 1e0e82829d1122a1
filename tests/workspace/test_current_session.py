"""The current session: taken, left, recovered and deleted without losing anything."""

import errno
import logging
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import (
    InvalidIdError,
    Session,
    SessionCorruptedError,
    SessionManager,
    SessionNotFoundError,
    SessionStorage,
    SessionStorageError,
    SessionSummary,
    clock,
)
from cortext.durability.live_session_mark import LiveMark, live_holder

Opener = Callable[..., SessionManager]
Run = Callable[..., subprocess.CompletedProcess[str]]


def contents(session: Session) -> list[str]:
    return [message.content for message in session.messages]


def test_create_and_resume_save_previous_session(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """A create or resume while a session is current saves that one first and stops its thread."""
    manager = open_manager(60)
    first = manager.create()
    task = manager._auto_save_task
    manager.add_message("user", "of the first")
    second = manager.create()
    task.join(60)
    assert not task.is_alive()
    assert contents(storage.load(first.id)) == ["of the first"]
    manager.add_message("user", "of the second")
    third = manager.resume(first.id)
    assert contents(storage.load(second.id)) == ["of the second"]
    assert manager.current_session is third
    rows = {row.id: row.message_count for row in manager.list_sessions()}
    assert rows == {first.id: 1, second.id: 1}


def test_resume_of_current_session_keeps_unsaved_messages(open_manager: Opener) -> None:
    """resume of the session that is current gives it back with everything."""
    manager = open_manager()
    session = manager.create()
    manager.add_message("user", "unsaved")
    assert contents(manager.resume(session.id)) == ["unsaved"]


def test_resume_moves_a_session_to_the_top_for_every_process(
    open_manager: Opener, storage: SessionStorage, run: Run
) -> None:
    """The new `updated_at` is in the file and in the index before anything is added."""
    manager = open_manager()
    first, second = (manager.create(title=title) for title in ("first", "second"))
    manager.close()
    resumed = manager.resume(first.id)
    assert SessionStorage(storage.storage_dir).load(first.id).updated_at == resumed.updated_at
    assert [row.id for row in manager.list_sessions()] == [first.id, second.id]
    done = run("print([row.title for row in SessionIndex(storage).list()])")
    assert (done.stdout, done.stderr) == ("['first', 'second']\n", "")


def test_resumed_session_is_not_auto_saved_without_change(
    open_manager: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = open_manager()
    session = manager.create()
    manager.close()
    manager.resume(session.id)
    saves: list[str] = []
    monkeypatch.setattr(manager.storage, "save", lambda session: saves.append(session.id))
    manager._auto_save()
    assert saves == []


@pytest.mark.parametrize("verb", ["create", "resume"])
def test_failed_switch_keeps_unchanged_session_open(
    open_manager: Opener, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The disk is full: the open session has nothing to save, and the next one cannot be saved."""
    manager = open_manager(60)
    other = manager.create()
    session = manager.create()
    ended: list[Session] = []
    manager.register_hook("session:end", ended.append)

    def full(session: Session) -> None:
        raise SessionStorageError("could not write", errno=errno.ENOSPC)

    monkeypatch.setattr(manager.storage, "save", full)
    with pytest.raises(SessionStorageError):
        manager.create() if verb == "create" else manager.resume(other.id)
    monkeypatch.undo()
    assert manager.current_session is session
    assert manager._auto_save_task.is_alive()
    assert ended == []
    manager.add_message("user", "still here")
    manager.close()
    assert contents(manager.storage.load(session.id)) == ["still here"]


@pytest.mark.parametrize("id", ["nonexistent-id", "../x", "corrupt"])
def test_failed_resume_keeps_current_session(
    open_manager: Opener, storage: SessionStorage, id: str
) -> None:
    """A mistyped or unreadable id is an error, and the conversation goes on where it was."""
    (storage.storage_dir / "corrupt.json").write_bytes(b"garbage")
    manager = open_manager(60)
    session = manager.create()
    manager.add_message("user", "one")
    with pytest.raises((SessionNotFoundError, InvalidIdError, SessionCorruptedError)):
        manager.resume(id)
    assert manager.current_session is session
    assert manager._auto_save_task.is_alive()
    manager.add_message("user", "two")
    manager.close()
    assert contents(storage.load(session.id)) == ["one", "two"]


def test_failed_save_keeps_session_open(
    open_manager: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """save, close, create and resume raise on a full disk, and what is in memory stays."""
    manager = open_manager()
    other = manager.create()
    session = manager.create()
    manager.add_message("user", "precious")

    def full(session: Session) -> None:
        raise SessionStorageError("could not write", errno=errno.ENOSPC)

    monkeypatch.setattr(manager.storage, "save", full)
    for verb in (manager.save, manager.close, manager.create, lambda: manager.resume(other.id)):
        with pytest.raises(SessionStorageError):
            verb()
        assert manager.current_session is session
        assert contents(session) == ["precious"]
    monkeypatch.undo()
    manager.close()
    assert contents(manager.storage.load(session.id)) == ["precious"]


def test_failed_delete_keeps_session_open(
    open_manager: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the current session cannot be deleted, nothing of it is lost from memory."""
    manager = open_manager()
    session = manager.create()
    manager.add_message("user", "precious")

    def refused(id: str) -> bool:
        raise SessionStorageError("could not delete", errno=errno.EACCES)

    monkeypatch.setattr(manager.storage, "delete", refused)
    with pytest.raises(SessionStorageError):
        manager.delete(session.id)
    assert manager.current_session is session


def test_delete_of_current_session_leaves_no_trace(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """Nothing brings a deleted current session back: no auto-save, no close."""
    manager = open_manager(60)
    session = manager.create()
    manager.add_message("user", "unsaved")
    assert manager.delete(session.id) is True
    manager._auto_save()
    manager.close()
    assert storage.list_session_ids() == []
    assert manager.list_sessions() == []
    with pytest.raises(ValueError, match="no session"):
        manager.add_message("user", "x")
    assert live_holder(f"{storage.storage_dir}/.cortext/live/{session.id}") is None


def test_methods_without_current_session_raise_value_error(open_manager: Opener) -> None:
    """Everything that needs a current session says so; close and delete do not need one."""
    manager = open_manager()
    verbs: list[Callable[[], object]] = [
        manager.save,
        manager.generate_title,
        lambda: manager.add_message("user", "x"),
        lambda: manager.record_tool_call("bash", {}),
        lambda: manager.update_usage(1, 1),
        lambda: manager.set_title("x"),
        lambda: manager.add_tag("x"),
        lambda: manager.remove_tag("x"),
    ]
    for verb in verbs:
        with pytest.raises(ValueError, match="create"):
            verb()
    manager.close()
    manager.close()
    assert manager.delete("nonexistent-id") is False


def test_resume_of_corrupt_session_recovers_backup_and_warns(
    open_manager: Opener, storage: SessionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """A corrupt session with a good backup is resumed from it, with a warning; nothing is lost."""
    session = Session(title="old")
    storage.save(session)
    session.title = "new"
    storage.save(session)
    path = storage.get_path(session.id)
    path.unlink()
    path.write_bytes(b'{"half a file')
    manager = open_manager()
    with caplog.at_level(logging.WARNING, logger="cortext.lifecycle"):
        resumed = manager.resume(session.id)
    assert resumed.title == "old"
    records = [record for record in caplog.records if record.name == "cortext.lifecycle"]
    assert [record.levelno for record in records] == [logging.WARNING]
    assert str(path) in records[0].getMessage()
    assert "backup" in records[0].getMessage()
    assert path.with_name(path.name + ".corrupt").read_bytes() == b'{"half a file'
    manager.close()
    assert [row.id for row in manager.list_sessions()] == [session.id]


@pytest.mark.parametrize("backup", [None, b"also garbage"])
def test_resume_of_corrupt_session_without_good_backup_raises_error(
    open_manager: Opener, storage: SessionStorage, backup: bytes | None
) -> None:
    """Without a backup that can be read it is a SessionCorruptedError; files stay as they are."""
    path = storage.get_path("bad")
    path.write_bytes(b"garbage")
    if backup is not None:
        storage.get_backup_path("bad").write_bytes(backup)
    manager = open_manager()
    with pytest.raises(SessionCorruptedError) as caught:
        manager.resume("bad")
    assert caught.value.path == str(path)
    assert path.read_bytes() == b"garbage"
    if backup is not None:
        assert storage.get_backup_path("bad").read_bytes() == backup


def test_save_over_corrupt_file_keeps_good_backup(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """When the file is damaged while a session is open, saves keep the backup and the damage."""
    manager = open_manager()
    session = manager.create(title="first")
    manager.set_title("second")
    manager.save()
    good = storage.get_backup_path(session.id).read_bytes()
    path = storage.get_path(session.id)
    path.unlink()
    path.write_bytes(b"damaged")
    manager.add_message("user", "Hello")
    manager.save()
    assert storage.get_backup_path(session.id).read_bytes() == good
    assert path.with_name(path.name + ".corrupt").read_bytes() == b"damaged"
    assert contents(storage.load(session.id)) == ["Hello"]


def test_resume_latest_considers_unsaved_current_session(open_manager: Opener) -> None:
    """The current session, just used, is the latest, though the file of another is newer."""
    manager = open_manager()
    first = manager.create(title="first")
    manager.create(title="second")
    manager.resume(first.id)
    manager.add_message("user", "just now")
    latest = manager.resume_latest()
    assert latest is not None
    assert (latest.title, contents(latest)) == ("first", ["just now"])


def test_resume_latest_skips_deleted_session_file(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """A session that somebody removed by hand is not the latest; the one before it is."""
    manager = open_manager()
    manager.create(title="first")
    gone = manager.create(title="second")
    manager.close()
    storage.delete(gone.id)
    latest = manager.resume_latest()
    assert latest is not None
    assert latest.title == "first"


def test_list_sessions_follows_changes_made_through_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved, cleaned up or deleted through manager.storage is seen in list_sessions."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    manager = SessionManager(auto_save_interval=0)
    old = clock.now() - timedelta(days=90)
    manager.storage.save(Session("old", created_at=old, updated_at=old))
    manager.storage.save(Session("new"))
    assert [row.id for row in manager.list_sessions()] == ["new", "old"]
    assert manager.storage.cleanup_old_sessions(30, keep_minimum=0) == ["old"]
    assert [row.id for row in manager.list_sessions()] == ["new"]
    manager.storage.delete("new")
    assert manager.list_sessions() == []
    manager.index.close()


def test_session_opens_when_live_mark_cannot_be_written(
    open_manager: Opener,
    storage: SessionStorage,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who has it open is a courtesy: without it the session opens, and the log says why."""

    def full(self: LiveMark) -> str | None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(LiveMark, "take", full)
    manager = open_manager(60)
    session = manager.create()
    manager.add_message("user", "Hello")
    assert manager._auto_save_task.is_alive()
    manager.close()
    assert contents(storage.load(session.id)) == ["Hello"]
    assert "no space" in caplog.text.lower()


def test_create_stores_copy_of_every_argument(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """create takes title, folder, model, tags and metadata, and copies what it takes."""
    manager = open_manager()
    tags, metadata = ["a"], {"k": [1]}
    session = manager.create(
        title="T", working_dir="/elsewhere", model="m", tags=tags, metadata=metadata
    )
    tags.append("b")
    metadata["k"].append(2)
    stored = storage.load(session.id)
    assert stored == session
    assert (stored.tags, stored.metadata) == (["a"], {"k": [1]})
    assert (stored.title, stored.working_dir, stored.model) == ("T", "/elsewhere", "m")
    assert manager.index.get(session.id) == SessionSummary.from_session(session)


def test_session_with_maximum_timestamp_can_be_resumed(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """A file with the last time that there is can be resumed and added to."""
    last = datetime.max.replace(tzinfo=UTC)
    storage.save(Session("last", created_at=last, updated_at=last))
    manager = open_manager()
    manager.resume("last")
    manager.add_message("user", "Hello")
    manager.close()
    assert contents(storage.load("last")) == ["Hello"]


def test_naive_updated_at_is_treated_as_utc(open_manager: Opener) -> None:
    """`session.updated_at = datetime(...)` without a zone does not stop the next message."""
    manager = open_manager()
    session = manager.create()
    session.updated_at = datetime(2026, 1, 1)
    manager.add_message("user", "Hello")
    manager.save()
    assert manager.storage.load(session.id).updated_at > datetime(2026, 1, 1, tzinfo=UTC)


def test_reset_instance_closes_and_replaces_shared_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """reset_instance closes the shared manager and forgets it; the next one is another."""
    SessionManager.reset_instance()
    first = SessionManager.get_instance()
    session = first.create()
    first.add_message("user", "Hello")
    SessionManager.reset_instance()
    assert first.current_session is None
    assert contents(first.storage.load(session.id)) == ["Hello"]
    second = SessionManager.get_instance()
    assert second is not first
    SessionManager.reset_instance()
    assert second.delete(session.id)
    for manager in (first, second):
        manager.index.close()


def test_get_session_loads_without_making_it_current(open_manager: Opener) -> None:
    manager = open_manager()
    other = manager.create(title="other")
    current = manager.create(title="current")
    started: list[Session] = []
    manager.register_hook("session:start", started.append)
    found = manager.get_session(other.id)
    assert found == other
    assert found is not other
    assert manager.current_session is current
    assert started == []
    assert manager.storage.load(other.id).updated_at == other.updated_at


def test_get_session_returns_the_live_current_session(open_manager: Opener) -> None:
    manager = open_manager()
    session = manager.create()
    manager.add_message("user", "unsaved")
    assert manager.get_session(session.id) is session


def test_get_session_is_none_for_a_missing_session_only(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """A damaged session is not taken for one that never was."""
    (storage.storage_dir / "corrupt.json").write_bytes(b"garbage")
    manager = open_manager()
    assert manager.get_session("nonexistent-id") is None
    with pytest.raises(SessionCorruptedError):
        manager.get_session("corrupt")
    with pytest.raises(InvalidIdError):
        manager.get_session("../x")


def test_has_current_says_whether_a_session_is_open(open_manager: Opener) -> None:
    manager = open_manager()
    seen = [manager.has_current]
    manager.create()
    seen.append(manager.has_current)
    manager.close()
    seen.append(manager.has_current)
    assert seen == [False, True, False]
