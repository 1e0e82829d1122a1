"""Damage: contained, named, and never made worse by looking at it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.testing.suite_base import message, session, texts
from tests.stores.files import KINDS, Place

TARGETS = [("document", "head"), ("log", "head"), ("workspace", "head"), ("workspace", "lines")]
CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "newline": b"\n",
    "object": b"{}",
    "object line": b"{}\n",
    "null": b"null\n",
    "list": b"[1]\n",
    "number": b"12\n",
    "text": b'"text"\n',
    "binary": bytes(range(256)) * 20,
    "NULs": b"\0" * 4096,
    "one NUL": b"\0",
    "half": b'{"id":"s","created_at":"2025',
    "BOM only": b"\xef\xbb\xbf",
    "latin-1": b'{"id":"s","title":"\xe9"}\n',
    "UTF-16": '{"id":"s"}'.encode("utf-16"),
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 50_000,
    "bad time": b'{"version":"1.0","id":"s","created_at":"garbage","messages":[\n]}\n',
    "bad head": b'{"version":"1.0","id":"s","title":5,"created_at":"2025-11-22T10:30:00Z"}\n',
    "bad metadata line": b'{"type":"metadata","session_id":"s","created_at":1234567890123456789}\n',
    "bad messages": b'{"id":"s","created_at":"2025-11-22T10:30:00Z","messages":{"a":1}}',
    "bad calls": b'{"created_at":"2025-11-22T10:30:00Z","tool_invocations":[{"position":"x"}]}',
    "bad count": b'{"created_at":"2025-11-22T10:30:00Z","message_count":"many"}\n',
    "huge time": b'{"type":"metadata","created_at":' + b"9" * 400 + b"}\n",
    "huge year": b'{"created_at":"99999-01-01T00:00:00Z"}\n',
    "digits": b'{"created_at":' + b"9" * 5000 + b"}\n",
}


@pytest.fixture(params=TARGETS, ids="-".join)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Path]:
    """A store with one session, and the file of it that will be damaged."""
    kind, part = request.param
    place = Place(kind, tmp_path)
    store = place.open()
    store.save(session("s", message("one", id="a")))
    store.append("s", message("two", 1, id="b"))
    return place, getattr(place, part)


def outcome(verb: Callable[[], object]) -> str:
    """What a call ends with: one of our errors, or a value; another error is the finding."""
    try:
        verb()
    except CortextError as error:
        return type(error).__name__
    return "value"


@pytest.mark.parametrize("content", CONTENTS)
def test_read_of_any_content_changes_no_file_and_reports_damage(
    target: tuple[Place, Path], content: str
) -> None:
    """Only our errors, no changed byte, and damage is either raised or listed."""
    place, path = target
    path.write_bytes(CONTENTS[content])
    before = place.files()
    for verb in ("load", "read", "exists"):
        outcome(lambda verb=verb: getattr(place.open(), verb)("s"))
    outcome(lambda: place.open().tail("s", 5))
    assert place.open().list_session_ids() == ["s"]
    assert place.files() == before
    reading = place.open().read("s")
    lost = 2 - len(reading.session.messages)
    assert lost == 0 or reading.damages or path.name == "messages.jsonl"
    fatal = [damage for damage in reading.damages if damage.fatal]
    assert outcome(lambda: place.open().load("s")) == (
        "SessionCorruptedError" if fatal else "value"
    )
    assert {damage.path for damage in reading.damages} <= {str(path)}


@pytest.mark.parametrize("content", CONTENTS)
def test_save_over_damaged_file_keeps_its_bytes_as_corrupt(
    target: tuple[Place, Path], content: str
) -> None:
    """A save over what cannot be read keeps its bytes in *.corrupt, and the session loads."""
    place, path = target
    path.write_bytes(CONTENTS[content])
    damaged = any(damage.fatal for damage in place.open().read("s").damages)
    mine = session("s", message("new", 5))
    place.open().save(mine)
    assert place.open().load("s") == mine
    assert [CONTENTS[content]] * damaged == place.kept("corrupt")[: int(damaged)]


@pytest.mark.parametrize("content", CONTENTS)
def test_checkpoint_and_append_lose_no_unreadable_lines(
    target: tuple[Place, Path], content: str
) -> None:
    """They work or are refused; lines that could not be read are somewhere all the same."""
    place, path = target
    data = CONTENTS[content]
    path.write_bytes(data)
    damaged = any(damage.fatal for damage in place.open().read("s").damages)
    outcome(lambda: place.open().append("s", message("new", 5)))
    outcome(lambda: place.open().checkpoint(session("s")))
    outcome(lambda: place.open().append("s", message("newer", 6)))
    everything = b"\n".join(place.files().values())
    assert [line for line in data.split(b"\n") if damaged and line not in everything] == []
    outcome(lambda: place.open().read("s"))


def test_missing_file_is_reported_as_not_found_or_damage(target: tuple[Place, Path]) -> None:
    """A file that is gone: the session is not found, or the missing part is named."""
    place, path = target
    path.unlink()
    if place.kind == "workspace":
        reading = place.open().read("s")
        assert [(d.path, d.fatal) for d in reading.damages] == [(str(path), True)]
        with pytest.raises(SessionCorruptedError):
            place.open().load("s")
    else:
        with pytest.raises(SessionNotFoundError):
            place.open().load("s")


def test_directory_in_place_of_file_raises_corrupted_error(target: tuple[Place, Path]) -> None:
    """SessionCorruptedError that says where; what the directory holds is untouched."""
    place, path = target
    path.unlink()
    path.mkdir()
    (path / "precious").write_text("x", encoding="utf-8")
    with pytest.raises(SessionCorruptedError) as caught:
        place.open().load("s")
    assert (caught.value.path, bool(caught.value.hint)) == (str(path), True)
    for verb in ("read", "exists"):
        outcome(lambda verb=verb: getattr(place.open(), verb)("s"))
    outcome(lambda: place.open().append("s", message("x")))
    outcome(lambda: place.open().save(session("s")))
    outcome(lambda: place.open().checkpoint(session("s")))
    place.open().list_session_ids()
    found = list(place.root.rglob("precious"))
    assert [item.read_text(encoding="utf-8") for item in found] == ["x"]


def test_fifo_in_place_of_file_raises_corrupted_error_at_once(target: tuple[Place, Path]) -> None:
    """A pipe is not waited for: the same error at once."""
    place, path = target
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SessionCorruptedError) as caught:
        place.open().load("s")
    assert caught.value.path == str(path)
    outcome(lambda: place.open().read("s"))
    outcome(lambda: place.open().append("s", message("x")))
    outcome(lambda: place.open().tail("s", 1))
    assert path.is_fifo()


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_session_hides_no_other_session(kind: str, tmp_path: Path) -> None:
    """One zero-filled session, and odd files beside it: all others are listed and load."""
    place = Place(kind, tmp_path)
    store = place.open()
    store.save(session("s"))
    store.save(session("good", message("one")))
    place.head.write_bytes(b"\0" * 4096)
    for name in (
        ".h.json",
        "x.json.tmp",
        ".x.jsonl.1-2.tmp",
        "note.txt",
        "-y.json",
        "-y.jsonl",
    ):
        (tmp_path / name).write_bytes(b"foreign")
    assert place.open().list_session_ids() == ["good", "s"]
    assert texts(place.open().load("good").messages) == ["one"]
    assert (tmp_path / "note.txt").read_bytes() == b"foreign"
