"""What an adapter stands on, on a real Redis and a real PostgreSQL."""

import multiprocessing
import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

pytest.importorskip("psycopg")

from cortext import Session, SessionMessage
from cortext.adapters.record_reader import Follower
from cortext.adapters.session_log import SessionLog, inner_store, open_adapter_store
from tests.service.stores.conftest import postgres_server as postgres_server

_spaces = count()


@pytest.fixture(params=["redis", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    server: Any = request.getfixturevalue(f"{request.param}_server")
    return f"{server.url}/k{os.getpid()}-{next(_spaces)}"


@pytest.fixture
def kept(url: str) -> Iterator[SessionLog]:
    made = SessionLog(url, "tests")
    yield made
    made.close()


def said(text: str) -> SessionMessage:
    return SessionMessage("user", text)


def test_session_log_on_server_shares_sessions_between_objects(kept: SessionLog, url: str) -> None:
    """By its owner, the newest first, and whichever framework began it."""
    for id, owner in (("one", "ann"), ("two", "bob"), ("three", "ann")):
        kept.append(id, [said(id)], lambda id=id, owner=owner: kept.new_session(id, owner=owner))
    kept.append("one", [said("last")], lambda: kept.new_session("one"))
    kept.amend("one", pending={"run": 1})
    other = SessionLog(url, "tests")
    assert [(row.id, row.waits) for row in other.rows("ann")] == [("one", True), ("three", False)]
    assert [row.id for row in other.rows()] == ["one", "three", "two"]
    assert sorted(head.id for head in other.heads("ann")) == ["one", "three"]
    assert sorted(head.id for head in SessionLog(url, "others").heads()) == ["one", "three", "two"]
    assert [one.content for one in other.tail("one", 1)] == ["last"]
    assert (other.head("one").messages, other.tail("none", 1), other.read("none")) == ([], [], None)
    assert [other.delete("one"), kept.delete("one")] == [True, False]
    assert other.change("one", lambda session: 1) is None
    other.close()


def test_follower_on_server_sees_appends_and_changes_of_others(kept: SessionLog, url: str) -> None:
    """Each record once; after a change of what was there, or when asked to, all of it."""
    follower = Follower(kept.store, "s")
    assert follower.new() == (False, [])
    other = SessionLog(url, "tests")
    other.append("s", [said("a")], lambda: Session("s"))
    assert [one.content for one in follower.new()[1]] == ["a"]
    other.append("s", [said("b")], lambda: Session("s"))
    anew, found = follower.new()
    assert (anew, [one.content for one in found]) == (False, ["b"])
    other.change("s", lambda session: session.messages.pop(0))
    anew, found = follower.new()
    assert (anew, [one.content for one in found]) == (True, ["b"])
    follower.forget()
    anew, found = follower.new()
    assert (anew, [one.content for one in found]) == (True, ["b"])
    other.close()


def test_inner_store_sessions_appear_in_no_list(kept: SessionLog) -> None:
    """Checkpoints and states have a place of their own on the same server."""
    inner_store(kept.store, "state").save(kept.new_session("s"))
    assert (list(kept.heads()), kept.store.exists("s")) == ([], False)
    assert inner_store(kept.store, "state").exists("s")


def _write(url: str, writer: int) -> None:
    kept = SessionLog(url, "tests")
    for number in range(20):
        text = f"{writer}.{number}"
        kept.append("shared", [said(text)], lambda: kept.new_session("shared"))
        kept.change("shared", lambda session, text=text: session.tags.append(text))
    kept.close()


def test_eight_processes_start_one_session_on_server_without_loss(
    kept: SessionLog, url: str
) -> None:
    """Whoever makes the session, nothing that was acknowledged is lost, each one's messages are in
    their order, and no change undoes another."""
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(url, number)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(100)
    assert [writer.exitcode for writer in writers] == [0] * 8
    session = kept.read("shared")
    assert session is not None
    texts = [message.content for message in session.messages]
    assert len(texts) == 160
    for number in range(8):
        own = [f"{number}.{n}" for n in range(20)]
        assert [text for text in texts if text.startswith(f"{number}.")] == own
        assert [tag for tag in session.tags if tag.startswith(f"{number}.")] == own


def test_open_kept_refuses_unknown_url_without_showing_password() -> None:
    """With those that there are, and without the password that stood in it."""
    with pytest.raises(ValueError, match=r"redis\+cluster://.*postgresql://") as raised:
        open_adapter_store("ftp://me:secret@x")
    assert "secret" not in str(raised.value)
