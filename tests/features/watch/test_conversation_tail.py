"""What is new in a conversation, each time that somebody looks."""

import json
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.errors import SessionNotFoundError
from cortext.features.watch.conversation_tail import (
    ConversationTail,
    NewMessages,
    compare_messages,
)
from cortext.features.watch.live_sources import open_stored_source


def message(id: str, content: str = "", **more: object) -> SessionMessage:
    return SessionMessage("assistant", content or id, id=id, **more)  # type: ignore[arg-type]


def turn(id: str) -> bytes:
    at = "2026-01-01T00:00:00Z"
    return json.dumps(
        {"type": "turn", "role": "user", "content": id, "id": id, "timestamp": at}
    ).encode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A session with one message."""
    store = open_session_store(f"log:{tmp_path}")
    store.save(Session("one", messages=[message("a")]))
    return tmp_path / "one.jsonl"


def test_tail_reports_partial_line_once_when_complete(log: Path) -> None:
    """And once, also if what was there of it could be read."""
    tail = ConversationTail(open_stored_source(f"log:{log.parent}", "one"))
    line = turn("b")
    found: list[int] = []
    for piece in (line[:10], line[10:], b"\n", turn("c") + b"\n"):
        with log.open("ab") as file:
            file.write(piece)
        news = tail.news()
        found += news.new if news else ()
    assert found == [2, 3]
    assert [each.content for each in tail.session.messages] == ["a", "b", "c"]
    assert tail.news() is None


def test_tail_reports_unreadable_line_once_and_continues(log: Path) -> None:
    """It is named once, by its number, and hides nothing else."""
    tail = ConversationTail(open_stored_source(f"log:{log.parent}", "one"))
    with log.open("ab") as file:
        file.write(b"nonsense\n" + turn("b") + b"\n")
    news = tail.news()
    assert news
    assert (list(news.new), [(d.path, d.line) for d in news.damages]) == ([2], [(str(log), 3)])
    with log.open("ab") as file:
        file.write(turn("c") + b"\n")
    assert tail.news() == NewMessages(range(3, 4))


def test_tail_reads_only_appended_messages_of_same_file(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it is the same file; a new head makes it another."""
    store = open_session_store(f"log:{log.parent}")
    tail = ConversationTail(open_stored_source(f"log:{log.parent}", "one"))
    whole: list[str] = []
    read = type(store).read
    monkeypatch.setattr(type(store), "read", lambda me, id: whole.append(id) or read(me, id))
    for number in range(5):
        store.append("one", message(f"m{number}"))
        assert tail.news() == NewMessages(range(number + 2, number + 3))
    assert whole == []
    session = store.load("one")
    session.title = "Another"
    store.save(session)
    assert tail.news() == NewMessages(range(7, 7))
    assert whole


def test_tail_waits_for_missing_file_before_reporting_deletion(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for; after that it was deleted."""
    now = 100.0
    monkeypatch.setattr("cortext.features.watch.conversation_tail.time.monotonic", lambda: now)
    tail = ConversationTail(open_stored_source(f"log:{log.parent}", "one"))
    data = log.read_bytes()
    log.unlink()
    assert tail.news() is None
    log.write_bytes(data)
    assert tail.news() == NewMessages(range(2, 2))
    log.unlink()
    assert tail.news() is None
    now += 2
    assert tail.news() == NewMessages(over="the conversation was deleted")


def test_compare_messages_reports_new_grown_and_removed_messages() -> None:
    """What is new, what has grown, and how much is gone."""
    a, b, c = map(message, "abc")
    assert compare_messages([a, b], [a, b, c]) == NewMessages(range(3, 4))
    assert compare_messages([a, c], [a, b, c]).new == [2]
    assert compare_messages([a, b], [a, message("b", "b and more")]) == NewMessages([2])
    assert compare_messages([a, b, c], [a]) == NewMessages(
        [], "The conversation was rewound: 2 messages are no longer part of it."
    )
    left = message("b", extra={"abandoned": True})
    assert compare_messages([a, b], [a, left, c]) == NewMessages(
        [3], "The conversation was rewound: 1 message is no longer part of it."
    )


def test_compare_messages_skips_empty_answer_until_text_arrives() -> None:
    """It comes when it does."""
    a, empty = message("a"), SessionMessage("assistant", "", id="b")
    assert list(compare_messages([a], [a, empty]).new) == []
    assert list(compare_messages([a, empty], [a, message("b")]).new) == [2]


def test_opening_missing_session_raises_not_found(tmp_path: Path) -> None:
    """Also where there is not even a folder."""
    with pytest.raises(SessionNotFoundError):
        open_stored_source(f"log:{tmp_path}/nowhere", "one")
