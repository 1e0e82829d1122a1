"""A store of somebody else's: the five methods of the specification over a dict, and no more."""

import uuid
from datetime import UTC, datetime

from cortext import Conversation, Message


class PlainStore:
    """Raises KeyError for an unknown conversation, and gives out its own objects."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}

    async def create(self) -> str:
        id, now = str(uuid.uuid4()), datetime.now(UTC)
        self.conversations[id] = Conversation(id, [], now, now)
        return id

    async def get(self, id: str) -> Conversation | None:
        return self.conversations.get(id)

    async def add_message(self, id: str, message: Message) -> None:
        self.conversations[id].messages.append(message)
        self.conversations[id].updated_at = datetime.now(UTC)

    async def get_history(self, id: str, limit: int | None = None) -> list[Message]:
        found = self.conversations.get(id)
        return found.messages[-(limit or 20) :] if found else []

    async def delete(self, id: str) -> None:
        self.conversations.pop(id, None)
