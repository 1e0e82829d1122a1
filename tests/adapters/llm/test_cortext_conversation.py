"""Conversations of llm's Python library."""

import asyncio
from pathlib import Path

import llm
import pytest

from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.call_repair import INTERRUPTED
from cortext.errors import SessionStorageError
from cortext.stores.log import LogStore
from tests.adapters.llm.echo import AsyncEcho
from tests.adapters.llm.scenes import dumped, look_up, model, sent


def test_conversation_continues_in_another_object_with_full_history(tmp_path: Path) -> None:
    """What one object kept another one is sent, with calls, results and attachments."""
    first = CortextLog(tmp_path).conversation("s", model(), tools=[look_up])
    assert first.chain('call look_up {"key": "x"}', system="be brief").text() == "got found x"
    image = llm.Attachment(type="image/png", content=b"\x89PNG")
    first.prompt("see", attachments=[image]).text()
    second = CortextLog(tmp_path).conversation("s", model())
    told = sent(second.prompt("recall").text())
    assert [message["role"] for message in told] == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert told[3]["parts"][0]["output"] == "found x"
    assert told[5]["parts"][1]["attachment"]["type"] == "image/png"
    kept = CortextLog(tmp_path).messages("s")
    assert dumped(kept[:-1]) == dumped(second.responses[0].prompt.messages)


def test_response_appends_only_new_lines(tmp_path: Path) -> None:
    """Nothing is written again, however long the conversation is."""
    conversation = CortextLog(tmp_path).conversation("s", model())
    path = tmp_path / "s.jsonl"
    before = b""
    for number in range(5):
        conversation.prompt(f"word {number}").text()
        after = path.read_bytes()
        assert after.startswith(before)
        assert after.count(b"\n") == 1 + 2 * (number + 1)
        before = after
    assert LogStore(tmp_path).load("s").messages[-1].tokens == 2


def test_prompt_with_given_messages_stores_only_new_messages(tmp_path: Path) -> None:
    """With `messages` the caller says what was said: what is new of it is kept."""
    log = CortextLog(tmp_path)
    conversation = log.conversation("s", model())
    conversation.prompt("one").text()
    given = [llm.user("one"), llm.assistant("echo: one"), llm.user("two"), llm.assistant("2")]
    conversation.prompt("three", messages=given).text()
    assert [message.parts[0].text for message in log.messages("s")] == [  # type: ignore[attr-defined]
        "one", "echo: one", "two", "2", "three", "echo: three",
    ]  # fmt: skip


def test_keep_stores_response_of_any_conversation_once(tmp_path: Path) -> None:
    """Also one that has none, and the same one twice; all that led to it comes along."""
    log = CortextLog(tmp_path)
    theirs = model().conversation()
    theirs.prompt("one").text()
    second = theirs.prompt("two")
    second.text()
    log.keep(second)
    log.keep(second)
    assert len(log.messages(theirs.id)) == 4
    alone = model().prompt("alone")
    alone.text()
    log.keep(alone)
    assert {row.title for row in log.conversations()} == {"one", "alone"}


def test_conversations_filter_by_owner_and_sort_by_last_use(tmp_path: Path) -> None:
    """The one used last first; another owner's are not among them."""
    for owner, id in (("ada", "a/1"), ("bob", "b/1"), ("ada", "a/2")):
        CortextLog(tmp_path, owner=owner).conversation(id, model()).prompt(f"of {id}").text()
    CortextLog(tmp_path, owner="ada").conversation("a/1", model()).prompt("more").text()
    log = CortextLog(tmp_path)
    rows = log.conversations(owner="ada")
    assert [(row.id, row.title, row.waits) for row in rows] == [
        ("a/1", "of a/1", False), ("a/2", "of a/2", False),
    ]  # fmt: skip
    assert rows[0].updated_at > rows[0].created_at
    assert len(log.conversations()) == 3


def test_async_conversation_continues_with_full_history(tmp_path: Path) -> None:
    """The same history, from an event loop; a call is answered in it."""

    async def main() -> None:
        log = CortextLog(tmp_path)
        conversation = await log.async_conversation("s", AsyncEcho(), tools=[look_up])
        assert await conversation.chain('call look_up {"key": "x"}').text() == "got found x"
        again = await log.async_conversation("s", AsyncEcho())
        told = sent(await again.prompt("recall").text())
        assert [message["role"] for message in told] == [
            "user", "assistant", "tool", "assistant", "user",
        ]  # fmt: skip
        log.close()

    asyncio.run(main())
    assert LogStore(tmp_path).load("s").message_count == 6


def test_async_pending_call_is_approved_by_another_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits, and goes on with another object."""
    from tests.adapters.llm.scenes import pay

    async def main() -> None:
        log = CortextLog(tmp_path)
        conversation = await log.async_conversation("s", AsyncEcho(), tools=[pay])
        with pytest.raises(llm.PauseChain) as paused:
            await conversation.chain('call pay {"amount": 3}').text()
        await conversation.wait(paused.value)
        monkeypatch.setenv("APPROVED", "1")
        again = await log.async_conversation("s", AsyncEcho(), tools=[pay])
        waiting = await again.waiting()
        assert waiting is not None
        assert (waiting.name, waiting.arguments) == ("pay", {"amount": 3})
        assert await (await again.go_on()).text() == "got paid 3"
        assert await again.waiting() is None

    asyncio.run(main())


def test_model_is_told_of_call_after_tool_stops_chain(tmp_path: Path) -> None:
    """The same object goes on: the model is told, nothing is done again, and nothing of that is
    written."""
    asked: list[str] = []

    def stop(key: str) -> str:
        asked.append(key)
        raise llm.PauseChain

    log = CortextLog(tmp_path)
    conversation = log.conversation("s", model(), tools=[stop])
    with pytest.raises(llm.PauseChain):
        conversation.chain('call stop {"key": "x"}').text()
    told = sent(conversation.chain("recall").text())
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "user"]
    assert told[2]["parts"][0]["output"] == INTERRUPTED
    with pytest.raises(ValueError, match="no tool call is waiting in s"):
        conversation.go_on()
    assert sent(conversation.prompt("recall").text())[:4] == told
    assert asked == ["x"]
    assert [message.role for message in log.messages("s")] == [
        "user", "assistant", "user", "assistant", "user", "assistant",
    ]  # fmt: skip


def test_prompt_raises_one_sentence_when_store_cannot_write(tmp_path: Path) -> None:
    """One sentence, when something else has the place."""
    conversation = CortextLog(tmp_path / "kept").conversation("s", model())
    (tmp_path / "kept").write_text("")
    with pytest.raises(SessionStorageError) as caught:
        conversation.prompt("hello").text()
    assert str(tmp_path / "kept") in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="not a session store"):
        CortextLog("ftp://localhost")
