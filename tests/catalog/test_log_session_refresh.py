"""The index of `aur spawn`'s sessions: right whatever happens to the files, and to itself."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import SessionStorageError
from cortext.catalog import log_row_reader
from cortext.catalog.catalog import Catalog
from cortext.durability.live_session_mark import LiveMark
from tests.catalog.spawn_folder import HOUR, WHEN, Folder, head, turn


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges of files that were read, as (from, to)."""
    seen: list[tuple[int, int]] = []
    real: Callable[[int, int, int], bytes] = log_row_reader.read_range

    def read_range(fd: int, start: int, end: int) -> bytes:
        data = real(fd, start, end)
        if data:
            seen.append((start, start + len(data)))
        return data

    monkeypatch.setattr(log_row_reader, "read_range", read_range)
    return seen


def test_missing_or_empty_folder_lists_no_rows_and_creates_nothing(tmp_path: Path) -> None:
    """No folder, or an empty one: no rows, and nothing is made."""
    with Catalog(str(tmp_path / "catalog.sqlite3")) as catalog:
        assert catalog.log_sessions(str(tmp_path / "none")) == []
        assert catalog.log_sessions(str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_row_contains_facts_of_session_file(spawn_folder: Folder) -> None:
    """Agent, status, turns, times, title and where it was had."""
    spawn_folder.add(
        "one",
        turn("What now?"),
        turn("this", "assistant", WHEN + timedelta(minutes=3)),
        working_dir="/x/y",
        status="interrupted",
    )
    row = spawn_folder.list()["one"]
    assert (row.workspace, row.tool, row.working_dir) == ("", "aur", "/x/y")
    assert (row.agent, row.status, row.messages, row.title) == (
        "qa-test",
        "interrupted",
        2,
        "What now?",
    )
    assert (row.path, row.note) == (str(spawn_folder.path / "one.jsonl"), "")
    assert row.created_at == WHEN.timestamp() * 1_000_000
    assert row.last_active - row.created_at == 180 * 1_000_000


def test_nul_in_working_dir_is_shown_as_replacement_character(spawn_folder: Folder) -> None:
    """It is shown as no folder that there is, and the same every time."""
    spawn_folder.add("one", turn("x"), working_dir="/my\0proj")
    assert [spawn_folder.list()["one"].working_dir for _ in range(3)] == ["/my\ufffdproj"] * 3


def test_list_accepts_file_times_larger_than_63_bits(
    spawn_folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems have times, and numbers of files, that are larger than 63 bits."""
    spawn_folder.add("one", turn("x"))
    right = spawn_folder.list()
    real = log_row_reader.Fingerprint.of
    monkeypatch.setattr(
        log_row_reader.Fingerprint,
        "of",
        lambda found: real(found)._replace(inode=2**63, mtime_ns=-(2**70)),
    )
    spawn_folder.append(spawn_folder.path / "one.jsonl", b"")
    assert spawn_folder.list() == right


def test_list_sorts_by_last_turn_latest_first(spawn_folder: Folder) -> None:
    """Not by the beginning, nor by the file's time."""
    for number, id in enumerate(("early", "late", "middle")):
        at = WHEN + timedelta(days=(1, 3, 2)[number])
        spawn_folder.add(
            id, turn("x", at=at), created_at=(WHEN - timedelta(days=number)).isoformat()
        )
    spawn_folder.add("new", created_at=(WHEN + timedelta(days=2, hours=1)).isoformat())
    assert list(spawn_folder.list()) == ["late", "new", "middle", "early"]


def test_row_texts_contain_no_terminal_escapes(spawn_folder: Folder) -> None:
    """Nor break a row: what is hidden is shown as such."""
    spawn_folder.add(
        "one", agent="a\x1b[2Jb\n\x1e\x1fc", title="t\x1b]0;x\x07\n\td", working_dir="/\udcff"
    )
    row = spawn_folder.list()["one"]
    assert "\x1b" not in row.agent + row.title
    assert row.agent.isprintable()
    assert row.title.isprintable()
    assert (row.messages, row.status) == (0, "completed")
    assert spawn_folder.list()["one"] == row


@pytest.mark.parametrize("how", ["append", "replace", "write"])
def test_changed_file_is_read_again(how: str, spawn_folder: Folder) -> None:
    """Lines that were added, another file in its place, another text in the same file."""
    path = spawn_folder.add("one", turn("first"))
    spawn_folder.add("two", turn("other"))
    assert spawn_folder.list()["one"].messages == 1
    old = path.read_bytes()
    if how == "append":
        spawn_folder.append(path, turn("second") + turn("third"))
    elif how == "replace":
        spawn_folder.replace(
            path, old.replace(b"completed", b"interrupted") + turn("2") + turn("3")
        )
    else:
        spawn_folder.write(path, head("one", title="Another") + turn("a") + turn("b") + turn("c"))
    rows = spawn_folder.list()
    assert rows["one"].messages == 3
    assert rows == spawn_folder.anew()


def test_unchanged_files_are_not_read_again(
    spawn_folder: Folder, reads: list[tuple[int, int]]
) -> None:
    """A second list reads no file."""
    for number in range(20):
        spawn_folder.add(f"s{number}", turn("x"))
    first = spawn_folder.list()
    assert len(reads) > 20
    reads.clear()
    assert spawn_folder.list() == first
    assert reads == []


def test_only_new_end_of_grown_file_is_read(
    spawn_folder: Folder, reads: list[tuple[int, int]]
) -> None:
    """Line 1, a few bytes to know it again, and what is new: not the rest."""
    path = spawn_folder.add("one", *(turn(f"{n} " + "word " * 200) for n in range(5000)))
    assert path.stat().st_size > 5_000_000
    assert spawn_folder.list()["one"].messages == 5000
    assert max(end - start for start, end in reads) <= 1 << 20
    reads.clear()
    spawn_folder.append(path, turn("new", at=WHEN + timedelta(days=1)))
    row = spawn_folder.list()["one"]
    assert sum(end - start for start, end in reads) < 10_000
    assert (row.messages, row.active_at) == (5001, WHEN + timedelta(days=1))
    assert spawn_folder.list() == spawn_folder.anew()


@pytest.mark.parametrize("more", [0, 1])
def test_new_head_before_same_turns_decodes_only_new_turns(
    more: int, spawn_folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a session is reopened: its turns are known again and not decoded, but for new
    ones."""
    turns = [turn(f"{n} " + "word " * 200) for n in range(3000)]
    path = spawn_folder.add("one", *turns, title="x")
    assert spawn_folder.list()["one"].messages == 3000
    new = [turn("new", at=WHEN + timedelta(days=1))] * more
    spawn_folder.replace(
        path, head("one", title="another", status="interrupted") + b"".join(turns + new)
    )
    decoded: list[bytes] = []
    real: Callable[..., Any] = log_row_reader.decode_lines

    def decode_lines(data: bytes, *rest: Any, **more: Any) -> Any:
        decoded.append(data)
        return real(data, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(log_row_reader, "decode_lines", decode_lines)
        row = spawn_folder.list()["one"]
    assert decoded == new
    assert (row.title, row.status, row.messages) == ("another", "interrupted", 3000 + more)
    spawn_folder.append(path, turn("last"))
    assert spawn_folder.list()["one"].messages == 3001 + more
    assert spawn_folder.list() == spawn_folder.anew()


def test_broken_turn_in_replaced_file_of_same_size_is_noted(spawn_folder: Folder) -> None:
    """Also if nothing else tells: the same size, the same end."""
    path = spawn_folder.add("one", *(turn(f"{n}") for n in range(100)), title="x")
    assert spawn_folder.list()["one"].note == ""
    spawn_folder.replace(path, path.read_bytes().replace(b'"content": "50"', b'"content": "50%'))
    assert "line 52" in spawn_folder.list()["one"].note


def test_line_longer_than_block_counts_as_one_message(spawn_folder: Folder) -> None:
    """And is counted as one."""
    spawn_folder.add("one", turn("x" * 3_000_000), turn("y"), title="t" * 100_000)
    row = spawn_folder.list()["one"]
    assert (row.messages, row.note) == (2, "")


@pytest.mark.parametrize("line", [1, 3])
def test_file_larger_than_memory_is_listed_as_damaged(
    line: int, spawn_folder: Folder, reads: list[tuple[int, int]]
) -> None:
    """As damaged: of a line without an end no more is read than a turn can have."""
    path = spawn_folder.path / "one.jsonl"
    path.write_bytes(b"" if line == 1 else head("one") + turn("a"))
    os.truncate(path, 1 << 40)
    row = spawn_folder.list()["one"]
    assert f"line {line}: " in row.note
    assert row.messages == (0 if line == 1 else 1)
    assert sum(end - start for start, end in reads) < 200_000_000


def test_file_in_place_of_session_folder_raises_storage_error(tmp_path: Path) -> None:
    """With a sentence that names it."""
    path = tmp_path / "sessions"
    path.write_bytes(b"")
    with pytest.raises(SessionStorageError, match=f"could not list {path}: not a directory"):
        Catalog(str(tmp_path / "catalog.sqlite3")).log_sessions(str(path))


@pytest.mark.parametrize(
    ("data", "line", "turns"),
    [
        (head("one") + turn("a") + b"{broken\n" + turn("b"), "line 3", 2),
        (head("one") + turn("a") + bytes(100) + b"\n" + turn("b"), "line 3", 2),
        (b"{broken\n" + turn("a"), "line 1", 1),
        (turn("a") + turn("b"), "line 1", 2),
        (b"", "line 1: the file is empty", 0),
        (b"\0" * 5000, "line 1", 0),
        (head("one", created_at=None) + turn("a"), "line 1", 1),
        (head("one", status="sleeping") + turn("a"), "line 1", 1),
        (head("one", version="9.0") + turn("a"), "format version 9.0", 1),
        (b"[1]\n", "line 1", 0),
    ],
)
def test_damaged_session_is_listed_with_note_naming_line(
    data: bytes, line: str, turns: int, spawn_folder: Folder
) -> None:
    """Which line it is; the others are listed as ever."""
    spawn_folder.add("good", turn("x"))
    spawn_folder.write(spawn_folder.path / "one.jsonl", data)
    for _ in range(2):
        rows = spawn_folder.list()
        assert line in rows["one"].note
        assert (rows["one"].is_damaged, rows["one"].messages) == (True, turns)
        assert (rows["good"].note, rows["good"].messages) == ("", 1)


def test_note_disappears_when_damaged_file_is_repaired(spawn_folder: Folder) -> None:
    """In place, so that only the file's time and size tell."""
    path = spawn_folder.add("one", turn("a"), b"{broken\n")
    assert spawn_folder.list()["one"].is_damaged
    spawn_folder.append(path, turn("b"))
    assert "line 3" in spawn_folder.list()["one"].note
    spawn_folder.write(path, head("one") + turn("a"))
    assert spawn_folder.list()["one"].note == ""


@pytest.mark.parametrize("cut", range(1, 130, 7))
def test_torn_last_line_is_not_reported_as_damage(cut: int, spawn_folder: Folder) -> None:
    """Whole lines are counted, and what is there later is counted then."""
    last = turn("b", at=WHEN + timedelta(hours=1))
    path = spawn_folder.add("one", turn("a"), last[:-cut])
    row = spawn_folder.list()["one"]
    # A line that lacks only its newline is one.
    assert (row.note, row.messages) == ("", 2 if cut == 1 else 1)
    spawn_folder.append(path, last[-cut:])
    row = spawn_folder.list()["one"]
    assert (row.note, row.messages, row.active_at) == ("", 2, WHEN + timedelta(hours=1))


def test_pipes_and_dangling_links_are_listed_with_note(
    spawn_folder: Folder, tmp_path: Path
) -> None:
    """A pipe, and a link to nothing; a folder is no session, nor is what has no name for one."""
    os.mkfifo(spawn_folder.path / "pipe.jsonl")
    (spawn_folder.path / "link.jsonl").symlink_to(tmp_path / "nowhere")
    (spawn_folder.path / "folder.jsonl").mkdir()
    (spawn_folder.path / "a b.jsonl").write_bytes(head("a b"))
    (spawn_folder.path / ".hidden.jsonl").write_bytes(head("h"))
    (spawn_folder.path / "one.jsonl.torn").write_bytes(b"x")
    rows = spawn_folder.list()
    assert set(rows) == {"pipe", "link"}
    assert "regular file" in rows["pipe"].note
    assert "link to a file that does not exist" in rows["link"].note
    (tmp_path / "nowhere").write_bytes(head("link") + turn("x"))
    assert spawn_folder.list()["link"].messages == 1


def test_active_session_is_listed_as_interrupted_when_not_open(spawn_folder: Folder) -> None:
    """What is active on disk and open nowhere was interrupted."""
    spawn_folder.add("one", status="active")
    spawn_folder.add("two", status="active")
    spawn_folder.add("three", status="completed")
    mark = LiveMark(str(spawn_folder.path / ".cortext/live/one"))
    assert mark.take() is None
    statuses = {"one": "active", "two": "interrupted", "three": "completed"}
    for _ in range(2):
        assert {id: row.status for id, row in spawn_folder.list().items()} == statuses
    mark.release()
    assert spawn_folder.list()["one"].status == "interrupted"


def test_removed_session_is_not_listed_until_restored(spawn_folder: Folder) -> None:
    """And comes back as it was."""
    path = spawn_folder.add("one", turn("x"))
    spawn_folder.add("two")
    before = spawn_folder.list()
    kept = path.rename(path.with_name("kept"))
    assert set(spawn_folder.list()) == {"two"}
    kept.rename(path)
    assert spawn_folder.list() == before


def test_purge_removes_deleted_text_from_database_files(spawn_folder: Folder) -> None:
    """Not even in the pages of the database that are not used any more."""
    path = spawn_folder.add("one", title="xyzzy")
    spawn_folder.add("two")
    spawn_folder.list()
    files = [*spawn_folder.path.parent.glob("catalog.sqlite3*")]
    assert any(b"xyzzy" in file.read_bytes() for file in files)
    path.unlink()
    with spawn_folder.catalog() as catalog:
        catalog.purge()
    assert not any(b"xyzzy" in file.read_bytes() for file in files if file.exists())
    assert set(spawn_folder.list()) == {"two"}


def test_recent_file_is_read_again_despite_same_size_and_time(spawn_folder: Folder) -> None:
    """Even if it is written again with the same size and time."""
    path = spawn_folder.path / "one.jsonl"
    path.write_bytes(head("one", title="old"))
    now = path.stat().st_mtime_ns
    assert spawn_folder.list()["one"].title == "old"
    path.write_bytes(head("one", title="new"))
    os.utime(path, ns=(now, now))
    assert spawn_folder.list()["one"].title == "new"


def test_file_with_future_time_is_listed_and_followed(spawn_folder: Folder) -> None:
    """And followed."""
    path = spawn_folder.add("one", turn("x", at=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)))
    later = time.time_ns() + 1000 * HOUR
    os.utime(path, ns=(later, later))
    assert spawn_folder.list()["one"].messages == 1
    with open(path, "ab") as file:
        file.write(turn("y"))
    os.utime(path, ns=(later, later))
    assert spawn_folder.list()["one"].messages == 2


def test_index_of_older_version_is_removed_from_folder(spawn_folder: Folder) -> None:
    side = spawn_folder.path / ".cortext"
    side.mkdir()
    former = [side / f"spawned.sqlite3{suffix}" for suffix in ("", "-wal", "-lock")]
    for path in former:
        path.write_bytes(b"a title that was deleted")
    spawn_folder.add("one", turn("x"))
    assert set(spawn_folder.list()) == {"one"}
    assert [path.name for path in former if path.exists()] == []
