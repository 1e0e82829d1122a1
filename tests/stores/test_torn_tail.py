"""A torn last line: everything whole is read, the loss is said, the next append is clean."""

import logging
from pathlib import Path

import pytest

from cortext.testing.suite_base import message, session, texts
from tests.stores.files import LINES, Place


@pytest.fixture(params=LINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    place = Place(request.param, tmp_path)
    place.open().save(session("s", message("one"), message("zwei é 😀", 1)))
    place.open().append("s", message("last: é \u2028 😀", 2, id="last"))
    return place


def last_line(place: Place) -> tuple[bytes, bytes]:
    """What stands before the last line, and that line."""
    data = place.lines.read_bytes()
    cut = data.rstrip(b"\n").rfind(b"\n") + 1
    return data[:cut], data[cut:]


def test_cut_at_every_byte(place: Place) -> None:
    """Wherever the last line ends: whole messages load, the loss is reported, append mends it."""
    before, line = last_line(place)
    for length in range(1, len(line) - 1):
        torn = line[:length]
        place.lines.write_bytes(before + torn)
        reading = place.open().read("s")
        assert texts(reading.session.messages) == ["one", "zwei é 😀"]
        assert [(d.fatal, d.path, "torn" in d.detail) for d in reading.damages] == [
            (False, str(place.lines), True)
        ]
        assert reading.damages[0].line == before.count(b"\n") + 1
        assert texts(place.open().load("s").messages) == ["one", "zwei é 😀"]
        assert texts(place.open().tail("s", 1)) == ["zwei é 😀"]
        assert place.lines.read_bytes() == before + torn
        place.open().append("s", message("next", 3))
        assert place.kept("torn") == [torn]
        assert place.open().read("s").damages == []
        assert texts(place.open().load("s").messages) == ["one", "zwei é 😀", "next"]
        next(place.root.rglob("*.torn")).unlink()


def test_whole_line_without_its_newline_is_kept(place: Place) -> None:
    """Only the newline is missing: the message loads, and append ends the line."""
    before, line = last_line(place)
    place.lines.write_bytes(before + line[:-1])
    reading = place.open().read("s")
    assert reading.session.messages[-1].id == "last"
    assert [(d.detail, d.fatal) for d in reading.damages] == [
        ("the last line has no newline", False)
    ]
    assert place.open().tail("s", 1)[0].id == "last"
    place.open().append("s", message("next", 3))
    assert place.kept("torn") == []
    assert texts(place.open().load("s").messages)[2:] == ["last: é \u2028 😀", "next"]


def test_retry_after_a_line_without_its_newline(place: Place) -> None:
    """The message is there, so the retry of its append stores nothing, and ends the line."""
    before, line = last_line(place)
    place.lines.write_bytes(before + line[:-1])
    place.open().append("s", message("again", 2, id="last"))
    assert place.lines.read_bytes() == before + line


def test_retry_after_a_torn_line(place: Place) -> None:
    """The retry of what was torn stores it."""
    before, line = last_line(place)
    place.lines.write_bytes(before + line[: len(line) // 2])
    place.open().append("s", message("last: é \u2028 😀", 2, id="last"))
    assert place.lines.read_bytes() == before + line


def test_every_torn_tail_is_kept(place: Place) -> None:
    """One crash after the other: no set-aside tail takes the place of another."""
    for number in range(4):
        with place.lines.open("ab") as file:
            file.write(b"torn %d" % number)
        place.open().append("s", message(f"after {number}", 10 + number))
    assert sorted(place.kept("torn")) == [b"torn 0", b"torn 1", b"torn 2", b"torn 3"]
    assert place.open().load("s").message_count == 7


def test_torn_tail_is_mended_by_an_open_store_too(place: Place) -> None:
    """Also by a store that had the file open when another writer died."""
    store = place.open()
    store.append("s", message("mine", 3))
    with place.lines.open("ab") as file:
        file.write(b'{"role":"us')
    store.append("s", message("next", 4))
    assert place.kept("torn") == [b'{"role":"us']
    assert texts(store.load("s").messages)[-2:] == ["mine", "next"]


def test_torn_tail_is_logged_by_load(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """A strict load leaves it out and says so, once."""
    with place.lines.open("ab") as file:
        file.write(b"torn")
    with caplog.at_level(logging.WARNING, "cortext"):
        place.open().load("s")
    assert len(caplog.messages) == 1
    assert str(place.lines) in caplog.messages[0]
    assert "torn" in caplog.messages[0]


@pytest.mark.parametrize("verb", ["save", "checkpoint"])
def test_torn_tail_survives_a_write_of_the_whole(place: Place, verb: str) -> None:
    """Its bytes are still somewhere after a save, and after a checkpoint."""
    with place.lines.open("ab") as file:
        file.write(b"precious bytes")
    store = place.open()
    found = store.load("s")
    found.title = "new"
    getattr(store, verb)(found)
    assert any(b"precious bytes" in data for data in place.files().values())
    store.append("s", message("next", 3))
    assert texts(place.open().load("s").messages)[-1] == "next"
    assert place.open().load("s").title == "new"


def test_torn_tail_of_nuls(place: Place) -> None:
    """Zero-filled blocks after a power cut are a torn tail."""
    with place.lines.open("ab") as file:
        file.write(b"\0" * 5000)
    assert place.open().load("s").message_count == 3
    place.open().append("s", message("next", 3))
    assert place.kept("torn") == [b"\0" * 5000]
    assert place.open().read("s").damages == []


def test_half_line_then_the_same_line_again(place: Place) -> None:
    """What a writer without our care leaves: the half is one damage, the whole line is read."""
    before, line = last_line(place)
    place.lines.write_bytes(before + line[:20] + b"\n" + line)
    reading = place.open().read("s")
    assert reading.session.messages[-1].id == "last"
    assert [(d.line, d.fatal) for d in reading.damages] == [(before.count(b"\n") + 1, True)]
