"""What only documents have: a backup, recovery, cleanup, a size."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from cortext import clock
from cortext.errors import InvalidIdError, NewerVersionError, SessionCorruptedError
from cortext.model.session import Session
from cortext.stores.document import SessionStorage
from cortext.testing.suite_base import message, session, texts


@pytest.fixture
def store(tmp_path: Path) -> SessionStorage:
    return SessionStorage(tmp_path)


def test_backup_contains_version_before_last_save(store: SessionStorage) -> None:
    """Each save makes what was there the backup."""
    mine = session("s")
    store.save(mine)
    assert not store.get_backup_path("s").exists()
    for step in range(3):
        before = store.get_path("s").read_bytes()
        mine.messages.append(message(str(step), step))
        store.save(mine)
        assert store.get_backup_path("s").read_bytes() == before


@pytest.mark.parametrize(
    "damage", [b"", b"\0" * 100, b"{", b"[1]", b"{}", b'{"created_at":1,"title":2}']
)
@pytest.mark.parametrize("fresh", [True, False])
def test_save_over_corrupt_document_keeps_good_backup(
    store: SessionStorage, damage: bytes, fresh: bool
) -> None:
    """The corrupt bytes go to *.corrupt; the backup is still the last good version."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    good = store.get_backup_path("s").read_bytes()
    store.get_path("s").unlink()
    store.get_path("s").write_bytes(damage)
    (SessionStorage(store.storage_dir) if fresh else store).save(session("s", message("new")))
    assert store.get_backup_path("s").read_bytes() == good
    assert (store.storage_dir / "s.json.corrupt").read_bytes() == damage
    assert texts(store.load("s").messages) == ["new"]


