"""The session files are the truth: what is a session, what is read again, what is left alone."""

import json
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import (
    Session,
    SessionIndex,
    SessionStorage,
    SessionStorageError,
    SessionSummary,
)

Opener = Callable[[], SessionIndex]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the sessions that a storage was asked to load, in order."""
    loaded: list[str] = []
    summarize = SessionStorage.summarize

    def counted(self: SessionStorage, id: str) -> SessionSummary:
        loaded.append(id)
        return summarize(self, id)

    monkeypatch.setattr(SessionStorage, "summarize", counted)
    return loaded


def ids(index: SessionIndex) -> list[str]:
    return [summary.id for summary in index.list(limit=1000, sort_by="id")]


def test_index_reads_only_files_changed_since_last_open(
    storage: SessionStorage, open_index: Opener, reads: list[str]
) -> None:
    """Files that were added, changed or removed alone are seen, and only those are read."""
    for id in "abcde":
        storage.save(Session(id, title="old"))
    open_index().close()
    assert sorted(reads) == list("abcde")
    reads.clear()
    storage.save(Session("b", title="new"))
    storage.save(Session("f", title="new"))
    storage.delete("d")
    index = open_index()
    assert sorted(reads) == ["b", "f"]
    assert {summary.id: summary.title for summary in index.list()} == {
        "a": "old", "b": "new", "c": "old", "e": "old", "f": "new",
    }  # fmt: skip


def test_open_reads_nothing_when_folder_is_unchanged(
    storage: SessionStorage, open_index: Opener, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening an index of a folder that has settled reads no file and lists no folder."""
    for id in "abc":
        storage.save(Session(id))
    open_index().close()
    past = os.stat(storage.storage_dir).st_mtime_ns - 10**9
    os.utime(storage.storage_dir, ns=(past, past))
    open_index().close()
    reads.clear()
    monkeypatch.setattr(SessionStorage, "list_session_ids", lambda self: pytest.fail("scanned"))
    assert ids(open_index()) == ["a", "b", "c"]
    assert reads == []


def test_save_right_after_refresh_is_seen_by_next_open(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Saves and looks in quick turn: each look sees every save before it."""
    for number in range(30):
        storage.save(Session(f"s{number:02}"))
        index = open_index()
        assert index.count() == number + 1
        index.close()


def test_rebuild_sees_file_rewritten_in_place(storage: SessionStorage, open_index: Opener) -> None:
    """An editor that writes into the file moves no folder time; a rebuild sees it, always."""
    storage.save(Session("a", title="old"))
    open_index().close()
    path = storage.get_path("a")
    path.write_bytes(path.read_bytes().replace(b'"old"', b'"new and longer"'))
    index = open_index()
    index.rebuild()
    assert [summary.title for summary in index.list()] == ["new and longer"]


def test_corrupt_session_is_logged_and_never_changed(
    storage: SessionStorage, open_index: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that cannot be read is named in the log and left out; it is never changed."""
    bad = {
        "cut": b'{"id": "cut", "crea', "empty": b"", "null": b"null", "list": b"[1]",
        "object": b"{}", "binary": bytes(range(256)), "nul": b"\0" * 99,
        "newer": b'{"version":"999.0","id":"newer"}',
    }  # fmt: skip
    storage.save(Session("good"))
    for id, content in bad.items():
        storage.get_path(id).write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="cortext"):
        index = open_index()
    assert ids(index) == ["good"]
    for id, content in bad.items():
        assert f"{id}.json" in caplog.text
        assert storage.get_path(id).read_bytes() == content
    assert index.rebuild() == 1
    assert {path.name for path in storage.storage_dir.iterdir() if path.suffix == ".json"} == {
        "good.json", "index.json", *(f"{id}.json" for id in bad),
    }  # fmt: skip


