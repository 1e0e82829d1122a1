"""The full-text index, in its file: what is put in is found, whatever happens to the file."""

import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from cortext.catalog.fulltext.fulltext_index import (
    FulltextIndex,
    IndexRebuiltError,
    TextEntry,
    TextMatch,
)
from cortext.formats.text_search.search_query import parse
from tests.faults.mounts import fill, mounted, read_only

A, B = ("/w", "conversations/2026-01-05/001-a"), ("aur:", "b")


def entries(*texts: str, first: int = 1) -> list[TextEntry]:
    """Messages on lines of 100 bytes."""
    return [
        TextEntry(number, "user", number * 1000, text, (number - 1) * 101, 100)
        for number, text in enumerate(texts, first)
    ]


def find(words: FulltextIndex, text: str) -> list[TextMatch]:
    return list(words.find(parse(text).expression))


@pytest.fixture
def words(tmp_path: Path) -> FulltextIndex:
    return FulltextIndex(str(tmp_path / "cache/cortext/words.sqlite3"))


def test_put_texts_are_found_with_position_newest_first(words: FulltextIndex) -> None:
    """What is put in is found with its place, the latest first."""
    words.put(A, "s1", entries("one plan", "another plan"), keep=False)
    words.put(B, "s2", [TextEntry(0, "title", 5, "plan of b")], keep=False)
    assert find(words, "plan") == [
        TextMatch(2, A, 2, "user", 2000, 101, 100),
        TextMatch(1, A, 1, "user", 1000, 0, 100),
        TextMatch(3, B, 0, "title", 5, 0, 0),
    ]
    assert words.known() == {A: "s1", B: "s2"}


def test_put_appends_or_replaces_texts_as_keep_says(words: FulltextIndex) -> None:
    """New texts come after those that are there, or in their place."""
    words.put(A, "1", entries("old one"), keep=False)
    words.put(A, "2", entries("newer one", first=2), keep=True)
    assert [spot.number for spot in find(words, "one")] == [2, 1]
    words.put(A, "3", entries("only one"), keep=False)
    assert [spot.number for spot in find(words, "one")] == [1]
    assert not find(words, "old")


def test_put_with_keep_fails_when_conversation_is_not_indexed(words: FulltextIndex) -> None:
    """What should come after something that is not there is refused, and nothing is written."""
    with pytest.raises(IndexRebuiltError):
        words.put(A, "2", entries("newer one", first=2), keep=True)
    assert words.known() == {}


def test_new_title_replaces_old_title_in_index(words: FulltextIndex) -> None:
    """A conversation has one title: a new one takes the place of the old, an empty one of none."""
    words.put(A, "1", [TextEntry(0, "title", 1, "old title"), *entries("said")], keep=False)
    words.put(A, "2", [TextEntry(0, "title", 1, "new title")], keep=True)
    assert (len(find(words, "title")), len(find(words, "old"))) == (1, 0)
    words.put(A, "3", [TextEntry(0, "title", 1, "")], keep=True)
    assert not find(words, "title")
    assert find(words, "said")


def test_find_returns_right_number_and_position_in_long_conversation(words: FulltextIndex) -> None:
    """Numbers and places are right in long conversations, with gaps and with places far away."""
    found = entries(*(f"w{n}" for n in range(1, 1001)))
    far = [replace(entry, at=entry.at + 2**40) for entry in found[600:]]
    words.put(A, "1", [*found[:300], *found[310:600], *far], keep=False)
    for entry in (*found[:300:7], *found[310:600:7], *far[::7]):
        (spot,) = find(words, entry.text)
        assert spot[2:] == (entry.number, entry.role, entry.time, entry.at, entry.size)
    assert not find(words, "w305")


def test_phrase_search_finds_each_of_1000_random_messages(words: FulltextIndex) -> None:
    """Of 1,000 random messages each is found by three of its words, in order."""
    rng = random.Random(1)
    said = [" ".join(f"t{rng.randrange(300)}" for _ in range(30)) for _ in range(1000)]
    words.put(A, "1", entries(*said), keep=False)
    for number, text in enumerate(said, 1):
        start = rng.randrange(28)
        phrase = " ".join(text.split()[start : start + 3])
        assert number in {spot.number for spot in find(words, f'"{phrase}"')}


