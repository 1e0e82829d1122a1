"""Messages, and processes that save them at the same time."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    UserPromptPart,
)

from cortext.adapters.pydantic_ai import CortextConversationStore


def said(text: str) -> ModelMessage:
    return ModelRequest([UserPromptPart(text)])


def texts(messages: list[ModelMessage]) -> list[str]:
    return [part.content for each in messages for part in each.parts]  # type: ignore[misc,union-attr]


def save_at_once(place: Path, name: str, ready: Any, outcome: Any) -> None:
    async def main() -> str:
        store = CortextConversationStore(place)
        mine = await store.load("s")
        assert mine is not None
        mine.messages.append(said(name))
        ready.wait(60)
        try:
            await store.save(mine)
        except ConversationConflict:
            return "conflict"
        return name

    outcome.put(asyncio.run(main()))
