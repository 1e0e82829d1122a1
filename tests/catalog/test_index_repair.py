"""An index that is missing, stale, damaged or of another release is made anew from the files."""

import errno
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortext import Session, SessionIndex, SessionStorage, SessionStorageError
from cortext.catalog.documents.document_table import SCHEMA_VERSION

Opener = Callable[[], SessionIndex]
IDS = [f"s{number:02}" for number in range(25)]


@pytest.fixture
def folder(storage: SessionStorage, open_index: Opener) -> Path:
    """A folder of sessions with a good index, which nobody has open."""
    for id in IDS:
        storage.save(Session(id, title=f"Title of {id} {'x' * 200}", tags=["all", id]))
    open_index().close()
    return storage.storage_dir


def check_complete(storage: SessionStorage, index: SessionIndex) -> None:
    """Every list of a fresh index is complete, and so is the export that it writes."""
    assert [summary.id for summary in index.list(limit=100, sort_by="id")] == IDS
    assert len(index.list(limit=100, sort_by="title")) == len(IDS)
    assert len(index.list(limit=100, tags=["all"])) == len(IDS)
    assert [summary.id for summary in index.list(search="of S07")] == ["s07"]
    assert index.count() == len(IDS)
    for id in IDS:
        found = index.get(id)
        assert found is not None
        assert found.title == storage.load(id).title
    index.close()
    data = json.loads((storage.storage_dir / "index.json").read_text(encoding="utf-8"))
    assert (data["version"], sorted(data["sessions"])) == (1, IDS)


def database(folder: Path) -> Path:
    return folder / ".cortext" / "index.sqlite3"


@pytest.mark.parametrize(
    "content",
    [
        None, b"", b"{", b"null", b"[1]", b"\0" * 1000, b'{"version":999,"sessions":{}}',
        b'{"version":1,"sessions":{}}', b'{"version":1,"sessions":{"ghost":{"id":"ghost"}}}',
    ],
)  # fmt: skip
def test_bad_export_is_rewritten(
    folder: Path, content: bytes | None, storage: SessionStorage, open_index: Opener
) -> None:
    """index.json missing, empty, corrupt, of version 999 or foreign: rebuilt."""
    if content is None:
        (folder / "index.json").unlink()
    else:
        (folder / "index.json").write_bytes(content)
    check_complete(storage, open_index())


def test_old_export_put_back_does_not_restore_old_rows(
    folder: Path, storage: SessionStorage, open_index: Opener
) -> None:
    """A copy of index.json from before some changes does not bring them back."""
    old = folder.parent / "old.json"
    for id in (*IDS[:3], "extra"):
        storage.save(Session(id, title="Before", tags=["before"]))
    shutil.copy2(folder / "index.json", old)
    SessionIndex(storage).close()
    for id in IDS[:3]:
        storage.save(Session(id, title=f"Title of {id}", tags=["all", id]))
    storage.delete("extra")
    SessionIndex(storage).close()
    shutil.copy2(old, folder / "index.json")
    check_complete(storage, open_index())


def test_old_database_put_back_does_not_restore_old_rows(
    folder: Path, storage: SessionStorage, open_index: Opener
) -> None:
    """A copy of the database from before some changes does not bring them back."""
    shutil.copy2(database(folder), folder.parent / "old")
    storage.delete(IDS[0])
    storage.save(Session("extra"))
    SessionIndex(storage).close()
    storage.delete("extra")
    storage.save(Session(IDS[0], title=f"Title of {IDS[0]}", tags=["all"]))
    shutil.copy2(folder.parent / "old", database(folder))
    check_complete(storage, open_index())


def test_index_is_rebuilt_when_cortext_folder_is_missing(
    folder: Path, storage: SessionStorage, open_index: Opener
) -> None:
    """`rm -r .cortext` costs one rebuild."""
    shutil.rmtree(folder / ".cortext")
    check_complete(storage, open_index())


@pytest.mark.parametrize("with_export", [True, False])
@pytest.mark.parametrize(
    "content", [None, b"", b"x", b"SQLite format 3\0", b"SQLite format 3\0" * 999, b"\0" * 8192]
)
def test_bad_database_is_rebuilt(
    folder: Path,
    content: bytes | None,
    with_export: bool,
    storage: SessionStorage,
    open_index: Opener,
) -> None:
    """index.sqlite3 missing, of zero bytes or not a database: rebuilt, with index.json or not."""
    if content is None:
        database(folder).unlink()
    else:
        database(folder).write_bytes(content)
    if not with_export:
        (folder / "index.json").unlink()
    check_complete(storage, open_index())


