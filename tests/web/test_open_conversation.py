"""A conversation that is open: what is new in it is told, at the cost of what is new."""

import asyncio
import json as stdjson
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortext import SessionMessage, SessionNotFoundError, SessionStorage, open_session_store
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.watch.live_sources import LiveConversation
from cortext.model import json_codec
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import TranscriptSource
from cortext.web.live_updates import ShutdownFlag, follow
from cortext.web.open_conversation import OpenConversation
from cortext.web.open_conversation_cache import OpenConversationCache
from cortext.web.tool_database_tail import joined
from tests.tools.opencode.opencode_data import Made, text
from tests.web import stories

ID = "001-plan-live"


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = stories.workspace(tmp_path / "shop")
    said = [("user", "Begin."), ("assistant", "Yes.")]
    stories.keep(root, stories.conversation(ID, stories.datetime.now(stories.UTC), said))
    return root


def row_of(root: str, id: str = ID) -> ConversationRow:
    rows = ConversationList(root, everywhere=True).list().rows
    return next(row for row in rows if row.key.endswith(id))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that all of a conversation is read."""
    reads: list[str] = []
    whole: Callable[[LiveConversation], Any] = LiveConversation.read

    def read(self: LiveConversation) -> Any:
        reads.append(self.path)
        return whole(self)

    monkeypatch.setattr(LiveConversation, "read", read)
    return reads


def test_look_reads_only_appended_messages(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it once; then each added message alone, with its result in its call."""
    reads = counted(monkeypatch)
    opened = OpenConversation(row_of(root))
    store = open_session_store(f"workspace:{root}")
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "make"}}
    store.append(ID, SessionMessage("assistant", "I try.", tool_calls=[call]))
    opened.look()
    before = opened.version
    store.append(ID, SessionMessage("tool", "made it", tool_call_id="c1"))
    store.append(ID, SessionMessage("user", "Thanks."))
    opened.look()
    assert len(reads) == 1
    assert (opened.turns.total, opened.changed_since(before)) == (5, 3)
    turns = list(opened.turns.window(1, 9))
    assert [turn.number for turn in turns] == [1, 2, 3, 5]
    assert turns[2].calls[0].result.text == "made it"
    assert [number for number, _ in opened.turns.requests(1, 10)] == [1, 5]


def test_look_without_changes_keeps_version(root: str) -> None:
    opened = OpenConversation(row_of(root))
    before = opened.version
    opened.look()
    assert (opened.version, opened.changed_since(before)) == (before, None)


def test_changed_since_unknown_version_starts_at_first_message(root: str) -> None:
    """Whoever comes with one has to look at everything anew."""
    opened = OpenConversation(row_of(root))
    for version in (
        "",
        "1",
        "x.1",
        OpenConversation(row_of(root)).version,
        f"{opened.version}9",
        "ü.²",
    ):
        assert opened.changed_since(version) == 1


def test_look_finds_first_changed_message_of_rewritten_session(root: str) -> None:
    """The first message that looks different is told, also if there are as many as before."""
    story = stories.conversation(
        "kept",
        stories.datetime.now(stories.UTC),
        [("user", "a"), ("assistant", "b"), ("user", "c")],
    )
    storage = SessionStorage()
    storage.save(story)
    opened = OpenConversation(row_of(root, "kept"))
    before, old = opened.version, story.messages[1]
    story.messages[1] = SessionMessage("assistant", "b and more", old.timestamp, old.id)
    storage.save(story)
    opened.look()
    assert (opened.turns.total, opened.changed_since(before)) == (3, 2)
    story.messages.pop()
    storage.save(story)
    before = opened.version
    opened.look()
    assert (opened.turns.total, opened.changed_since(before)) == (2, 3)


