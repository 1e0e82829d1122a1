"""A session is followed: each record is read once, and another file from its start."""

from pathlib import Path
from typing import Any

import pytest

from cortext.adapters.exact_json import from_store, to_store, value_of
from cortext.adapters.record_reader import Follower
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store


def seen(follower: Follower) -> tuple[bool, list[str]]:
    anew, records = follower.new()
    return anew, [record.content for record in records]


@pytest.mark.parametrize("kind", ["log", "document", "memory"])
def test_follower_reads_each_record_once(kind: str, tmp_path: Path) -> None:
    """What was there first, then what is added; nothing when nothing is."""
    store: SessionStore = open_session_store(
        f"{kind}:" + ("" if kind == "memory" else str(tmp_path))
    )
    follower = Follower(store, "s")
    assert seen(follower)[1] == []
    store.save(Session("s", messages=[SessionMessage("user", "a")]))
    assert seen(follower) == (True, ["a"])
    assert seen(follower) == (False, [])
    store.append("s", SessionMessage("user", "b"), SessionMessage("user", "c"))
    assert seen(follower) == (False, ["b", "c"])
    store.delete("s")
    assert seen(follower) == (True, [])


def test_follower_rereads_replaced_file_with_same_inode(tmp_path: Path) -> None:
    """A file may get the number of one that was removed: its head tells."""
    store = LogStore(tmp_path)
    store.save(Session("s", messages=[SessionMessage("user", "old")]))
    store.save(Session("t", title="new", messages=[SessionMessage("user", x) for x in "xyz"]))
    follower = Follower(store, "s")
    assert seen(follower) == (True, ["old"])
    path = tmp_path / "s.jsonl"
    number = path.stat().st_ino
    path.write_bytes((tmp_path / "t.jsonl").read_bytes())
    assert path.stat().st_ino == number
    assert seen(follower) == (True, ["x", "y", "z"])


def test_follower_reads_partial_line_only_when_complete(tmp_path: Path) -> None:
    """It is read when it is whole; a damaged one is passed over."""
    store = LogStore(tmp_path)
    store.save(Session("s", messages=[SessionMessage("user", "a")]))
    follower = Follower(store, "s")
    seen(follower)
    path = tmp_path / "s.jsonl"
    line = path.read_bytes().split(b"\n")[1]
    with path.open("ab") as file:
        file.write(b"no record\n" + line[:20])
        file.flush()
        assert seen(follower) == (False, [])
        file.write(line[20:] + b"\n")
    assert seen(follower) == (False, ["a"])


@pytest.mark.parametrize(
    "raw",
    ["{}", '{"a":1e+22}', '{"a":[1.0,null]}', '{"json":"{}"}', '{"a": 1}', '{"a":"\\u00e9"}', "[]"],
)
def test_json_comes_back_byte_for_byte(raw: str) -> None:
    """Also where we would write it otherwise."""
    stored: Any = json_codec.decode(json_codec.encode(to_store(raw.encode())))
    assert from_store(stored).decode() == raw
    assert value_of(stored) == json_codec.decode(raw.encode())
