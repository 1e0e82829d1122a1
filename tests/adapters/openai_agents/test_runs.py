"""Real runs of the framework, with a model that follows a script."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    OpenAIResponsesCompactionSession,
    RunConfig,
    Runner,
    SessionSettings,
    input_guardrail,
)
from agents.extensions.memory import EncryptedSession
from agents.run_internal.session_persistence import rewind_session_items
from agents.testing import assistant_message

from cortext.adapters.openai_agents import CortextSession
from cortext.adapters.openai_agents.unanswered_calls import INTERRUPTED
from cortext.stores.log import LogStore
from tests.adapters.openai_agents.scenes import call, look_up, pay, speaker


def told(model: Any) -> list[Any]:
    """What the model was given at its last call."""
    given = model.last_call.input
    return given if isinstance(given, list) else [given]


def kinds(items: Any) -> list[str]:
    return [item.get("type") or item["role"] for item in items]


def test_second_run_sees_messages_of_first_run(tmp_path: Path) -> None:
    """Also in another session object, and through each store."""

    async def main() -> None:
        for place in (tmp_path / "kept", f"document:{tmp_path}/documents", None):
            agent, _ = speaker("I am the clerk")
            await Runner.run(agent, "who are you?", session=CortextSession("s", place))
            agent, model = speaker("the clerk")
            session = CortextSession("s", place)
            result = await Runner.run(agent, "again?", session=session)
            assert result.final_output == "the clerk"
            texts = [item["content"] for item in told(model) if item["role"] == "user"]
            assert texts == ["who are you?", "again?"]
            assert kinds(await session.get_items()) == ["user", "message", "user", "message"]

    asyncio.run(main())


def test_streamed_run_stores_parallel_calls_and_results(tmp_path: Path) -> None:
    """Both calls and both results are there when the stream is over."""

    async def main() -> None:
        calls = [call("look_up", "c1", key="a"), call("look_up", "c2", key="b")]
        agent, model = speaker(calls, "both found", tools=[look_up])
        session = CortextSession("s", tmp_path)
        result = Runner.run_streamed(agent, "find a and b", session=session)
        assert [event async for event in result.stream_events()]
        items: Any = await session.get_items()
        assert kinds(items) == [
            "user", "function_call", "function_call", "function_call_output",
            "function_call_output", "message",
        ]  # fmt: skip
        assert [item["output"] for item in items[3:5]] == ["found a", "found b"]
        assert kinds(told(model)) == kinds(items)[:-1]

    asyncio.run(main())
    roles = [message.role for message in LogStore(tmp_path).load("s").messages]
    assert roles == ["user", "assistant", "assistant", "tool", "tool", "assistant"]


def test_agent_after_handoff_sees_full_history(tmp_path: Path) -> None:
    """The agent that takes over finds all of it, and so does the next run."""

    async def main() -> None:
        other, other_model = speaker("billing speaks", "billing again")
        other.name = "Billing"
        agent, _ = speaker([call("transfer_to_billing", "h1")], handoffs=[other])
        session = CortextSession("s", tmp_path)
        result = await Runner.run(agent, "my bill", session=session)
        assert result.last_agent is other
        await Runner.run(other, "thanks", session=session)
        assert kinds(told(other_model)) == [
            "user", "function_call", "function_call_output", "message", "user",
        ]  # fmt: skip

    asyncio.run(main())


def test_question_is_stored_when_input_guardrail_trips(tmp_path: Path) -> None:
    """What was asked is kept, and the next run works."""

    @input_guardrail
    async def no_poems(context: Any, agent: Agent[Any], given: Any) -> GuardrailFunctionOutput:
        last = given if isinstance(given, str) else given[-1]["content"]
        return GuardrailFunctionOutput(None, tripwire_triggered="poem" in last)

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        agent, model = speaker("a rose", "hello", input_guardrails=[no_poems])
        with pytest.raises(InputGuardrailTripwireTriggered):
            await Runner.run(agent, "a poem", session=session)
        assert await session.get_items() == [{"content": "a poem", "role": "user"}]
        agent, model = speaker("hello", input_guardrails=[])
        await Runner.run(agent, "then just hello", session=session)
        assert [item["content"] for item in told(model)] == ["a poem", "then just hello"]

    asyncio.run(main())


def test_encrypted_session_leaves_no_plain_text_on_disk(tmp_path: Path) -> None:
    """Inside the framework's own encryption nothing that was said is on the disk."""

    async def main() -> None:
        inner = CortextSession("s", tmp_path)
        session = EncryptedSession("s", inner, "a key of enough length for a test", ttl=600)
        calls = [call("look_up", "c1", key="secret")]
        agent, _ = speaker(calls, "the secret answer", tools=[look_up])
        await Runner.run(agent, "a secret question", session=session)
        assert b"secret" not in (tmp_path / "s.jsonl").read_bytes()
        agent, model = speaker("yes")
        await Runner.run(agent, "again", session=session)
        assert kinds(told(model)) == [
            "user", "function_call", "function_call_output", "message", "user",
        ]  # fmt: skip
        item: Any = await session.pop_item()
        assert item["content"][0]["text"] == "yes"

    asyncio.run(main())


