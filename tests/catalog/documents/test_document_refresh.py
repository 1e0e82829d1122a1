"""The sessions that programs keep as documents, in the catalog."""

import builtins
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage
from cortext.catalog.catalog import Catalog
from cortext.catalog.documents import document_row_reader
from cortext.catalog.documents.document_refresh import DocumentFolder
from cortext.catalog.row import ConversationRow

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Place:
    """A catalog, and a folder of documents."""

    def __init__(self, folder: Path) -> None:
        self.catalog = str(folder / "catalog.sqlite3")
        self.folder = folder / "documents"
        self.storage = SessionStorage(self.folder)
        self.shelves = [DocumentFolder(str(self.folder))]

    def keep(self, id: str, *texts: str, storage: SessionStorage | None = None, **head) -> Session:
        messages = [SessionMessage("user", text, timestamp=MONDAY) for text in texts]
        head = {"created_at": MONDAY, "updated_at": MONDAY, **head}
        session = Session(id, messages=messages, **head)
        (storage or self.storage).save(session)
        path = (storage or self.storage).get_path(id)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        return session

    def rows(self) -> list[ConversationRow]:
        with Catalog(self.catalog) as catalog:
            return catalog.document_sessions(self.shelves).rows

    def notes(self) -> list[str]:
        with Catalog(self.catalog) as catalog:
            return catalog.document_sessions(self.shelves).notes


