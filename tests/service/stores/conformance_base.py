"""What the parts of the conformance suite have in common."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cortext import (
    Message,
)  # fmt: skip
from cortext.service.stores.base import Conversations

NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"


def say(text: str, **fields: Any) -> Message:
    return Message("user", text, **fields)


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


async def next_message(events: Any) -> Any:
    """The next event but those that tell of a beginning: from another node of a cluster such a one
    comes late, also to who followed only then."""
    while True:
        event = await anext(events)
        if event.kind != "created":
            return event


class StoreSuite:
    """One store in one place."""

    shared = True
    ordered = True
    """Whether events of several conversations are in order too, not only those of each."""

    def open(self, place: Any, **options: Any) -> Conversations:
        raise NotImplementedError

    @pytest.fixture
    def place(self) -> Any:
        """Where one test's conversations are; nothing is there yet."""
        raise NotImplementedError

    @asynccontextmanager
    async def opened(self, place: Any, **options: Any) -> AsyncIterator[Conversations]:
        async with self.open(place, **options) as store:
            yield store