class _Compacting:
    """In the place of the API that makes a summary of a history."""

    def __init__(self) -> None:
        self.responses = self
        self.given: list[Any] = []

    async def compact(self, **given: Any) -> Any:
        self.given.append(given)
        item = {"id": "cmp_1", "encrypted_content": "gAAA", "type": "compaction"}
        return type("Compacted", (), {"output": [item], "usage": None, "id": "cmp"})()


@pytest.mark.parametrize("encrypted", [False, True])
def test_compaction_replaces_history_for_next_run(encrypted: bool, tmp_path: Path) -> None:
    """The history is replaced by what the framework made of it, and the next run begins there."""

    async def main() -> None:
        client: Any = _Compacting()
        session: Any = OpenAIResponsesCompactionSession(
            "s",
            CortextSession("s", tmp_path),
            client=client,
            compaction_mode="input",
            should_trigger_compaction=lambda _: True,
        )
        if encrypted:
            session = EncryptedSession("s", session, "a key of enough length for a test")
        agent, _ = speaker("answer one")
        await Runner.run(agent, "question one", session=session)
        assert len(client.given) == 1
        assert kinds(await session.get_items()) == ["compaction"]
        session = CortextSession("s", tmp_path)
        if not encrypted:
            agent, model = speaker("answer two")
            await Runner.run(agent, "question two", session=session)
            assert kinds(told(model)) == ["compaction", "user"]

    asyncio.run(main())


def test_compaction_replaces_history_without_clearing_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old history is replaced by the new one in a step: it is never cleared first."""

    async def never(self: Any, **given: Any) -> None:
        raise AssertionError("cleared before the new history was there")

    monkeypatch.setattr(CortextSession, "clear_session", never)

    async def main() -> None:
        kept = CortextSession("s", tmp_path, owner="ada")
        await kept.add_items([{"content": "old", "role": "user"}])
        client: Any = _Compacting()
        session = OpenAIResponsesCompactionSession("s", kept, client=client)
        await session.run_compaction({"force": True, "compaction_mode": "input"})
        assert kinds(await CortextSession("s", tmp_path).get_items()) == ["compaction"]
        assert [row.owner for row in await CortextSession.list_sessions(tmp_path)] == ["ada"]

    asyncio.run(main())


def test_rewind_removes_only_items_of_the_run(tmp_path: Path) -> None:
    """The runner knows its own items again at the end, also after a call without a result."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        old: Any = {"arguments": "{}", "call_id": "c0", "name": "look_up", "type": "function_call"}
        new: Any = [{"content": "a", "role": "user"}, {"content": "b", "role": "user"}]
        await session.add_items([old, *new])
        await rewind_session_items(session, new)
        assert await session.get_items() == [old]

    asyncio.run(main())


ORPHAN: Any = {
    "arguments": '{"key": "x"}', "call_id": "c1", "name": "look_up", "type": "function_call",
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("later", [[], [{"content": "hm", "role": "user"}]])
def test_model_is_told_of_call_without_result_and_store_is_unchanged(
    later: list[Any], streamed: bool, tmp_path: Path
) -> None:
    """At the end or in the middle: the model is told of it by a sentence, and nothing that is
    stored changes."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        stored: Any = [{"content": "do it", "role": "user"}, ORPHAN, *later]
        await session.add_items(stored)
        for number in (1, 2):
            agent, model = speaker("I see")
            if streamed:
                result = Runner.run_streamed(agent, "well?", session=session)
                assert [event async for event in result.stream_events()]
            else:
                await Runner.run(agent, "well?", session=session)
            given = told(model)
            at = given.index(ORPHAN)
            assert given[at + 1] == {
                "call_id": "c1", "output": INTERRUPTED, "type": "function_call_output",
            }  # fmt: skip
            assert kinds(given)[at + 2 :] == ["user"] * len(later) + (
                ["user"] + ["message", "user"] * (number - 1)
            )
        assert (await session.get_items())[: len(stored)] == stored

    asyncio.run(main())


def test_only_calls_without_result_get_interrupted_output(tmp_path: Path) -> None:
    """Of parallel calls one may have a result, and of every kind that a sentence can answer."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        await session.add_items([
            {"content": "do it", "role": "user"},
            ORPHAN,
            {**ORPHAN, "call_id": "c2"},
            {"call_id": "c2", "output": "found", "type": "function_call_output"},
            {"content": "hm", "role": "user"},
            {"call_id": "c3", "action": {"commands": ["ls"]}, "type": "shell_call"},
            {"call_id": "c4", "operation": {"type": "delete_file", "path": "x"},
             "status": "completed", "type": "apply_patch_call"},
            {"call_id": "c5", "input": "x", "name": "grammar", "type": "custom_tool_call"},
        ])  # fmt: skip
        agent, model = speaker("I see")
        await Runner.run(agent, "well?", session=session)
        assert [(item.get("type"), item.get("call_id")) for item in told(model)] == [
            (None, None),
            ("function_call", "c1"), ("function_call", "c2"),
            ("function_call_output", "c2"), ("function_call_output", "c1"),
            (None, None),
            ("shell_call", "c3"), ("apply_patch_call", "c4"), ("custom_tool_call", "c5"),
            ("shell_call_output", "c3"), ("apply_patch_call_output", "c4"),
            ("custom_tool_call_output", "c5"),
            (None, None),
        ]  # fmt: skip
        assert json.dumps(told(model)).count(INTERRUPTED) == 4

    asyncio.run(main())


