"""Tests with hostile input: ids that are paths of other files, and values that are not JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cortext.errors import InvalidIdError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.port import SessionStore
from cortext.testing.suite_base import START, Suite, message, place, session, texts

BAD_IDS: tuple[Any, ...] = (
    "../x", "..", ".", "", "a/b", "/abs", "a/../b", "../../around", "-x", ".hidden", "x" * 300,
    "a\0b", "a\nb", "a\n", " a", "a b", "a\\b", "a:b", "%2e%2e", "~", "*", "\ud800", "a\u202eb",
    None, 7, 1.5, b"bytes", ["list"], ("a",), {"a": 1}, True,
)  # fmt: skip
WRONG_HEADS: tuple[dict[str, Any], ...] = (
    {"title": 5}, {"tags": [1]}, {"tags": "text"}, {"status": "bogus"}, {"tools": [None]},
    {"total_prompt_tokens": 1.5}, {"working_dir": Path("x")}, {"native": ["x"]},
    {"metadata": {"x": float("nan")}}, {"metadata": {1: 2}}, {"pending": b"x"}, {"summary": 1},
)  # fmt: skip
WRONG_FIELDS: tuple[dict[str, Any], ...] = (
    {"tokens": 1.5}, {"tokens": "3"}, {"name": 3}, {"tool_call_id": 7}, {"id": 7},
    {"tool_calls": {"a": 1}}, {"tool_calls": ["x"]}, {"timestamp": "2025-11-22T10:30:00Z"},
    {"structured_data": {1, 2}}, {"structured_data": float("inf")}, {"extra": {1: 2}},
)  # fmt: skip


def verbs_of(store: SessionStore, id: Any) -> dict[str, Callable[[], object]]:
    """Return functions that call methods of the store with `id`, by the name of the method."""
    return {
        "append": lambda: store.append(id, message("x")),
        "checkpoint": lambda: store.checkpoint(Session(id)),
        "delete": lambda: store.delete(id),
        "exists": lambda: store.exists(id),
        "load": lambda: store.load(id),
        "read": lambda: store.read(id),
        "save": lambda: store.save(Session(id)),
        "tail": lambda: store.tail(id, 1),
    }


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of each file below a folder, by path. Subfolders have the value None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


class HostileTests(Suite):
    """Tests of ids and values that a store must refuse."""

    def test_bad_ids_are_refused_by_every_verb(self, tmp_path: Path) -> None:
        """Check that bad ids raise InvalidIdError, and that no file anywhere changes."""
        inside = place(tmp_path)
        around = os.path.dirname(inside)
        for name in ("x.json", "x.jsonl", "x.backup", "x"):
            Path(around, name).write_text("precious", encoding="utf-8")
        store = self.open(inside)
        store.save(session("s", message("one")))
        before = snapshot(tmp_path)
        outcomes: set[tuple[str, str]] = set()
        for id in BAD_IDS:
            for name, verb in verbs_of(store, id).items():
                try:
                    verb()
                    outcomes.add((name, f"no error for {id!r:.40}"))
                except InvalidIdError:
                    pass
                except Exception as error:  # noqa: BLE001 (any other error is a finding)
                    outcomes.add((name, f"{type(error).__name__} for {id!r:.40}"))
        assert outcomes == set()
        assert snapshot(tmp_path) == before

    def test_longest_id_works(self, tmp_path: Path) -> None:
        """Check that an id of 128 characters works with every method."""
        store = self.open(place(tmp_path))
        id = "a" + "._-Z" * 31 + "xyz"
        store.save(session(id))
        store.append(id, message("one"))
        store.checkpoint(store.load(id))
        assert (len(id), texts(store.tail(id, 1))) == (128, ["one"])
        assert [store.list_session_ids(), store.delete(id)] == [[id], True]

    def test_message_that_cannot_be_read_back_is_refused(self, tmp_path: Path) -> None:
        """Check that appending a message with an invalid field fails and stores nothing."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("before")))
        accepted: list[dict[str, Any]] = []
        for fields in WRONG_FIELDS:
            try:
                store.append("s", SessionMessage("user", "x", **fields))
                accepted.append(fields)
            except ValueError:
                pass
        assert accepted == []
        assert texts(store.load("s").messages) == ["before"]

    def test_head_that_cannot_be_read_back_is_refused(self, tmp_path: Path) -> None:
        """Check that saving an invalid head raises ValueError and does not change the session."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("before")))
        accepted: list[tuple[str, dict[str, Any]]] = []
        for fields in WRONG_HEADS:
            for name, verb in (("save", store.save), ("checkpoint", store.checkpoint)):
                try:
                    wrong = session("s", message("refused"))
                    for field, value in fields.items():
                        setattr(wrong, field, value)
                    verb(wrong)
                    accepted.append((name, fields))
                except ValueError:
                    pass
        assert accepted == []
        assert (store.load("s").title, store.load("s").created_at) == ("", START)
        assert texts(store.load("s").messages) == ["before"]