def test_desk_keeps_followed_conversation_open(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many others are opened meanwhile; what nobody has any more is let go."""
    at = stories.datetime.now(stories.UTC)
    for number in range(2, 9):
        stories.keep(root, stories.conversation(f"00{number}-plan-x", at, [("user", "x")]))
    reads, desk = counted(monkeypatch), OpenConversationCache()
    opened = desk.open(row_of(root))
    for number in range(2, 9):
        desk.open(row_of(root, f"00{number}-plan-x"))
    assert desk.open(row_of(root)) is opened
    assert len(reads) == 8
    desk.open(row_of(root, "002-plan-x"))
    assert len(reads) == 9


def test_follow_reports_first_changed_message_and_deletion(root: str) -> None:
    """Each change once, with its version; the end when the conversation is gone."""
    opened, ending = OpenConversation(row_of(root)), ShutdownFlag()
    store = open_session_store(f"workspace:{root}")

    async def run() -> None:
        stream = follow(opened, opened.version, ending)
        waiting = asyncio.ensure_future(anext(stream))
        store.append(ID, SessionMessage("user", "More."))
        told = await asyncio.wait_for(waiting, 60)
        assert (told["event"], told["id"]) == ("grown", opened.version)
        assert json_codec.decode(told["data"].encode()) == {
            "total": 3, "from": 3, "version": opened.version,
        }  # fmt: skip
        store.delete(ID)
        told = await asyncio.wait_for(anext(stream), 60)
        assert told["event"] == "gone"

    asyncio.run(run())
    with pytest.raises(SessionNotFoundError):
        opened.look()


def test_folder_without_session_opens_as_document(root: str, tmp_path: Path) -> None:
    """Until there is one."""
    folder = tmp_path / "shop/conversations/2026-01-02/007-plan-paper"
    folder.mkdir(parents=True)
    (folder / "PLAN.md").write_text("# On paper\n", encoding="utf-8")
    desk = OpenConversationCache()
    opened = desk.open(row_of(root, "007-plan-paper"))
    assert (opened.has_session, opened.turns.total) == (False, 0)


def test_look_reads_only_changed_database_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer of OpenCode that is written in its place, and what comes after it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    made = Made(tmp_path / "data/opencode")
    made.session("ses_live")
    made.message("msg_1", "user", text("Tell me."), session="ses_live")
    made.message("msg_2", "assistant", text("Once"), session="ses_live")
    opened = OpenConversation(row_of(str(tmp_path), "ses_live"))
    decodes: list[str] = []
    decode = OpenCodeBridge.decode

    def counting(self: OpenCodeBridge, source: TranscriptSource, **options: Any) -> Any:
        decodes.append(source.id)
        return decode(self, source, **options)

    monkeypatch.setattr(OpenCodeBridge, "decode", counting)
    for step, (words, first) in enumerate((("Once upon", 2), ("Once upon a time", 2)), 1):
        before = opened.version
        rewrite(made, "msg_2", words, step)
        opened.look()
        assert opened.turns.text(2) == words
        assert opened.changed_since(before) == first
    before = opened.version
    made.message("msg_3", "user", text("Go on."), session="ses_live")
    opened.look()
    assert (opened.turns.total, opened.turns.text(3)) == (3, "Go on.")
    assert opened.changed_since(before) == 3
    assert decodes == []


def rewrite(made: Made, message: str, words: str, step: int) -> None:
    with made.open() as db:
        query = "SELECT id, data, time_updated FROM part WHERE message_id = ?"
        id, data, time = db.execute(query, (message,)).fetchone()
        changed = stdjson.dumps({**stdjson.loads(data), "text": words})
        db.execute(
            "UPDATE part SET data = ?, time_updated = ? WHERE id = ?", (changed, time + step, id)
        )


def say(id: str, words: str = "x") -> SessionMessage:
    return SessionMessage("user", words, id=id)


def test_joined_merges_latest_messages_by_id() -> None:
    """By ids; where something between is not told, all of it has to be read."""
    old = [say("a"), say("b"), say("c")]

    def ids(*latest: SessionMessage) -> list[str] | None:
        found = joined(old, latest)
        return None if found is None else [message.id for message in found]

    assert ids() == ["a", "b", "c"]
    assert ids(say("d")) == ["a", "b", "c", "d"]
    assert ids(say("c", "more"), say("d")) == ["a", "b", "c", "d"]
    assert ids(say("b"), say("c"), say("c1")) == ["a", "b", "c", "c1"]
    assert ids(say("b"), say("d")) is None
