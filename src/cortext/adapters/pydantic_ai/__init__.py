"""A `ConversationStore` for pydantic-ai that stores conversations with cortext.

store = CortextConversationStore()
conversation = await store.load("order-17") or Conversation(conversation_id="order-17")
result = await agent.run("Where is my parcel?", conversation=conversation)
await store.save(result, scope="ada")
"""

from __future__ import annotations

from cortext.adapters.pydantic_ai.conversation_store import CortextConversationStore, OwnerConflict

__all__ = ["CortextConversationStore", "OwnerConflict"]