def test_dropped_conversation_is_not_found_and_index_becomes_stale(
    words: FulltextIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is dropped is not found; when most is, the index says that it is stale."""
    monkeypatch.setattr("cortext.catalog.fulltext.fulltext_index._STALE", 10)
    words.put(A, "1", entries(*["same"] * 20), keep=False)
    words.put(B, "1", entries("same"), keep=False)
    assert not words.is_stale
    words.drop([A])
    assert [spot.identity for spot in find(words, "same")] == [B]
    assert words.is_stale


def test_index_becomes_stale_after_many_edits_of_one_document(
    words: FulltextIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time its old words stay in the file: when they are most of it, the index is stale."""
    monkeypatch.setattr("cortext.catalog.fulltext.fulltext_index._STALE_SIZE", 100)
    words.put(A, "1", entries("said " * 20), keep=False)
    for number in range(6):
        assert not words.is_stale
        words.put(A, f"{number}", [TextEntry(-1, "document", 1, f"{number:030}")], keep=True)
    assert words.is_stale
    words.discard()
    words.put(A, "1", entries("said"), keep=False)
    assert not words.is_stale


def test_bulk_additions_are_found_before_and_after_settle(words: FulltextIndex) -> None:
    """Additions in bulk are found at once, and settled by whoever comes next."""
    for number in range(30):
        work = (A, "1", entries(f"word{number}", first=number + 1), number > 0)
        words.put_all([work], bulk=True)
    words.close()
    assert not words.is_settled
    assert find(words, "word7")
    words.settle()
    assert words.is_settled
    assert [spot.number for spot in find(words, "word7")] == [8]


def test_mark_is_cleared_by_put_and_ignored_for_empty_index(words: FulltextIndex) -> None:
    """That all is in it is forgotten when something is added, and not believed of an empty one."""
    words.set_mark(7, 1, 1)
    assert words.mark()[0] == 0
    words.put(A, "1", entries("a"), keep=False)
    words.set_mark(7, 1, 1)
    assert words.mark() == (7, 1)
    words.put(B, "1", entries("b"), keep=False)
    assert words.mark()[0] == 0


def test_index_files_are_readable_only_by_owner(words: FulltextIndex) -> None:
    """What was said is for this user only."""
    words.put(A, "1", entries("secret"), keep=False)
    folder = Path(words.lock).parent
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert set(modes.values()) == {0o700, 0o600}


@pytest.mark.parametrize("damage", ["zeros", "half", "text", "version", "table"])
def test_damaged_index_file_is_rebuilt_without_error(
    words: FulltextIndex, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged file is made anew, and that is said; nothing of it is an error."""
    words.put(A, "1", entries(*(f"plan {n}" for n in range(2000))), keep=False)
    words.close()
    path = Path(words.lock.removesuffix(".lock"))
    _damage(path, damage)
    with FulltextIndex(str(path)) as again, caplog.at_level(logging.WARNING):
        try:
            again.put(A, "2", entries("later", first=2001), keep=True)
        except IndexRebuiltError:
            assert again.known() == {}
        assert len(find(again, "plan")) in (0, 2000)
        again.put(B, "1", entries("a new plan"), keep=False)
        assert B in {spot.identity for spot in find(again, "plan")}


def _damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "zeros":
        path.write_bytes(data[:8192] + bytes(len(data) - 8192))
    elif how == "half":
        path.write_bytes(data[: len(data) // 2])
    elif how == "text":
        path.write_text("no database")
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99" if how == "version" else "DROP TABLE runs")
        db.close()


def test_index_in_read_only_folder_still_finds_and_warns(
    words: FulltextIndex, caplog: pytest.LogCaptureFixture
) -> None:
    """Where nothing can be written, what is there is found, and that is said."""
    words.put(A, "1", entries("one plan"), keep=False)
    words.close()
    path = words.lock.removesuffix(".lock")
    with read_only(Path(path).parent), FulltextIndex(path) as fixed:
        assert len(find(fixed, "plan")) == 1
        assert fixed.is_read_only
    assert "new messages are not found" in caplog.text


def test_index_falls_back_to_memory_when_folder_cannot_exist(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where there cannot be an index, one lasts as long as the process, and that is said."""
    (tmp_path / "file").write_text("in the way")
    with FulltextIndex(str(tmp_path / "file/words.sqlite3")) as words:
        words_were = words.known()
        words.put(A, "1", entries("one plan"), keep=False)
        assert (words_were, len(find(words, "plan"))) == ({}, 1)
    assert "cannot be used, so this command takes longer" in caplog.text


def test_put_on_full_disk_fails_whole_and_keeps_earlier_texts(tmp_path: Path) -> None:
    """On a full disk an addition fails whole; what was there is found, and later all is."""
    size = ("-t", "tmpfs", "-o", "size=4m", "none")
    with mounted(tmp_path / "disk", *size) as disk, FulltextIndex(str(disk / "w.sqlite3")) as words:
        words.put(A, "1", entries("one plan"), keep=False)
        filler = fill(disk, 4096)
        much = entries(*(f"other words {n} " * 50 for n in range(3000)))
        with pytest.raises(sqlite3.OperationalError, match="full"):
            words.put(B, "1", much, keep=False)
        assert (len(find(words, "plan")), words.known()) == (1, {A: "1"})
        filler.unlink()
        words.put(B, "1", much[:50], keep=False)
        assert find(words, "other")


def test_put_with_keep_fails_after_other_process_discards_index(words: FulltextIndex) -> None:
    """A file that another process threw away is not written to any more."""
    words.put(A, "1", entries("one plan"), keep=False)
    with FulltextIndex(words.lock.removesuffix(".lock")) as other:
        other.discard()
    with pytest.raises(IndexRebuiltError):
        words.put(A, "2", entries("more", first=2), keep=True)
    words.put(A, "2", entries("one plan", "more"), keep=False)
    assert len(find(words, "plan")) == 1


def test_index_never_writes_through_symbolic_link(tmp_path: Path) -> None:
    """A link where the index should be is not written through."""
    (tmp_path / "target").write_text("precious")
    os.symlink(tmp_path / "target", tmp_path / "words.sqlite3")
    with FulltextIndex(str(tmp_path / "words.sqlite3")) as words:
        assert words.known() == {}
        words.put(A, "1", entries("one plan"), keep=False)
        assert find(words, "plan")
    assert (tmp_path / "target").read_text() == "precious"


def test_second_open_in_process_keeps_locks_of_first_connection(
    words: FulltextIndex, tmp_path: Path
) -> None:
    """Opening it again in the same process leaves the locks of the first one alone."""
    path = words.lock.removesuffix(".lock")
    words.put(A, "1", entries("one plan"), keep=False)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    with FulltextIndex(path) as second:
        assert find(second, "plan")
    probe = tmp_path / "probe.py"
    probe.write_text(
        "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], timeout=0)\n"
        "try:\n    db.execute('BEGIN IMMEDIATE')\nexcept sqlite3.OperationalError:\n    sys.exit(9)"
    )
    done = subprocess.run([sys.executable, probe, path], check=False)
    db.close()
    assert done.returncode == 9


def test_very_long_texts_and_texts_with_nuls_are_indexed(words: FulltextIndex) -> None:
    """A million characters in one text, and a text with NULs, are texts like others."""
    words.put(A, "1", entries("long " * 200_000, "a\0b\0c", "\\u0000 literal"), keep=False)
    assert [spot.number for spot in find(words, '"b c"')] == [2]
    assert [spot.number for spot in find(words, "literal")] == [3]
    shutil.rmtree(Path(words.lock).parent)
    assert not find(words, "literal")


def test_texts_that_are_no_lines_are_stored_and_deleted_with_their_conversation(
    words: FulltextIndex,
) -> None:
    second = TextEntry(2, "user", 2, "zwei plane", shown="zwei Pläne")
    words.put(A, "1", [TextEntry(1, "user", 1, "one plan"), second], keep=False)
    words.put(B, "1", entries("a line"), keep=False)
    (match,) = find(words, "plane")
    assert words.stored_texts(match.id) == (1, ["one plan", "zwei Pläne"])
    words.drop([A])
    assert words.stored_texts(match.id)[1] == []


def test_damaged_stored_texts_are_left_out(words: FulltextIndex) -> None:
    words.put(A, "1", [TextEntry(1, "user", 1, "one plan")], keep=False)
    with sqlite3.connect(words.path) as db:
        db.execute("UPDATE texts SET packed = x'00ff'")
    assert words.stored_texts(1) == (1, [])