@pytest.fixture
def document_place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that are opened, by any means that Python has."""
    opened: list[str] = []

    def watched(real: Callable[..., object]) -> Callable[..., object]:
        def call(path, *args, **more):
            if str(path).endswith(".json"):
                opened.append(str(path))
            return real(path, *args, **more)

        return call

    monkeypatch.setattr(os, "open", watched(os.open))
    monkeypatch.setattr(builtins, "open", watched(builtins.open))
    return opened


def test_document_is_listed_as_row_with_its_facts(document_place: Place) -> None:
    """With the folder that it was had in, its own id, and its file."""
    document_place.keep("one", "Why?", title="Asked", working_dir="/x/y", tags=["a"], agent="bot")
    (row,) = document_place.rows()
    assert (row.workspace, row.tool, row.working_dir, row.key) == ("", "document", "/x/y", "one")
    assert (row.path, row.identity) == (
        f"{document_place.folder}/one.json",
        ("document:", f"{document_place.folder}/one.json"),
    )
    assert (row.title, row.tags, row.agent, row.messages) == ("Asked", ("a",), "bot", 1)
    assert (row.active_at, row.kind, row.is_standalone) == (MONDAY, "chat", True)


def test_document_without_title_is_titled_by_first_request(document_place: Place) -> None:
    document_place.keep("one", "Why is it so?")
    assert [row.title for row in document_place.rows()] == ["Why is it so?"]


def test_document_in_project_uses_project_as_working_dir(document_place: Place) -> None:
    """Where it does not say another folder."""
    document_place.shelves = [DocumentFolder(str(document_place.folder), "/a/project")]
    document_place.keep("one", "Why?")
    document_place.keep("two", "Why?", working_dir="/b")
    assert {row.key: row.working_dir for row in document_place.rows()} == {
        "one": "/a/project",
        "two": "/b",
    }


def test_list_reads_only_changed_documents_of_1000(document_place: Place, reads: list[str]) -> None:
    """The second look opens none of them, and the next after a change that one."""
    document_place.keep("d-0", "Why?")
    text = (document_place.folder / "d-0.json").read_text(encoding="utf-8")
    for number in range(1, 1000):
        path = document_place.folder / f"d-{number}.json"
        path.write_text(text.replace('"d-0"', f'"d-{number}"'), encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    reads.clear()
    assert len(document_place.rows()) == 1000
    assert len(reads) == 1000
    reads.clear()
    assert len(document_place.rows()) == 1000
    assert reads == []
    document_place.storage.append("d-7", SessionMessage("assistant", "Because."))
    reads.clear()
    assert {row.key: row.messages for row in document_place.rows()}["d-7"] == 2
    assert [Path(path).name for path in reads] == ["d-7.json"]


def test_recent_document_is_read_again_despite_same_time(document_place: Place) -> None:
    """Its time may not tell what is written next."""
    document_place.keep("one", "Why?")
    path = document_place.folder / "one.json"
    soon = time.time_ns() + 3_600_000_000_000
    os.utime(path, ns=(soon, soon))
    assert [row.title for row in document_place.rows()] == ["Why?"]
    path.write_bytes(path.read_bytes().replace(b"Why?", b"Who?"))
    os.utime(path, ns=(soon, soon))
    assert [row.title for row in document_place.rows()] == ["Who?"]


def test_deleted_document_is_not_listed(document_place: Place) -> None:
    document_place.keep("one", "Why?")
    document_place.keep("two", "Why?")
    assert len(document_place.rows()) == 2
    document_place.storage.delete("one")
    assert [row.key for row in document_place.rows()] == ["two"]


@pytest.mark.parametrize("data", [b"", b"{nonsense", b"[1, 2]", b"\xff\xfe", b"{" * 100_000])
def test_damaged_document_is_reported_and_hides_no_other(
    document_place: Place, data: bytes
) -> None:
    """Every time, though it is read once."""
    document_place.keep("good", "Why?")
    (document_place.folder / "bad.json").write_bytes(data)
    os.utime(document_place.folder / "bad.json", (1_700_000_000, 1_700_000_000))
    for _ in range(2):
        assert [row.key for row in document_place.rows()] == ["good"]
        (note,) = document_place.notes()
        assert note.startswith(f"{document_place.folder}/bad.json: ")


def test_partly_readable_document_is_listed_with_note(document_place: Place) -> None:
    """With what is wrong, as other damaged conversations."""
    document_place.keep("one", "Why?", "Because.")
    path = document_place.folder / "one.json"
    path.write_bytes(path.read_bytes()[:-30])
    (row,) = document_place.rows()
    assert row.is_damaged
    assert row.note.startswith(f"{path}: ")


def test_document_of_later_format_version_is_reported(document_place: Place) -> None:
    document_place.keep("one", "Why?")
    path = document_place.folder / "one.json"
    path.write_bytes(path.read_bytes().replace(b'"version":"1.0"', b'"version":"99.0"'))
    assert document_place.rows() == []
    assert "format version 99" in document_place.notes()[0]


def test_list_skips_files_that_are_not_documents(document_place: Place) -> None:
    """The export of an index, backups, hidden files, folders, pipes, links to nothing."""
    document_place.keep("one", "Why?")
    (document_place.folder / "index.json").write_text("{}", encoding="utf-8")
    (document_place.folder / ".hidden.json").write_text("{}", encoding="utf-8")
    (document_place.folder / "one.backup").write_text("{}", encoding="utf-8")
    (document_place.folder / "folder.json").mkdir()
    os.mkfifo(document_place.folder / "pipe.json")
    (document_place.folder / "gone.json").symlink_to("nowhere")
    assert [row.key for row in document_place.rows()] == ["one"]
    assert sorted(Path(note.partition(":")[0]).name for note in document_place.notes()) == [
        "folder.json",
        "pipe.json",
    ]


def test_copied_document_is_listed_once_from_latest_folder(
    document_place: Place, tmp_path: Path
) -> None:
    """Where it was last active; another that only has the same id is another."""
    other = SessionStorage(tmp_path / "other")
    document_place.shelves.append(DocumentFolder(str(tmp_path / "other")))
    document_place.keep("same", "Why?")
    document_place.keep(
        "same", "Why?", "So.", storage=other, updated_at=MONDAY + timedelta(hours=1)
    )
    document_place.keep("name", "Why?")
    document_place.keep("name", "Else", storage=other, created_at=MONDAY - timedelta(days=1))
    found = sorted((row.key, row.path) for row in document_place.rows())
    assert found == sorted(
        [
            ("name", f"{document_place.folder}/name.json"),
            ("name", f"{tmp_path}/other/name.json"),
            ("same", f"{tmp_path}/other/same.json"),
        ]
    )


def test_folder_reached_by_two_paths_is_listed_once(document_place: Place, tmp_path: Path) -> None:
    document_place.keep("one", "Why?")
    (tmp_path / "link").symlink_to(document_place.folder)
    document_place.shelves = [
        *document_place.shelves,
        DocumentFolder(str(tmp_path / "link")),
        *document_place.shelves,
    ]
    assert [row.key for row in document_place.rows()] == ["one"]


def test_purge_removes_title_of_deleted_document_from_catalog(document_place: Place) -> None:
    """Also the words of its title."""
    document_place.keep("one", "The zyzzyva is a weevil")
    document_place.rows()
    document_place.storage.delete("one")
    with Catalog(document_place.catalog) as catalog:
        catalog.purge()
    data = b"".join(
        path.read_bytes() for path in Path(document_place.catalog).parent.glob("catalog*")
    )
    assert b"zyzzyva" not in data


def test_undecodable_row_is_rebuilt_from_document(document_place: Place) -> None:
    """The catalog is made anew from the files."""
    import sqlite3

    document_place.keep("one", "Why?")
    document_place.rows()
    with sqlite3.connect(document_place.catalog) as db:
        db.execute("UPDATE rows SET row = x'00'")
    db.close()
    rows = document_place.rows()
    assert [row.key for row in rows] == ["one"]


def test_read_document_returns_none_for_missing_document(document_place: Place) -> None:
    assert document_row_reader.read_document(str(document_place.folder), "nosuch") is None
    assert document_row_reader.read_document(str(document_place.folder), "../nosuch") is None


def test_list_out_of_time_reports_unread_documents(document_place: Place) -> None:
    """That is said, what is known stays, and the next look goes on."""
    document_place.keep("one", "Why?")
    document_place.rows()
    document_place.storage.append("one", SessionMessage("assistant", "Because."))
    document_place.keep("two", "Why?")
    with Catalog(document_place.catalog) as catalog:
        found = catalog.document_sessions(document_place.shelves, patience=-1.0)
    assert [(row.key, row.messages) for row in found.rows] == [("one", 1)]
    assert found.notes == [
        f"{document_place.folder}: 2 documents are not read yet; list again to see more"
    ]
    assert {row.key: row.messages for row in document_place.rows()} == {"one": 2, "two": 1}
