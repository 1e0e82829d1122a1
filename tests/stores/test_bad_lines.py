"""Odd lines among good ones: each hides at most itself."""

from pathlib import Path

import pytest

from cortext.errors import SessionCorruptedError
from cortext.testing.suite_base import message, session, texts
from tests.stores.files import KINDS, LINES, Place


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(
    "bad",
    [b"garbage", b"{}", b"null", b"[1]", b'{"role":"user"}', b'{"role":"human","content":"x"}',
     b"\xff\xfe", b"\0" * 100, b'{"role":"user","content":"x","timestamp":"2025-11-22T10:30:00Z"',
     b"half\0\0half"],
    ids=repr,
)  # fmt: skip
def test_bad_line_hides_only_itself_and_is_named_by_load(
    kind: str, bad: bytes, tmp_path: Path
) -> None:
    """It hides one line: load names file, line and what to do; read gives the rest."""
    place = Place(kind, tmp_path)
    place.open().save(session("s", message("one"), message("two", 1)))
    lines = place.lines.read_bytes().split(b"\n")
    at = len(lines) - 2
    place.lines.write_bytes(b"\n".join([*lines[:at], bad, *lines[at:]]))
    before = place.files()
    with pytest.raises(SessionCorruptedError) as caught:
        place.open().load("s")
    error = caught.value
    assert (error.path, error.line, bool(error.hint)) == (str(place.lines), at + 1, True)
    assert f"{place.lines}, line {at + 1}: " in str(error)
    reading = place.open().read("s")
    assert texts(reading.session.messages) == ["one", "two"]
    assert [(d.path, d.line, d.fatal) for d in reading.damages] == [(error.path, at + 1, True)]
    assert texts(place.open().tail("s", 5)) == ["one", "two"]
    assert place.files() == before
    place.open().append("s", message("three", 2))
    assert texts(place.open().read("s").session.messages) == ["one", "two", "three"]
    assert bad in place.lines.read_bytes().split(b"\n")


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("where", ["start", "middle", "before the newline", "own line", "end"])
def test_run_of_nuls_hides_at_most_one_line_and_is_reported(
    kind: str, where: str, tmp_path: Path
) -> None:
    """NULs at any place: the rest loads, and the gap is named."""
    place = Place(kind, tmp_path)
    place.open().save(session("s", message("one"), message("two", 1)))
    lines = place.lines.read_bytes().split(b"\n")
    last, run = len(lines) - 2, b"\0" * 512
    cut = len(lines[last]) // 2
    changed = {
        "start": run + lines[last],
        "middle": lines[last][:cut] + run + lines[last][cut:],
        "before the newline": lines[last] + run,
        "own line": run + b"\n" + lines[last],
        "end": lines[last] + b"\n" + run,
    }
    end = b"" if where == "end" else b"\n"
    place.lines.write_bytes(b"\n".join([*lines[:last], changed[where]]) + end)
    reading = place.open().read("s")
    expected = ["one"] if where == "middle" else ["one", "two"]
    assert texts(reading.session.messages) == expected
    assert len(reading.damages) == 1
    assert reading.damages[0].line == (last + 2 if where == "end" else last + 1)
    assert reading.damages[0].fatal is (where != "end")


@pytest.mark.parametrize("kind", KINDS)
def test_byte_order_mark_is_skipped_and_reported(kind: str, tmp_path: Path) -> None:
    """An editor's BOM is passed over and said."""
    place = Place(kind, tmp_path)
    place.open().save(session("s", message("one")))
    for path in {place.head, place.lines}:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    reading = place.open().read("s")
    assert texts(reading.session.messages) == ["one"]
    assert {(d.detail, d.fatal) for d in reading.damages} == {
        ("starts with a byte order mark", False)
    }
    assert texts(place.open().load("s").messages) == ["one"]
    place.open().append("s", message("two", 1))
    assert texts(place.open().load("s").messages) == ["one", "two"]


@pytest.mark.parametrize("kind", KINDS)
def test_unicode_line_breaks_do_not_end_lines_and_crlf_does(kind: str, tmp_path: Path) -> None:
    """U+2028 and its like in a text are no ends of lines; CRLF ends one."""
    place = Place(kind, tmp_path)
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\ni"
    place.open().save(session("s", message(odd)))
    place.open().append("s", message(odd, 1))
    assert texts(place.open().load("s").messages) == [odd, odd]
    assert texts(place.open().tail("s", 2)) == [odd, odd]
    place.lines.write_bytes(place.lines.read_bytes().replace(b"\n", b"\r\n"))
    assert texts(place.open().load("s").messages) == [odd, odd]


@pytest.mark.parametrize("kind", LINES)
def test_lone_surrogates_are_kept_and_nan_is_read_as_null(kind: str, tmp_path: Path) -> None:
    """Lone surrogates are read as such; NaN as null, and reported with its line."""
    place = Place(kind, tmp_path)
    place.open().save(session("s"))
    first = place.lines.read_bytes().count(b"\n") + 1
    mark = b'{"type":"turn",' if kind == "log" else b"{"
    line = b'"role":"user","content":"\\ud800","timestamp":"2025-11-22T10:30:00Z",'
    with place.lines.open("ab") as file:
        file.write(mark + line + b'"id":"a"}\n' + mark + line + b'"structured_data":[NaN]}\n')
    reading = place.open().read("s")
    assert texts(reading.session.messages) == ["\ud800", "\ud800"]
    assert reading.session.messages[1].structured_data == [None]
    assert [(d.detail, d.line, d.fatal) for d in reading.damages] == [
        ("NaN is read as null", first + 1, False)
    ]
    assert place.open().load("s") == reading.session


@pytest.mark.parametrize("kind", LINES)
def test_duplicate_id_in_lines_is_reported_and_not_fatal(kind: str, tmp_path: Path) -> None:
    """A line that stands twice: nothing is dropped in silence."""
    place = Place(kind, tmp_path)
    place.open().save(session("s", message("one", id="a")))
    data = place.lines.read_bytes()
    line = data.rstrip(b"\n").split(b"\n")[-1] + b"\n"
    place.lines.write_bytes(data + line)
    reading = place.open().read("s")
    assert {item.id for item in reading.session.messages} == {"a"}
    assert [(d.fatal, d.path) for d in reading.damages] == [(False, str(place.lines))]
    place.open().append("s", message("two", 1), message("again", 2, id="a"))
    assert texts(place.open().load("s").messages)[-1] == "two"


@pytest.mark.parametrize("kind", KINDS)
def test_line_of_64_megabytes_loads_with_its_neighbours(kind: str, tmp_path: Path) -> None:
    """It loads, its neighbours too, and the tail after it does not need it."""
    place = Place(kind, tmp_path)
    place.open().save(session("s", message("one"), message("x" * (64 << 20), 1), message("two", 2)))
    place.open().append("s", message("three", 3))
    found = place.open().load("s")
    assert [len(item.content) for item in found.messages] == [3, 64 << 20, 3, 5]
    assert texts(place.open().tail("s", 2)) == ["two", "three"]
