"""Spec 003: storage, cleanup and project-local sessions."""

import errno
import json
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from cortext import (
    Session,
    SessionCorruptedError,
    SessionNotFoundError,
    SessionStorage,
    SessionStorageError,
    clock,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def saved(storage: SessionStorage, **fields: object) -> Session:
    session = Session(**fields)  # type: ignore[arg-type]
    storage.save(session)
    return session


def test_get_default_storage_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Session Storage: Get default storage directory"""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME")
    expected = tmp_path / ".local/share/src/opencode/sessions"
    assert SessionStorage.get_default_dir() == expected
    assert SessionStorage().storage_dir == expected
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert SessionStorage.get_default_dir() == tmp_path / "data/src/opencode/sessions"


def test_create_storage_directory(tmp_path: Path) -> None:
    """Session Storage: Create storage directory"""
    folder = tmp_path / "new" / "sessions"
    old = os.umask(0)
    try:
        SessionStorage(folder)
    finally:
        os.umask(old)
    assert folder.is_dir()
    assert mode_of(folder) == 0o700


def test_save_session(storage: SessionStorage) -> None:
    """Session Storage: Save session"""
    session = Session(title="T")
    old = os.umask(0)
    try:
        storage.save(session)
    finally:
        os.umask(old)
    path = storage.storage_dir / f"{session.id}.json"
    assert json.loads(path.read_text(encoding="utf-8"))["title"] == "T"
    assert storage.get_path(session.id) == path
    assert mode_of(path) == 0o600


def test_atomic_save_with_backup(storage: SessionStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Session Storage: Atomic save with backup"""
    session = saved(storage, title="old")
    old = storage.get_path(session.id).read_bytes()
    session.title = "new"
    storage.save(session)
    backup = storage.get_backup_path(session.id)
    assert backup == storage.storage_dir / f"{session.id}.backup"
    assert backup.read_bytes() == old
    assert storage.load(session.id).title == "new"

    def no_space(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    session.title = "newer"
    monkeypatch.setattr(os, "rename", no_space)
    with pytest.raises(SessionStorageError):
        storage.save(session)
    monkeypatch.undo()
    assert SessionStorage(storage.storage_dir).load(session.id).title == "new"
    assert not [path for path in storage.storage_dir.rglob("*") if path.suffix == ".tmp"]


def test_load_session(storage: SessionStorage) -> None:
    """Session Storage: Load session"""
    session = Session(title="T", tags=["a"], metadata={"k": [1, None]})
    session.add_message_from_dict("user", "Hello")
    session.record_tool_call("bash", {"command": "ls"}, result={"output": "x"})
    storage.save(session)
    loaded = SessionStorage(storage.storage_dir).load(session.id)
    assert isinstance(loaded, Session)
    assert loaded == session


def test_load_nonexistent_session(storage: SessionStorage) -> None:
    """Session Storage: Load non-existent session"""
    with pytest.raises(SessionNotFoundError):
        storage.load("nonexistent-id")


def test_load_corrupted_session(storage: SessionStorage) -> None:
    """Session Storage: Load corrupted session"""
    session = saved(storage)
    storage.get_path(session.id).write_bytes(b'{"id": "half')
    with pytest.raises(SessionCorruptedError) as caught:
        storage.load(session.id)
    assert caught.value.path == str(storage.get_path(session.id))


def test_load_or_none(storage: SessionStorage) -> None:
    """Session Storage: Load or none"""
    assert storage.load_or_none("nonexistent-id") is None


def test_delete_session(storage: SessionStorage) -> None:
    """Session Storage: Delete session"""
    session = saved(storage)
    storage.save(session)
    assert storage.get_backup_path(session.id).exists()
    assert storage.delete(session.id) is True
    assert not storage.get_path(session.id).exists()
    assert not storage.get_backup_path(session.id).exists()
    assert storage.delete(session.id) is False


def test_list_session_ids(storage: SessionStorage) -> None:
    """Session Storage: List session IDs"""
    ids = [saved(storage).id for _ in range(3)]
    assert storage.list_session_ids() == sorted(ids)


def test_recover_from_backup(storage: SessionStorage) -> None:
    """Session Storage: Recover from backup"""
    session = saved(storage, title="old")
    session.title = "new"
    storage.save(session)
    backup = storage.get_backup_path(session.id).read_bytes()
    storage.get_path(session.id).write_bytes(b"garbage")
    assert storage.recover_from_backup(session.id) is True
    assert storage.get_path(session.id).read_bytes() == backup
    assert storage.load(session.id).title == "old"


def test_cleanup_old_sessions(storage: SessionStorage) -> None:
    """Storage Cleanup: Cleanup old sessions"""
    days_old = [*range(0, 30, 6), *range(40, 140, 10)]
    for days in days_old:
        when = clock.now() - timedelta(days=days)
        saved(storage, id=f"d{days:03}", created_at=when, updated_at=when)
    removed = storage.cleanup_old_sessions(max_age_days=30, keep_minimum=10)
    assert sorted(removed) == ["d090", "d100", "d110", "d120", "d130"]
    assert storage.list_session_ids() == [f"d{days:03}" for days in days_old if days < 90]
    removed = storage.cleanup_old_sessions(max_age_days=30, keep_minimum=3)
    assert sorted(removed) == ["d040", "d050", "d060", "d070", "d080"]
    assert storage.list_session_ids() == ["d000", "d006", "d012", "d018", "d024"]


def test_get_storage_size(storage: SessionStorage) -> None:
    """Storage Cleanup: Get storage size"""
    for _ in range(3):
        storage.save(saved(storage, title="T" * 1000))
    files = [path for path in storage.storage_dir.rglob("*") if path.is_file()]
    assert len([path for path in files if path.suffix in (".json", ".backup")]) == 6
    assert storage.get_storage_size() == sum(path.stat().st_size for path in files) > 6000


def test_get_project_session_directory(tmp_path: Path) -> None:
    """Project-Local Sessions: Get project session directory"""
    assert SessionStorage.get_project_dir(tmp_path) == tmp_path / ".src/opencode/sessions"
    assert SessionStorage.get_project_dir(str(tmp_path)) == tmp_path / ".src/opencode/sessions"


def test_use_project_local_storage(tmp_path: Path) -> None:
    """Project-Local Sessions: Use project-local storage"""
    storage = SessionStorage(SessionStorage.get_project_dir(tmp_path))
    session = saved(storage, title="local")
    path = tmp_path / ".src/opencode/sessions" / f"{session.id}.json"
    assert path.is_file()
    assert storage.load(session.id) == session


def test_cleanup_of_backups_keeps_what_load_and_recovery_need(storage: SessionStorage) -> None:
    """Session Storage: Recover from backup"""
    sound, damaged = (saved(storage) for _ in range(2))
    for session in (sound, damaged):
        session.title = "second version"
        storage.save(session)
        os.utime(storage.get_backup_path(session.id), (0, 0))
    storage.get_path(damaged.id).write_bytes(b"damaged")
    assert storage.cleanup_old_backups(max_age_days=7) == [sound.id]
    assert storage.load(sound.id) == sound
    assert storage.recover_from_backup(damaged.id) is True
