"""The decoders of our own files: four formats, and two files of settings."""

import os
from collections.abc import Iterator
from pathlib import Path

from cortext import Session, SessionIndex, SessionStorage, SessionSummary
from cortext.config import Config, user_file
from cortext.features.spawn import aurora_settings
from cortext.model import json_codec, message_dicts
from cortext.stores.folder import FolderStore
from cortext.stores.log import LogStore
from tests.fuzz.target import Feed, Files, Target, attempt
from tests.stores.files import Place

PARTS = b"\n\x1e\n"
"""Between two files of one input."""


def _log(folder: Path) -> Iterator[Feed]:
    place = Place("log", folder)
    files = Files(place.head)

    def feed(data: bytes) -> None:
        store = LogStore(folder)
        with files.holding(data):
            attempt(
                lambda: store.load("s"),
                lambda: store.read("s"),
                lambda: store.tail("s", 3),
                store.list_session_ids,
            )

    yield feed


def _folder(folder: Path) -> Iterator[Feed]:
    place = Place("workspace", folder)
    files = Files(place.head, place.lines)

    def feed(data: bytes) -> None:
        store = FolderStore(folder)
        head, _, lines = data.partition(PARTS)
        with files.holding(head, lines):
            attempt(
                lambda: store.load("s"),
                lambda: store.read("s"),
                lambda: store.tail("s", 3),
                store.list_session_ids,
            )

    yield feed


def _document(folder: Path) -> Iterator[Feed]:
    place = Place("document", folder)
    files = Files(place.head, folder / "s.backup")

    def feed(data: bytes) -> None:
        store = SessionStorage(folder)
        with files.holding(data, data):
            attempt(
                lambda: store.load("s"),
                lambda: store.load_or_none("s"),
                lambda: store.read("s"),
                lambda: store.summarize("s"),
                lambda: store.tail("s", 3),
            )
        try:
            Session.from_json(data)
        except ValueError:
            pass  # the contract of a value that is made of text

    yield feed


def _index(folder: Path) -> Iterator[Feed]:
    """The database behind an index, its export, and the values of its rows."""
    sessions = folder / "sessions"
    storage = SessionStorage(sessions)
    storage.save(Session("a", title="A", tags=["x"]))
    storage.save(Session("b", title="B"))
    kept = {path.name: path.read_bytes() for path in sessions.glob("[ab].json")}
    export, database = sessions / "index.json", sessions / ".cortext/index.sqlite3"
    SessionIndex(storage).close()

    def feed(data: bytes) -> None:
        for side in database.parent.glob("index.sqlite3*"):
            side.unlink()
        is_database = data.startswith(b"SQLite")
        (database if is_database else export).write_bytes(data)
        attempt(_listed)
        # What it shows is derived: the sessions are the truth, and stay.
        assert kept == {path.name: path.read_bytes() for path in sessions.glob("[ab].json")}
        if not is_database:
            _summaries(data)

    def _listed() -> None:
        index = SessionIndex(SessionStorage(sessions))
        try:
            attempt(
                index.list,
                index.count,
                lambda: index.get("a"),
                lambda: index.list(tags=["x"], search="a", owner=""),
            )
            assert index.rebuild() == 2
            assert [row.id for row in index.list(sort_by="title")] == ["a", "b"]
        finally:
            index.close()

    yield feed


def _summaries(data: bytes) -> None:
    try:
        rows = message_dicts.as_dict(message_dicts.as_dict(json_codec.decode(data)).get("sessions"))
        for row in rows.values():
            SessionSummary.from_dict(message_dicts.as_dict(row))
    except ValueError:
        pass  # the contract of a value that is made of a dict


def _config(folder: Path) -> Iterator[Feed]:
    """A person's settings and a workspace's."""
    own, theirs = Path(user_file()), folder / ".workspace/config.toml"
    files = Files(own, theirs)

    def feed(data: bytes) -> None:
        with files.holding(data, b""):
            attempt(lambda: Config.load(None))
        with files.holding(b"", data):
            attempt(lambda: Config.load(str(folder)))

    yield feed
    own.unlink()


def _aurora(folder: Path) -> Iterator[Feed]:
    files = Files(Path(os.environ["AURORA_HOME"], "config.json"))

    def feed(data: bytes) -> None:
        with files.holding(data):
            found = aurora_settings.load()
        assert isinstance(found.tool, str)
        assert isinstance(found.max_tokens, int)

    yield feed


TARGETS = (
    Target("log", _log),
    Target("folder", _folder),
    Target("document", _document),
    Target("index", _index),
    # The parser's own stack, which Python bounds, where values are nested deeply.
    Target("config", _config, most=4 << 20),
    Target("aurora", _aurora),
)