def test_damage_in_document_does_not_reach_backup(store: SessionStorage) -> None:
    """Primary and backup are two files: a write into one leaves the other alone."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    with store.get_path("s").open("r+b") as file:
        file.write(b"\0\0\0\0")
    with pytest.raises(SessionCorruptedError) as caught:
        store.load("s")
    assert "recover_from_backup" in caught.value.hint
    assert store.recover_from_backup("s")
    assert store.load("s") == mine


def test_every_corrupt_version_is_set_aside_under_own_name(store: SessionStorage) -> None:
    """No set-aside file takes the place of another."""
    for damage in (b"first", b"second", b"third"):
        store.get_path("s").write_bytes(damage)
        store.save(session("s"))
    kept = sorted(path.read_bytes() for path in store.storage_dir.glob("s.json.corrupt*"))
    assert kept == [b"first", b"second", b"third"]


def test_load_of_corrupt_document_never_recovers_from_backup(store: SessionStorage) -> None:
    """A corrupt primary is an error, also with a good backup beside it."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    store.get_path("s").write_bytes(b"{")
    before = sorted(path.name for path in store.storage_dir.iterdir())
    for _ in range(2):
        with pytest.raises(SessionCorruptedError):
            store.load("s")
    assert store.load_or_none("s") is None
    assert sorted(path.name for path in store.storage_dir.iterdir()) == before


def test_recover_from_backup_restores_session_and_keeps_corrupt_file(store: SessionStorage) -> None:
    """The backup comes back; what could not be read is kept beside it."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    store.get_path("s").write_bytes(b"corrupt")
    assert store.recover_from_backup("s")
    assert store.load("s") == mine
    assert (store.storage_dir / "s.json.corrupt").read_bytes() == b"corrupt"
    assert store.get_backup_path("s").exists()


def test_recover_from_backup_restores_missing_document(store: SessionStorage) -> None:
    """A deleted file comes back too."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    store.get_path("s").unlink()
    assert store.recover_from_backup("s")
    assert store.load("s") == mine


@pytest.mark.parametrize("backup", [None, b"", b"{", b"{}", b"[1]"])
def test_recover_without_good_backup_returns_false_and_changes_nothing(
    store: SessionStorage, backup: bytes | None
) -> None:
    """False, and both files are as they were."""
    store.get_path("s").write_bytes(b"corrupt")
    if backup is not None:
        store.get_backup_path("s").write_bytes(backup)
    assert store.recover_from_backup("s") is False
    assert store.get_path("s").read_bytes() == b"corrupt"
    assert backup is None or store.get_backup_path("s").read_bytes() == backup


def test_recover_from_backup_keeps_document_of_newer_version(store: SessionStorage) -> None:
    """A primary of a later release is no damage: refused, or kept beside it."""
    mine = session("s", message("good"))
    store.save(mine)
    store.save(mine)
    newer = store.get_path("s").read_bytes().replace(b'"version":"1.0"', b'"version":"2.0"')
    store.get_path("s").write_bytes(newer)
    try:
        store.recover_from_backup("s")
    except NewerVersionError:
        pass
    assert newer in [path.read_bytes() for path in store.storage_dir.glob("s.json*")]


def test_delete_removes_backup(store: SessionStorage) -> None:
    """For real, also when only the backup is left."""
    mine = session("s", message("words"))
    store.save(mine)
    store.save(mine)
    store.get_path("s").unlink()
    assert store.delete("s") is True
    assert [path for path in store.storage_dir.iterdir() if path.is_file()] == []


def test_cleanup_removes_only_old_readable_sessions(store: SessionStorage) -> None:
    """Old ones go, the newest stay whatever their age, unreadable ones are never touched."""
    now = clock.now()
    for days in range(0, 60, 10):
        when = now - timedelta(days=days, hours=1)
        store.save(Session(f"d{days}", created_at=when, updated_at=when))
    store.get_path("corrupt").write_bytes(b"\0")
    os.utime(store.get_path("corrupt"), (0, 0))
    assert store.cleanup_old_sessions(max_age_days=15, keep_minimum=3) == ["d30", "d40", "d50"]
    assert store.cleanup_old_sessions(max_age_days=15, keep_minimum=3) == []
    assert sorted(store.cleanup_old_sessions(max_age_days=15, keep_minimum=0)) == ["d20"]
    assert store.list_session_ids() == ["corrupt", "d0", "d10"]


def test_cleanup_keeps_unreadable_and_newer_files(store: SessionStorage) -> None:
    """A deep, a newer and a strange file stop nothing and are kept."""
    store.get_path("deep").write_bytes(b'{"a":' * 50_000)
    store.get_path("newer").write_bytes(b'{"version":"7.0","created_at":"1970-01-01T00:00:00Z"}')
    store.get_path("folder").mkdir()
    assert store.cleanup_old_sessions(0, 0) == []
    assert store.list_session_ids()[0] == "deep"
    assert store.get_path("newer").exists()


def test_index_json_is_not_a_session(store: SessionStorage) -> None:
    """`index.json` is the index's: its id is refused, and it is not listed."""
    (store.storage_dir / "index.json").write_bytes(b"{}")
    assert store.list_session_ids() == []
    with pytest.raises(InvalidIdError):
        store.load("index")
    with pytest.raises(InvalidIdError):
        store.save(Session("index"))
    assert (store.storage_dir / "index.json").read_bytes() == b"{}"


def test_storage_size_counts_all_files(store: SessionStorage) -> None:
    """Sessions, backups and side files."""
    store.save(session("s"))
    store.save(store.load("s"))
    walked = [path for path in store.storage_dir.rglob("*") if path.is_file()]
    assert store.get_storage_size() == sum(path.stat().st_size for path in walked)


def test_writes_leave_no_temp_files(store: SessionStorage) -> None:
    """After any number of writes."""
    mine = session("s")
    for step in range(5):
        mine.messages.append(message(str(step), step))
        store.save(mine)
        store.checkpoint(mine)
        store.append("s", message("x", step))
    assert list(store.storage_dir.rglob("*.tmp")) == []


def test_save_encodes_only_new_messages(
    store: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save encodes only the messages that are new since the last one."""
    from cortext.formats import document

    mine = session("s", *(message(str(n), n) for n in range(50)))
    store.save(mine)
    encoded: list[str] = []
    real = document._encode_item
    monkeypatch.setattr(
        document, "_encode_item", lambda item: encoded.append(item.content) or real(item)
    )
    mine.messages.append(message("new", 99))
    store.save(mine)
    loaded = SessionStorage(store.storage_dir)
    again = loaded.load("s")
    again.messages.append(message("newer", 100))
    loaded.save(again)
    assert encoded == ["new", "newer"]
    assert store.load("s") == again


def test_save_with_parallel_loads_sets_nothing_aside_as_corrupt(
    store: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads that load many sessions in the middle of a save change nothing of it."""
    for number in range(12):
        store.save(session(f"s{number}"))
    mine = store.load("s0")
    before = store.get_path("s0").read_bytes()
    real = store._known.add_others_records

    def meanwhile(*arguments: Session) -> None:
        for number in range(1, 12):
            store.load(f"s{number}")
        real(*arguments)

    monkeypatch.setattr(store._known, "add_others_records", meanwhile)
    mine.title = "new"
    store.save(mine)
    assert [path.name for path in store.storage_dir.iterdir() if ".corrupt" in path.name] == []
    assert store.get_backup_path("s0").read_bytes() == before


def test_refused_save_leaves_document_and_backup_unchanged(store: SessionStorage) -> None:
    """What cannot be written is found before any file is touched."""
    mine = session("s", message("first"))
    store.save(mine)
    mine.title = "second"
    store.save(mine)
    before = [store.get_path("s").read_bytes(), store.get_backup_path("s").read_bytes()]
    mine.metadata["bad"] = float("nan")
    with pytest.raises(ValueError):
        store.save(mine)
    assert [store.get_path("s").read_bytes(), store.get_backup_path("s").read_bytes()] == before


def save_twice(store: SessionStorage, id: str, *, days_old: float) -> None:
    """A session with a backup of that age."""
    mine = session(id)
    store.save(mine)
    mine.messages.append(message("later"))
    store.save(mine)
    when = clock.now().timestamp() - days_old * 86_400
    os.utime(store.get_backup_path(id), (when, when))


def backups(store: SessionStorage) -> list[str]:
    return sorted(path.stem for path in store.storage_dir.glob("*.backup"))


def test_cleanup_of_backups_removes_only_old_backups(store: SessionStorage) -> None:
    for days in (0, 6, 8, 90):
        save_twice(store, f"d{days:02}", days_old=days)
    before = {id: store.load(id) for id in store.list_session_ids()}
    assert store.cleanup_old_backups() == ["d08", "d90"]
    assert backups(store) == ["d00", "d06"]
    assert store.cleanup_old_backups(max_age_days=5) == ["d06"]
    assert store.cleanup_old_backups(max_age_days=5) == []
    assert {id: store.load(id) for id in store.list_session_ids()} == before


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty", "newer", "folder", "half"])
def test_cleanup_of_backups_keeps_only_readable_copy(store: SessionStorage, damage: str) -> None:
    """A session that cannot be read can still be recovered afterwards."""
    save_twice(store, "s", days_old=90)
    save_twice(store, "sound", days_old=90)
    path = store.get_path("s")
    data = path.read_bytes()
    path.unlink()
    newer = data.replace(b'"version":"1.0"', b'"version":"7.0"')
    contents = {"garbage": b"\0", "empty": b"", "newer": newer, "half": data[:-20]}
    if damage in contents:
        path.write_bytes(contents[damage])
    elif damage == "folder":
        path.mkdir()
    assert store.cleanup_old_backups(max_age_days=0) == ["sound"]
    assert backups(store) == ["s"]
    if damage != "folder":
        assert store.recover_from_backup("s") is True
        assert texts(store.load("s").messages) == texts(session("s").messages)


def test_cleanup_of_backups_leaves_other_files(store: SessionStorage) -> None:
    others = [store.storage_dir / name for name in (".x.backup", "index.backup", "a b.backup")]
    for path in others:
        path.write_bytes(b"{}")
        os.utime(path, (0, 0))
    store.get_backup_path("folder").mkdir()
    assert store.cleanup_old_backups(0) == []
    assert all(path.exists() for path in others)
