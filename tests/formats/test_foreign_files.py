"""What files hold that we did not write: unknown keys, odd numbers, other versions."""

import json
from pathlib import Path

import pytest

from cortext.errors import NewerVersionError
from cortext.model import json_codec as codec
from cortext.model.session import Session
from cortext.stores.port import SessionStore
from cortext.testing.suite_base import message, session
from tests.stores.files import KINDS, Place


@pytest.fixture(params=KINDS)
def foreign_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


def edit_head(place: Place, **changes: object) -> None:
    """Change keys of the head, wherever it stands."""
    data = place.head.read_bytes()
    first, newline, rest = data.partition(b"\n") if place.kind == "log" else (data, b"", b"")
    head = {**json.loads(first), **changes}
    place.head.write_bytes(json.dumps(head).encode() + newline + rest)


def saved(place: Place) -> SessionStore:
    store = place.open()
    store.save(session("s", message("one", id="a")))
    return place.open()


def test_unknown_keys_survive_save_and_checkpoint(foreign_place: Place) -> None:
    """A key that we do not know is in the file after a save, a checkpoint and a save again."""
    saved(foreign_place)
    edit_head(foreign_place, **{"x-future": {"deep": [1]}, "extra": "theirs"})
    store = foreign_place.open()
    for verb in (store.save, store.checkpoint, store.save):
        found = store.load("s")
        assert found.extra == {"x-future": {"deep": [1]}, "extra": "theirs"}
        verb(found)
    data = foreign_place.head.read_bytes()
    head = json.loads(data.split(b"\n")[0] if foreign_place.kind == "log" else data)
    assert (head["x-future"], head["extra"]) == ({"deep": [1]}, "theirs")


def test_nan_reads_as_null_and_is_reported(foreign_place: Place) -> None:
    """NaN in a file is no reason to lose the rest of it."""
    saved(foreign_place)
    edit_head(foreign_place, metadata={"n": float("nan"), "i": float("-inf"), "k": 1})
    reading = foreign_place.open().read("s")
    assert reading.session.metadata == {"n": None, "i": None, "k": 1}
    assert [(d.detail, d.fatal, d.path) for d in reading.damages] == [
        ("NaN is read as null", False, str(foreign_place.head)),
        ("-Infinity is read as null", False, str(foreign_place.head)),
    ]
    assert foreign_place.open().load("s") == reading.session


@pytest.mark.parametrize("version", ["2.0", "2", 2, 2.0, "10.1"])
def test_newer_version_is_refused_by_load_and_read(foreign_place: Place, version: object) -> None:
    """By load and by read, with both versions in the sentence; the file stays as it is."""
    saved(foreign_place)
    edit_head(foreign_place, version=version)
    before = foreign_place.head.read_bytes()
    store = foreign_place.open()
    for verb in (store.load, store.read):
        with pytest.raises(NewerVersionError) as caught:
            verb("s")
        assert (caught.value.found, caught.value.known) == (str(version), "1.0")
        assert (caught.value.path, bool(caught.value.hint)) == (str(foreign_place.head), True)
    assert foreign_place.head.read_bytes() == before


def test_newer_version_is_never_overwritten(foreign_place: Place) -> None:
    """Neither save nor checkpoint nor append touches a file of a later release."""
    saved(foreign_place)
    edit_head(foreign_place, version="2.0")
    before = foreign_place.files()
    for verb in (foreign_place.open().save, foreign_place.open().checkpoint):
        with pytest.raises(NewerVersionError):
            verb(session("s", message("mine")))
    with pytest.raises(NewerVersionError):
        foreign_place.open().append("s", message("mine"))
    assert foreign_place.files() == before


def test_unparsable_newer_version_raises_newer_version_error(foreign_place: Place) -> None:
    """A later release may have other fields: that is no corruption."""
    saved(foreign_place)
    edit_head(
        foreign_place, version="3.0", created_at={"odd": 1}, title=5, messages={}, tool_history=0
    )
    store = foreign_place.open()
    for verb in (store.load, store.read):
        with pytest.raises(NewerVersionError):
            verb("s")


@pytest.mark.parametrize("version", ["1.0", "1.9", "0.9", 1, None, True, "odd", ""])
def test_older_and_same_major_versions_are_read(foreign_place: Place, version: object) -> None:
    """Older ones, later ones of this major number, none at all."""
    saved(foreign_place)
    edit_head(foreign_place, version=version)
    assert foreign_place.open().load("s").message_count == 1


def test_record_without_timestamp_is_equal_at_every_load(foreign_place: Place) -> None:
    """A record that lacks its timestamp never gets the time of the reading."""
    saved(foreign_place)
    data = foreign_place.lines.read_bytes()
    bare = json.dumps({"role": "user", "content": "untimed", "id": "u"}).encode()
    if foreign_place.kind == "document":
        foreign_place.lines.write_bytes(
            data.replace(b'"messages":[\n', b'"messages":[\n' + bare + b",\n")
        )
    else:
        mark = b'{"type":"turn",' if foreign_place.kind == "log" else b"{"
        foreign_place.lines.write_bytes(data + mark + bare[1:] + b"\n")
    first, second = foreign_place.open().read("s"), foreign_place.open().read("s")
    assert first == second
    assert len(first.session.messages) + len(first.damages) >= 2


@pytest.mark.parametrize(
    ("data", "value", "notes"),
    [
        (b"NaN", None, ["NaN is read as null"]),
        (b"[1e999, -1e999]", [None, None], 2),
        (b"\xef\xbb\xbf{}", {}, ["starts with a byte order mark"]),
        (b'"\\ud800"', "\ud800", []),
        (b'"\\udc00\\ud800"', "\udc00\ud800", []),
        (b"123456789012345678901234567890", 123456789012345678901234567890, []),
    ],
)
def test_decode_reads_non_json_numbers_as_null_and_reports_them(
    data: bytes, value: object, notes: list[str] | int
) -> None:
    """What JSON has no word for is read as null and said."""
    said: list[str] = []
    assert codec.decode(data, said) == value
    assert (len(said) if isinstance(notes, int) else said) == notes


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"{'a':1}", b'"\\ud8', b"nul", b"\0", b"1 2"])
def test_decode_raises_value_error_for_invalid_json(data: bytes) -> None:
    """One kind of error, with a sentence."""
    with pytest.raises(ValueError, match=r"not JSON|not UTF-8"):
        codec.decode(data)


def test_session_from_json_rejects_values_that_are_not_sessions() -> None:
    """from_json says what it expected."""
    for text in ("[]", "null", "1", "{}", '{"created_at": 5, "messages": {}}'):
        with pytest.raises(ValueError):
            Session.from_json(text)
