"""The trash: nothing is forgotten, nothing is written over, nothing unreadable is removed."""

import errno
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import clock
from cortext.durability import trash_folder as trash_module
from cortext.durability.trash_folder import Trash
from cortext.errors import InvalidIdError, SessionNotFoundError, SessionStorageError

NOW = datetime(2025, 11, 22, tzinfo=UTC)


@pytest.fixture
def trash(tmp_path: Path) -> Trash:
    return Trash(str(tmp_path / "trash"))


def put(trash: Trash, path: Path, content: str = "words"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return trash.put(path.name, [str(path)])


def test_restore_returns_files_and_folders_unchanged(trash: Trash, tmp_path: Path) -> None:
    """Files and folders go and come back as they were, to folders that are gone too."""
    (tmp_path / "a/folder/deep").mkdir(parents=True)
    (tmp_path / "a/folder/deep/f").write_bytes(b"deep")
    (tmp_path / "a/file").write_bytes(b"file")
    entry = trash.put("both", [str(tmp_path / "a/folder"), str(tmp_path / "a/file")])
    assert os.listdir(tmp_path / "a") == []
    os.rmdir(tmp_path / "a")
    assert trash.list() == [entry]
    assert trash.restore(entry.id) == entry
    assert (tmp_path / "a/folder/deep/f").read_bytes() == b"deep"
    assert (tmp_path / "a/file").read_bytes() == b"file"
    assert (trash.list(), os.listdir(tmp_path / "trash")) == ([], [])


def test_list_shows_newest_entry_first(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With label, time and place; an empty trash is an empty list."""
    assert trash.list() == []
    for days in (1, 3, 2):
        monkeypatch.setattr(clock, "now", lambda days=days: NOW + timedelta(days))
        put(trash, tmp_path / f"f{days}")
    assert [(e.label, e.deleted_at, e.origins) for e in trash.list()] == [
        (f"f{days}", NOW + timedelta(days), (str(tmp_path / f"f{days}"),)) for days in (3, 2, 1)
    ]


def test_restore_onto_existing_file_is_refused_without_changes(
    trash: Trash, tmp_path: Path
) -> None:
    """Refused before anything moves: neither the new file nor the trash changes."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    entry = trash.put("both", [str(tmp_path / "a"), str(tmp_path / "b")])
    (tmp_path / "b").write_bytes(b"new")
    with pytest.raises(SessionStorageError) as caught:
        trash.restore(entry.id)
    assert (caught.value.path, bool(caught.value.hint)) == (str(tmp_path / "b"), True)
    assert (tmp_path / "b").read_bytes() == b"new"
    assert not (tmp_path / "a").exists()
    (tmp_path / "b").unlink()
    trash.restore(entry.id)
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"a", b"b"]


def test_restore_onto_dangling_link_is_refused(trash: Trash, tmp_path: Path) -> None:
    """A link in the place counts as taken."""
    entry = put(trash, tmp_path / "f")
    (tmp_path / "f").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SessionStorageError):
        trash.restore(entry.id)
    assert (tmp_path / "f").is_symlink()


def test_restore_of_unknown_or_invalid_id_fails(trash: Trash, tmp_path: Path) -> None:
    """Not found; an id that is a path is refused."""
    put(trash, tmp_path / "f")
    with pytest.raises(SessionNotFoundError):
        trash.restore("nothing")
    for id in ("..", "../trash", "", "a/b"):
        with pytest.raises(InvalidIdError):
            trash.restore(id)


def test_empty_removes_only_entries_older_than_limit(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For good, and says what."""
    for days in (0, 10, 40):
        monkeypatch.setattr(clock, "now", lambda days=days: NOW - timedelta(days))
        put(trash, tmp_path / f"f{days}", f"words {days}")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    assert [entry.label for entry in trash.empty(older_than_days=30)] == ["f40"]
    assert [entry.label for entry in trash.list()] == ["f0", "f10"]
    assert [entry.label for entry in trash.empty()] == ["f0", "f10"]
    assert (trash.list(), list((tmp_path / "trash").rglob("*"))) == ([], [])


@pytest.mark.parametrize("note", [None, b"", b"{", b"null", b"{}", b'{"origins":1}', b"\0" * 50])
def test_entry_with_unreadable_note_is_never_removed(
    trash: Trash, tmp_path: Path, note: bytes | None
) -> None:
    """It is not shown, not restored, and no emptying takes it."""
    entry = put(trash, tmp_path / "f", "precious")
    info = tmp_path / "trash" / entry.id / "info.json"
    info.unlink()
    if note is not None:
        info.write_bytes(note)
    assert (trash.list(), trash.empty()) == ([], [])
    with pytest.raises(SessionNotFoundError):
        trash.restore(entry.id)
    assert [path.read_text() for path in (tmp_path / "trash").rglob("0")] == ["precious"]


def test_empty_leaves_foreign_files_in_trash(trash: Trash, tmp_path: Path) -> None:
    """What we did not put there we do not take."""
    put(trash, tmp_path / "f")
    (tmp_path / "trash/note.txt").write_bytes(b"x")
    assert len(trash.empty()) == 1
    assert os.listdir(tmp_path / "trash") == ["note.txt"]


def test_put_writes_note_before_moving_files(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in the middle forgets no place: what was moved can be restored."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    real = trash_module.move

    def crash(source: str, target: str) -> None:
        if source.endswith("b"):
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(trash_module, "move", crash)
    with pytest.raises(KeyboardInterrupt):
        trash.put("both", [str(tmp_path / "a"), str(tmp_path / "b")])
    monkeypatch.undo()
    assert (tmp_path / "b").read_bytes() == b"b"
    assert not (tmp_path / "a").exists()
    (entry,) = trash.list()
    trash.restore(entry.id)
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"a", b"b"]


def test_put_of_file_that_cannot_be_moved_leaves_no_entry(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "one", tmp_path / "two"
    path.write_text("words", encoding="utf-8")
    other.write_text("words", encoding="utf-8")
    rename = os.rename

    def refuse(source: str, target: str) -> None:
        if source == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), source)
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(SessionStorageError, match="permission denied"):
        trash.put("one", [str(path)])
    assert (path.read_text(encoding="utf-8"), trash.list()) == ("words", [])
    with pytest.raises(SessionStorageError, match="permission denied"):
        trash.put("both", [str(other), str(path)])
    assert [entry.label for entry in trash.list()] == ["both"], "a moved file can be restored"


def test_put_of_missing_file_fails_without_entry(trash: Trash, tmp_path: Path) -> None:
    """An error that says so, and no entry without files."""
    with pytest.raises(SessionStorageError, match="no such file"):
        trash.put("missing", [str(tmp_path / "missing")])
    assert trash.list() == []


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder is a file system of its own."""
    real = os.rename

    def rename(source: str, target: str) -> None:
        if not (source.endswith(".tmp") or target.endswith(".tmp")):
            raise OSError(18, "Invalid cross-device link")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)