def test_session_leaves_list_while_corrupt_and_returns_after_repair(
    storage: SessionStorage, open_index: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """One that can no longer be read is left out, and comes back when it is mended."""
    for id in "ab":
        storage.save(Session(id))
    open_index().close()
    good = storage.get_path("a").read_bytes()
    storage.get_path("a").unlink()
    storage.get_path("a").write_bytes(b"garbage")
    with caplog.at_level(logging.WARNING, logger="cortext"):
        index = open_index()
    assert ids(index) == ["b"]
    assert "a.json" in caplog.text
    index.close()
    storage.get_path("a").unlink()
    storage.get_path("a").write_bytes(good)
    assert ids(open_index()) == ["a", "b"]


def test_foreign_files_are_not_sessions(storage: SessionStorage, open_index: Opener) -> None:
    """Temp, hidden and foreign files, backups and folders are in no list and stay as they are."""
    storage.save(Session("real"))
    content = storage.get_path("real").read_bytes()
    names = [
        ".x.json", "a.json.tmp", "notes.txt", "b.json~", "x.backup", "x.json.corrupt", "y.JSON",
        ".json", "#c.json#", "d.json.swp", "with space.json", "é.json", "-dash.json", "json",
    ]  # fmt: skip
    for name in names:
        (storage.storage_dir / name).write_bytes(content)
    (storage.storage_dir / "c.json").mkdir()
    (storage.storage_dir / "sub").mkdir()
    (storage.storage_dir / "sub" / "deep.json").write_bytes(content)
    (storage.storage_dir / "dangling.json").symlink_to("nowhere")
    index = open_index()
    assert ids(index) == ["real"]
    index.rebuild()
    assert ids(index) == ["real"]
    assert all((storage.storage_dir / name).read_bytes() == content for name in names)


def test_folder_named_like_session_is_not_listed_as_id(storage: SessionStorage) -> None:
    """What does not exist as a session is not among the ids either."""
    storage.save(Session("real"))
    (storage.storage_dir / "c.json").mkdir()
    assert [id for id in storage.list_session_ids() if not storage.exists(id)] == []


def test_row_without_file_is_gone_in_fresh_index(open_index: Opener) -> None:
    """A summary whose session was never saved, or is deleted, is gone in a fresh index."""
    index = open_index()
    index.add(Session("ghost"))
    assert ids(index) == ["ghost"]
    index.close()
    assert ids(open_index()) == []


def test_fresh_index_shows_file_content_after_late_update(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Of two writers the slower one indexes last: a fresh index shows what the file holds."""
    other = SessionStorage(storage.storage_dir)
    mine = Session("a", title="mine")
    storage.save(mine)
    theirs = Session("a", title="theirs")
    theirs.add_message_from_dict("user", "Hello")
    index = SessionIndex(storage)
    other.save(theirs)
    index.add(theirs)
    index.add(mine)
    index.close()
    found = open_index().get("a")
    assert found is not None
    assert (found.title, found.message_count) == ("theirs", 1)


def test_only_export_changes_folder_modification_time(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Opening, adding, removing and listing leave the folder's own time as it was."""
    storage.save(Session("a"))
    open_index().close()
    index = open_index()
    before = os.stat(storage.storage_dir).st_mtime_ns
    index.add(Session("b"))
    index.update(Session("a", title="new"))
    index.remove("b")
    index.list()
    index.get("a")
    assert os.stat(storage.storage_dir).st_mtime_ns == before
    assert index.save_if_dirty() is True
    assert os.stat(storage.storage_dir).st_mtime_ns > before
    assert index.save_if_dirty() is False


def test_export_is_json_with_version_and_one_session_per_line(
    storage: SessionStorage, open_index: Opener
) -> None:
    """index.json is one object with a version, and one session a line."""
    sessions = [Session(id, title=title) for id, title in (("a", "A"), ("b", "\ud800 \u2028"))]
    for session in sessions:
        storage.save(session)
    open_index().close()
    raw = (storage.storage_dir / "index.json").read_bytes()
    data = json.loads(raw)
    assert data["version"] == 1
    assert data["sessions"] == {
        id: summary.to_dict() for id in ("a", "b") if (summary := open_index().get(id)) is not None
    }
    assert len([line for line in raw.split(b"\n") if b'"id":' in line]) == 2
    assert all(b'"id":"a"' not in line or b'"id":"b"' not in line for line in raw.split(b"\n"))


def test_index_files_are_private_under_umask_000(tmp_path: Path) -> None:
    """Under umask 000 files of the index are 0600 and its folders 0700."""
    old = os.umask(0)
    try:
        storage = SessionStorage(tmp_path / "sessions")
        storage.save(Session("a"))
        index = SessionIndex(storage)
        index.add(Session("a"))
        index.save_if_dirty()
        side = storage.storage_dir / ".cortext"
        assert (side / "index.sqlite3-wal").exists()
        assert (side / "index.sqlite3-shm").exists()
        modes = {
            path.relative_to(tmp_path): stat.S_IMODE(path.stat().st_mode)
            for path in tmp_path.rglob("*")
        }
        index.close()
        open_again = SessionIndex(storage)
        open_again.rebuild()
        open_again.close()
    finally:
        os.umask(old)
    for found in (modes, {p: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}):
        for path, mode in found.items():
            assert mode == (0o700 if (tmp_path / path).is_dir() else 0o600), path


def test_symbolic_link_as_database_is_refused(storage: SessionStorage, tmp_path: Path) -> None:
    """A symbolic link in the place of the database is never written through."""
    target = tmp_path / "precious"
    target.write_bytes(b"")
    storage.save(Session("a"))
    (storage.storage_dir / ".cortext" / "index.sqlite3").symlink_to(target)
    with pytest.raises(SessionStorageError, match="symbolic"):
        SessionIndex(storage)
    assert target.read_bytes() == b""
