"""A torn last line: everything whole is read, the loss is said, the next append is clean."""

import logging
from pathlib import Path

import pytest

from cortext.testing.suite_base import message, session, texts
from tests.stores.files import LINES, Place


@pytest.fixture(params=LINES)
def torn_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    place = Place(request.param, tmp_path)
    place.open().save(session("s", message("one"), message("zwei é 😀", 1)))
    place.open().append("s", message("last: é \u2028 😀", 2, id="last"))
    return place


def last_line(place: Place) -> tuple[bytes, bytes]:
    """What stands before the last line, and that line."""
    data = place.lines.read_bytes()
    cut = data.rstrip(b"\n").rfind(b"\n") + 1
    return data[:cut], data[cut:]


def test_last_line_cut_at_any_byte_is_reported_and_append_repairs(torn_place: Place) -> None:
    """Wherever the last line ends: whole messages load, the loss is reported, append mends it."""
    before, line = last_line(torn_place)
    for length in range(1, len(line) - 1):
        torn = line[:length]
        torn_place.lines.write_bytes(before + torn)
        reading = torn_place.open().read("s")
        assert texts(reading.session.messages) == ["one", "zwei é 😀"]
        assert [(d.fatal, d.path, "incomplete" in d.detail) for d in reading.damages] == [
            (False, str(torn_place.lines), True)
        ]
        assert reading.damages[0].line == before.count(b"\n") + 1
        assert texts(torn_place.open().load("s").messages) == ["one", "zwei é 😀"]
        assert texts(torn_place.open().tail("s", 1)) == ["zwei é 😀"]
        assert torn_place.lines.read_bytes() == before + torn
        torn_place.open().append("s", message("next", 3))
        assert torn_place.kept("torn") == [torn]
        assert torn_place.open().read("s").damages == []
        assert texts(torn_place.open().load("s").messages) == ["one", "zwei é 😀", "next"]
        next(torn_place.root.rglob("*.torn")).unlink()


def test_last_line_without_newline_is_loaded(torn_place: Place) -> None:
    """Only the newline is missing: the message loads, and append ends the line."""
    before, line = last_line(torn_place)
    torn_place.lines.write_bytes(before + line[:-1])
    reading = torn_place.open().read("s")
    assert reading.session.messages[-1].id == "last"
    assert [(d.detail, d.fatal) for d in reading.damages] == [
        ("the last line has no newline", False)
    ]
    assert torn_place.open().tail("s", 1)[0].id == "last"
    torn_place.open().append("s", message("next", 3))
    assert torn_place.kept("torn") == []
    assert texts(torn_place.open().load("s").messages)[2:] == ["last: é \u2028 😀", "next"]


def test_append_retry_completes_line_without_newline(torn_place: Place) -> None:
    """The message is there, so the retry of its append stores nothing, and ends the line."""
    before, line = last_line(torn_place)
    torn_place.lines.write_bytes(before + line[:-1])
    torn_place.open().append("s", message("again", 2, id="last"))
    assert torn_place.lines.read_bytes() == before + line


def test_append_retry_stores_torn_message(torn_place: Place) -> None:
    """The retry of what was torn stores it."""
    before, line = last_line(torn_place)
    torn_place.lines.write_bytes(before + line[: len(line) // 2])
    torn_place.open().append("s", message("last: é \u2028 😀", 2, id="last"))
    assert torn_place.lines.read_bytes() == before + line


def test_every_torn_tail_is_set_aside_under_own_name(torn_place: Place) -> None:
    """One crash after the other: no set-aside tail takes the place of another."""
    for number in range(4):
        with torn_place.lines.open("ab") as file:
            file.write(b"torn %d" % number)
        torn_place.open().append("s", message(f"after {number}", 10 + number))
    assert sorted(torn_place.kept("torn")) == [b"torn 0", b"torn 1", b"torn 2", b"torn 3"]
    assert torn_place.open().load("s").message_count == 7


def test_open_store_repairs_torn_tail_of_other_writer(torn_place: Place) -> None:
    """Also by a store that had the file open when another writer died."""
    store = torn_place.open()
    store.append("s", message("mine", 3))
    with torn_place.lines.open("ab") as file:
        file.write(b'{"role":"us')
    store.append("s", message("next", 4))
    assert torn_place.kept("torn") == [b'{"role":"us']
    assert texts(store.load("s").messages)[-2:] == ["mine", "next"]


def test_load_logs_torn_tail_once(torn_place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """A strict load leaves it out and says so, once."""
    with torn_place.lines.open("ab") as file:
        file.write(b"torn")
    with caplog.at_level(logging.WARNING, "cortext"):
        torn_place.open().load("s")
    assert len(caplog.messages) == 1
    assert str(torn_place.lines) in caplog.messages[0]
    assert "incomplete" in caplog.messages[0]


@pytest.mark.parametrize("verb", ["save", "checkpoint"])
def test_save_and_checkpoint_keep_bytes_of_torn_tail(torn_place: Place, verb: str) -> None:
    """Its bytes are still somewhere after a save, and after a checkpoint."""
    with torn_place.lines.open("ab") as file:
        file.write(b"precious bytes")
    store = torn_place.open()
    found = store.load("s")
    found.title = "new"
    getattr(store, verb)(found)
    assert any(b"precious bytes" in data for data in torn_place.files().values())
    store.append("s", message("next", 3))
    assert texts(torn_place.open().load("s").messages)[-1] == "next"
    assert torn_place.open().load("s").title == "new"


def test_zero_filled_tail_is_set_aside_as_torn(torn_place: Place) -> None:
    """Zero-filled blocks after a power cut are a torn tail."""
    with torn_place.lines.open("ab") as file:
        file.write(b"\0" * 5000)
    assert torn_place.open().load("s").message_count == 3
    torn_place.open().append("s", message("next", 3))
    assert torn_place.kept("torn") == [b"\0" * 5000]
    assert torn_place.open().read("s").damages == []


def test_half_line_before_same_line_is_one_damage(torn_place: Place) -> None:
    """What a writer without our care leaves: the half is one damage, the whole line is read."""
    before, line = last_line(torn_place)
    torn_place.lines.write_bytes(before + line[:20] + b"\n" + line)
    reading = torn_place.open().read("s")
    assert reading.session.messages[-1].id == "last"
    assert [(d.line, d.fatal) for d in reading.damages] == [(before.count(b"\n") + 1, True)]
