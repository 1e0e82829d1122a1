"""Packs of rows: always what the table has, whatever was done to it and whoever filled them."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from cortext.catalog import packed_rows
from cortext.catalog.database import Database, Unreadable
from cortext.catalog.packed_rows import Packs

PACKS = Packs("things", ("name", "text"), ("size", "time"), where="text <> ''")
TABLE = """CREATE TABLE things (number INTEGER PRIMARY KEY, name TEXT UNIQUE, text BLOB,
    size INTEGER, time INTEGER)"""
PUT = """INSERT INTO things (name, text, size, time) VALUES (?,?,?,?) ON CONFLICT (name) DO UPDATE
    SET text = excluded.text, size = excluded.size, time = excluded.time"""
COUNT = "SELECT count(*) FROM things_packs"


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    database = Database(":memory:", schema=f"{TABLE};{PACKS.schema}", version=1)
    with closing(database):
        yield database.run(lambda db: db)


def packed(db: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
    (names, texts), (sizes, times) = PACKS.load(db)
    return [*zip(names, texts, sizes, times, strict=True)]


def there(db: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
    query = (
        "SELECT name, CAST(text AS TEXT), size, time FROM things WHERE text <> '' ORDER BY rowid"
    )
    return db.execute(query).fetchall()


@pytest.mark.parametrize("seed", range(5))
def test_packs_are_what_the_table_has(db: sqlite3.Connection, seed: int) -> None:
    """Through insertions, changes, removals and fills in any order."""
    draw = random.Random(seed)
    for step in range(3000):
        name, text = f"n{draw.randrange(900)}", draw.choice(("", "x", "日本", "a\nb" * 9))
        if draw.random() < 0.3:
            db.execute("DELETE FROM things WHERE name = ?", (name,))
        else:
            db.execute(PUT, (name, text, step, draw.randrange(-(2**63), 2**63)))
        if draw.random() < 0.01:
            PACKS.fill(db)
        if step % 100 == 0:
            assert packed(db) == there(db)
    assert len(packed(db)) > 256


def test_a_change_empties_one_pack_and_moves_nothing(db: sqlite3.Connection) -> None:
    """So that there are as many packs as the rows need, however often one changes."""
    db.executemany(PUT, [(f"n{n}", "x", n, n) for n in range(1000)])
    PACKS.fill(db)
    assert db.execute(COUNT).fetchone() == (16,)
    for n in range(1000):
        db.execute(PUT, ("n7", "y", n, n))
    assert db.execute(f"{COUNT} WHERE texts IS NULL").fetchone() == (1,)
    PACKS.fill(db)
    assert db.execute(COUNT).fetchone() == (16,)
    assert packed(db)[7] == ("n7", "y", 999, 999)


def test_nothing_is_left_of_what_was_removed(db: sqlite3.Connection) -> None:
    """No pack without rows, and in the others no word of what is gone."""
    db.executemany(PUT, [(f"n{n}", f"word{n}", n, n) for n in range(600)])
    PACKS.fill(db)
    db.execute("DELETE FROM things WHERE size > 255 OR name = 'n3'")
    PACKS.fill(db)
    left = b"".join(texts for (texts,) in db.execute("SELECT texts FROM things_packs"))
    assert b"word2\0" in left
    assert b"word3\0" not in left
    assert b"word300" not in left
    db.execute("DELETE FROM things")
    PACKS.fill(db)
    assert (db.execute(COUNT).fetchone(), packed(db)) == ((0,), [])


def test_what_was_not_listed_comes_back(db: sqlite3.Connection) -> None:
    """Also where its pack was dropped, because none of its rows was."""
    db.execute(PUT, ("n", "", 1, 1))
    PACKS.fill(db)
    assert (db.execute(COUNT).fetchone(), packed(db)) == ((0,), [])
    db.execute(PUT, ("n", "x", 2, 2))
    assert packed(db) == [("n", "x", 2, 2)]


def test_a_sign_that_separates_is_a_space_in_a_text(db: sqlite3.Connection) -> None:
    """One text from a hostile file does not move those after it."""
    db.executemany(PUT, [("a", "x\0\0y", 1, 2), ("b", "z", 3, 4)])
    expected = [("a", "x  y", 1, 2), ("b", "z", 3, 4)]
    assert packed(db) == expected
    PACKS.fill(db)
    assert packed(db) == expected


def test_what_is_too_large_to_keep_is_read_all_the_same(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite has a limit for one value, and rows beside each other may have more."""
    monkeypatch.setattr(packed_rows, "_LARGEST", 1000)
    db.executemany(PUT, [(f"n{n}", "x" * 200, n, n) for n in range(64)])
    PACKS.fill(db)
    assert db.execute(f"{COUNT} WHERE texts IS NULL").fetchone() == (1,)
    assert packed(db) == there(db)


def test_a_text_that_is_not_utf_8_is_told(db: sqlite3.Connection) -> None:
    """The caller knows what else it may be."""
    db.execute(PUT, ("a", b"\xff", 1, 2))
    with pytest.raises(UnicodeDecodeError):
        packed(db)


@pytest.mark.parametrize(
    "damage",
    [
        "texts = x'61'",
        "texts = 'text'",
        "numbers = NULL",
        "texts = NULL, number = number + (1 << 57)",
        "numbers = x'00'",
        "numbers = 'text'",
        "numbers = x'0000000000000000'",
        "numbers = 7",
    ],
)
def test_a_pack_that_makes_no_sense_is_unreadable(db: sqlite3.Connection, damage: str) -> None:
    """So that the database is made anew, and not one row is wrong."""
    db.executemany(PUT, [(f"n{n}", "x", n, n) for n in range(3)])
    PACKS.fill(db)
    db.execute(f"UPDATE things_packs SET {damage}")
    with pytest.raises(Unreadable):
        packed(db)


def test_a_row_that_makes_no_sense_is_unreadable(db: sqlite3.Connection) -> None:
    """Where a number should be and is none."""
    db.execute(PUT, ("a", "x", "many", 2))
    with pytest.raises(Unreadable):
        packed(db)
    with pytest.raises(Unreadable):
        PACKS.fill(db)
