"""A person goes on in Claude Code with what an agent of the framework said."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.conversation import Conversation

from cortext.adapters.pydantic_ai import CortextConversationStore
from tests.adapters.pydantic_ai.scenes import call, speaker
from tests.adapters.resumed_program import Person


def test_pydantic_ai_run_is_listed_found_and_resumed_in_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its owner; the call and its result are text there."""
    person = Person(tmp_path, monkeypatch)

    async def main() -> None:
        agent, _ = speaker(call("look_up", "c1", key="parcel 17"), "In Bergen.")
        conversation = Conversation(conversation_id="order-17")
        result = await agent.run("Where is my parcel?", conversation=conversation)
        await CortextConversationStore().save(result, scope="ada")

    asyncio.run(main())
    assert person.listed("ada") == ["Where is my parcel?"]
    assert person.listed("bob") == []
    assert person.found("bergen", "ada") == {"order-17"}
    asked, (role, answered) = person.reopened("order-17")
    assert asked == ("user", "Where is my parcel?")
    assert role == "assistant"
    assert "look_up" in answered
    assert "found parcel 17" in answered
    assert answered.endswith("In Bergen.")