def conversation(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/f").write_bytes(b"x" * 100_000)
    (folder / "link").symlink_to("inner/f")
    return folder


def is_whole(folder: Path) -> bool:
    data = (folder / "inner/f").read_bytes()
    return data == b"x" * 100_000 and os.readlink(folder / "link") == "inner/f"


@pytest.mark.usefixtures("far")
def test_put_and_restore_work_across_file_systems(trash: Trash, tmp_path: Path) -> None:
    """Where rename cannot go the copy is complete before the original goes."""
    folder = conversation(tmp_path)
    entry = trash.put("folder", [str(folder)])
    assert not folder.exists()
    trash.restore(entry.id)
    assert is_whole(folder)


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize("verb", ["put", "restore"])
def test_kill_during_move_across_disks_leaves_one_whole_copy(
    verb: str, trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while the original is removed: no half of it is in its place, and all of it is in the
    other."""
    folder = conversation(tmp_path)
    entry = trash.put("folder", [str(folder)]) if verb == "restore" else None

    def be_killed(folder: str, **_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", be_killed)
        with pytest.raises(KeyboardInterrupt):
            trash.restore(entry.id) if entry else trash.put("folder", [str(folder)])
    assert folder.exists() is (verb == "restore")
    for entry in trash.list() if verb == "put" else ():
        trash.restore(entry.id)
    assert is_whole(folder)


@pytest.mark.usefixtures("far")
def test_restore_across_disks_succeeds_after_earlier_kill(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed process left of its copy is not in the way of the next."""
    folder = conversation(tmp_path)
    entry = trash.put("folder", [str(folder)])

    def be_killed(path: str, chunks: object) -> None:
        Path(path).write_bytes(b"x")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda path, **_: None)  # the dead tidy nothing up
        patch.setattr(trash_module, "write_new", be_killed)
        with pytest.raises(KeyboardInterrupt):
            trash.restore(entry.id)
    trash.restore(entry.id)
    assert is_whole(folder)


def test_trash_files_are_private_whatever_umask(trash: Trash, tmp_path: Path) -> None:
    """0700 folders and 0600 notes, whatever the umask."""
    old = os.umask(0)
    try:
        entry = put(trash, tmp_path / "f")
    finally:
        os.umask(old)
    folder = tmp_path / "trash" / entry.id
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "trash", folder)]
    assert modes == [0o700, 0o700]
    assert (folder / "info.json").stat().st_mode & 0o777 == 0o600


def test_failed_put_leaves_file_in_place_and_no_entry(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that refuses the note: what was to go is where it was, and nothing else is there."""

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "trash").mkdir()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SessionStorageError):
        put(trash, tmp_path / "f")
    assert sorted(os.listdir(tmp_path)) == ["f", "trash"]
    assert os.listdir(tmp_path / "trash") == []


@pytest.mark.parametrize("verb", ["restore", "empty"])
def test_kill_during_restore_or_empty_leaves_no_partial_entry(
    verb: str, trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while its files are removed: no entry is left of which nobody knows what it was."""
    entry = put(trash, tmp_path / "f")

    def be_killed(folder: str, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", be_killed)
    with pytest.raises(KeyboardInterrupt):
        trash.restore(entry.id) if verb == "restore" else trash.empty()
    assert os.listdir(tmp_path / "trash") == []


def test_empty_fails_when_entry_note_cannot_be_read(tmp_path: Path) -> None:
    """Nobody is told that the trash is empty while it has something."""
    (tmp_path / "a.txt").write_text("a")
    trash = Trash(str(tmp_path / "trash"))
    entry = trash.put("a", [str(tmp_path / "a.txt")])
    note = tmp_path / "trash" / entry.id / "info.json"
    note.unlink()
    note.symlink_to(note.name)  # a link to itself: as good as a disk that fails
    with pytest.raises(SessionStorageError, match="could not read"):
        trash.empty()
    assert (note.parent / "0").read_text() == "a"
