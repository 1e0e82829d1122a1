"""A log whose head is changed while it holds very much."""

from pathlib import Path

import pytest

from cortext import SessionCorruptedError, SessionMessage, SessionNotFoundError
from cortext.model.message import ToolInvocation
from cortext.model.session import Session
from cortext.stores.log import LogStore


def filled(folder: Path, count: int = 5) -> LogStore:
    """A store with a session `one`, which has a tool call after its last turn."""
    store = LogStore(folder)
    session = Session("one", agent="qa-test", title="before")
    session.messages = [SessionMessage("user", f"turn {n}", tokens=2) for n in range(count)]
    session.tool_history = [ToolInvocation("grep", {"q": "x"})]
    store.save(session)
    return store


def test_head_returns_session_without_records(tmp_path: Path) -> None:
    """Everything of the session but its records."""
    store = filled(tmp_path)
    head = store.head("one")
    assert (head.id, head.agent, head.title, head.messages) == ("one", "qa-test", "before", [])


def test_amend_keeps_records_and_tool_calls(tmp_path: Path) -> None:
    """The bytes of the turns stay, and the tool call that the head holds."""
    store = filled(tmp_path)
    path = tmp_path / "one.jsonl"
    turns = path.read_bytes().split(b"\n", 1)[1]
    call = store.load("one").tool_history
    store.amend("one", title="after", status="paused", stop_reason="interrupt")
    assert path.read_bytes().split(b"\n", 1)[1] == turns
    again = LogStore(tmp_path).load("one")
    assert (again.title, again.status, again.stop_reason) == ("after", "paused", "interrupt")
    assert (again.tool_history, len(again.messages)) == (call, 5)


def test_amend_keeps_torn_tail_for_next_append(tmp_path: Path) -> None:
    """What was not written to its end is set aside by an append, not lost before."""
    store = filled(tmp_path)
    path = tmp_path / "one.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"turn","rol')
    store.amend("one", title="after")
    assert path.read_bytes().endswith(b'{"type":"turn","rol')
    store.append("one", SessionMessage("user", "next"))
    assert (tmp_path / "one.jsonl.torn").read_bytes() == b'{"type":"turn","rol'
    assert [m.content for m in LogStore(tmp_path).load("one").messages][-2:] == ["turn 4", "next"]


def test_amend_refuses_broken_head_and_names_line_1(tmp_path: Path) -> None:
    """The error names line 1, and the file is as it was."""
    store = filled(tmp_path)
    path = tmp_path / "one.jsonl"
    path.write_bytes(b"{broken\n" + path.read_bytes())
    before = path.read_bytes()
    with pytest.raises(SessionCorruptedError, match="line 1"):
        store.amend("one", title="after")
    with pytest.raises(SessionCorruptedError, match="line 1"):
        store.head("one")
    assert path.read_bytes() == before


def test_head_amend_and_blocks_of_missing_session_raise_not_found(tmp_path: Path) -> None:
    store = filled(tmp_path)
    for look in (store.head, store.amend, lambda id: list(store.blocks(id))):
        with pytest.raises(SessionNotFoundError):
            look("two")


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
def test_blocks_return_all_records_and_damages_for_any_size(tmp_path: Path, size: int) -> None:
    """However the file is cut, all records come in order, and damage has its line."""
    store = filled(tmp_path, 30)
    path = tmp_path / "one.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[10:10] = [b"not json"]
    path.write_bytes(b"\n".join(lines) + b'{"torn')
    found = list(store.blocks("one", size))
    said = [message.content for block in found for message in block.messages]
    assert said == [f"turn {n}" for n in range(30)]
    damages = [damage for block in found for damage in block.damages]
    assert [(damage.line, damage.fatal) for damage in damages] == [(11, True), (33, False)]
    assert {damage.path for damage in damages} == {str(path)}


def test_head_of_empty_file_raises_corrupted_error(tmp_path: Path) -> None:
    """There is nothing in it, and that is damage."""
    store = filled(tmp_path)
    (tmp_path / "one.jsonl").write_bytes(b"")
    with pytest.raises(SessionCorruptedError, match="empty"):
        store.head("one")