def test_run_with_item_limit_drops_interrupted_call(tmp_path: Path) -> None:
    """With a limit the framework leaves such a call out, and the run works."""

    async def main() -> None:
        session = CortextSession("s", tmp_path, session_settings=SessionSettings(limit=2))
        await session.add_items([{"content": "do it", "role": "user"}, ORPHAN])
        agent, model = speaker("I see", "yes")
        await Runner.run(agent, "well?", session=session)
        assert [item["content"] for item in told(model)] == ["do it", "well?"]
        config = RunConfig(session_settings=SessionSettings(limit=1))
        await Runner.run(agent, "sure?", session=session, run_config=config)
        assert kinds(told(model)) == ["message", "user"]

    asyncio.run(main())


def test_late_approval_replaces_interrupted_notice(tmp_path: Path) -> None:
    """A run that waits while another one speaks gets its result later, and no sentence remains."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        agent, _ = speaker([call("pay", "p1", amount=3)], "paid", tools=[pay])
        result = await Runner.run(agent, "pay", session=session)
        await session.save_pending(result.to_state())
        between, between_model = speaker("it waits")
        await Runner.run(between, "is it paid?", session=session)
        assert INTERRUPTED in json.dumps(told(between_model))
        state = await session.load_pending(agent)
        assert state is not None
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state, session=session)
        await session.save_pending(None)
        assert result.final_output == "paid"
        after, after_model = speaker("yes")
        await Runner.run(after, "and now?", session=session)
        given = json.dumps(told(after_model))
        assert INTERRUPTED not in given
        assert "paid 3" in given

    asyncio.run(main())


def test_resumed_run_does_not_repeat_items_after_lost_acknowledgement(tmp_path: Path) -> None:
    """A resumed run whose append succeeded and whose acknowledgement was lost does not write it
    again: the runner finds its own items at the end, as they are."""

    class Lost(CortextSession):
        cut = False

        async def add_items(self, items: Any, *, wrapper: Any = None) -> None:
            await super().add_items(items)
            if self.cut:
                self.cut = False
                raise OSError("the connection broke")

    async def main() -> None:
        session = Lost("s", tmp_path)
        agent, _ = speaker([call("pay", "p1", amount=3)], "paid", tools=[pay])
        waiting = (await Runner.run(agent, "pay", session=session)).to_state()
        waiting.approve(waiting.get_interruptions()[0])
        session.cut = True
        with pytest.raises(OSError, match="broke"):
            await Runner.run(agent, waiting, session=session)
        await session.save_pending(waiting)
        again = Lost("s", tmp_path)
        state = await again.load_pending(agent)
        assert state is not None
        result = await Runner.run(agent, state, session=again)
        assert result.final_output == "paid"
        assert kinds(await again.get_items()) == [
            "user", "function_call", "function_call_output", "message",
        ]  # fmt: skip

    asyncio.run(main())


def test_run_continues_session_of_another_program(tmp_path: Path) -> None:
    """Records as a bridge makes them are the history of a real run."""
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

    call = {"id": "toolu_1", "name": "Bash", "arguments": {"command": "ls"}}
    lost = {"id": "toolu_2", "name": "Bash", "arguments": {"command": "make"}}
    messages = [
        SessionMessage("user", "look around"),
        SessionMessage("assistant", "I do", tool_calls=[call]),
        SessionMessage("tool", "a b", tool_call_id="toolu_1"),
        SessionMessage("assistant", "", tool_calls=[lost]),
    ]
    LogStore(tmp_path).save(Session("s", messages=messages))

    async def main() -> None:
        agent, model = speaker([assistant_message("two files")])
        await Runner.run(agent, "what did you see?", session=CortextSession("s", tmp_path))
        assert kinds(told(model)) == [
            "user", "assistant", "function_call", "function_call_output", "function_call",
            "function_call_output", "user",
        ]  # fmt: skip
        assert told(model)[-2]["output"] == INTERRUPTED

    asyncio.run(main())