def garbage_in_every_page(data: bytes) -> Iterator[bytes]:
    noise = bytes(range(255, -1, -1)) * 16
    for page in range(len(data) // 4096):
        yield data[: page * 4096] + noise + data[(page + 1) * 4096 :]


def garbage_inside_pages(data: bytes) -> Iterator[bytes]:
    for start in range(4096 + 2000, len(data), 3000):
        yield data[:start] + b"\xb5\xff\x00" * 40 + data[start + 120 :]


def cut(data: bytes) -> Iterator[bytes]:
    yield from (data[:end] for end in range(50, len(data), 9000))


def header_bytes(data: bytes) -> Iterator[bytes]:
    for offset in range(100):
        yield data[:offset] + b"\x07" + data[offset + 1 :]


@pytest.mark.parametrize("damage", [garbage_in_every_page, garbage_inside_pages, cut, header_bytes])
def test_list_is_complete_when_database_contains_garbage(
    folder: Path, open_index: Opener, damage: Callable[[bytes], Iterator[bytes]]
) -> None:
    """Wherever a database is damaged, a list is complete and raises nothing."""
    good = database(folder).read_bytes()
    failed: list[str] = []
    for number, bad in enumerate(damage(good)):
        for suffix in ("", "-wal", "-shm"):
            database(folder).with_name(f"index.sqlite3{suffix}").unlink(missing_ok=True)
        database(folder).write_bytes(bad)
        try:
            index = open_index()
            found = [summary.id for summary in index.list(limit=100, sort_by="id")]
            if found != IDS:
                failed.append(f"case {number}: {len(found)} sessions")
            index.close()
        except Exception as error:
            failed.append(f"case {number}: {type(error).__name__}: {error}")
    assert failed == []


def test_database_of_later_release_is_rebuilt(
    folder: Path, storage: SessionStorage, open_index: Opener
) -> None:
    """Version 999, with tables of every kind that a later release may have: rebuilt."""
    database(folder).unlink()
    db = sqlite3.connect(database(folder))
    db.executescript(
        "CREATE VIRTUAL TABLE words USING fts5(x); CREATE VIEW seen AS SELECT 1;"
        "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, new TEXT);"
        "CREATE TRIGGER t AFTER INSERT ON sessions BEGIN SELECT 1; END;"
        "INSERT INTO sessions (new) VALUES ('x'); PRAGMA user_version=999;"
    )
    db.close()
    check_complete(storage, open_index())


@pytest.mark.parametrize(
    "script",
    [
        "DROP TABLE facts", "DROP TABLE sessions", "DROP TABLE tags",
        "UPDATE sessions SET summary = NULL", "UPDATE sessions SET summary = x'b5ff'",
        "UPDATE sessions SET summary = '{}'", "UPDATE sessions SET summary = '[1]'",
        "UPDATE sessions SET summary = 7", "UPDATE facts SET value = NULL",
        "UPDATE facts SET value = x'b5ff'", "DELETE FROM facts",
        "DROP TABLE sessions; CREATE TABLE sessions (id TEXT)",
    ],
)  # fmt: skip
def test_database_with_invalid_rows_or_tables_is_rebuilt(
    folder: Path, script: str, storage: SessionStorage, open_index: Opener
) -> None:
    """A sound database with the wrong content of the right version: rebuilt."""
    db = sqlite3.connect(database(folder))
    assert db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    db.executescript(script)
    db.close()
    check_complete(storage, open_index())


def test_open_index_is_rebuilt_when_database_is_damaged(
    folder: Path, open_index: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """An index that is damaged under our hands is rebuilt, and the log says so."""
    index = open_index()
    db = sqlite3.connect(database(folder))
    db.execute("UPDATE sessions SET summary = x'b5ff'")
    db.commit()
    db.close()
    with caplog.at_level(logging.WARNING, logger="cortext"):
        assert len(index.list(limit=100)) == len(IDS)
    assert "rebuilt" in caplog.text


def test_open_index_still_works_when_database_is_deleted(
    folder: Path, storage: SessionStorage, open_index: Opener
) -> None:
    """`rm -r .cortext` while an index is open: it goes on, and the next one has everything."""
    index = open_index()
    shutil.rmtree(folder / ".cortext")
    session = Session("later")
    storage.save(session)
    index.add(session)
    assert index.count() == len(IDS) + 1
    index.close()
    assert open_index().count() == len(IDS) + 1


def test_wrong_argument_type_does_not_rebuild_index(
    folder: Path, open_index: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong type is the caller's error and no damage: nothing is rebuilt."""
    index = open_index()
    before = os.stat(database(folder)).st_ino
    with pytest.raises(Exception, match=r"mismatch|integer|int"):
        index.list(limit=1.5)  # type: ignore[arg-type]
    assert os.stat(database(folder)).st_ino == before
    assert "rebuilt" not in caplog.text


def test_read_only_database_raises_storage_error_and_still_lists(
    storage: SessionStorage, open_index: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be written, a change is an error of ours, and a list still works."""
    storage.save(Session("a"))
    index = open_index()
    index._table.run(lambda db: db.execute("PRAGMA query_only=1"))

    def read_only(path: str, *args: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "unlink", read_only)
    with pytest.raises(SessionStorageError):
        index.add(Session("b"))
    assert [summary.id for summary in index.list()] == ["a"]
    monkeypatch.undo()
