"""What another process does with a conversation: `child.py WHAT PLACE ARGUMENTS...`."""

import asyncio
import os
import signal
import sys

from pydantic_ai import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart

from cortext.adapters.pydantic_ai import CortextConversationStore
from tests.adapters.pydantic_ai.scenes import call, speaker


async def crash_in_a_tool(place: str) -> None:
    """One run that ends well, and one in which a tool takes the process down."""
    agent, _ = speaker("yes?", call("crash", "c1", key="x"))
    store = CortextConversationStore(place)
    result = await agent.run("hello", conversation=Conversation(conversation_id="s"))
    await store.save(result)
    await agent.run("do it", conversation=await store.load("s"))


async def record_a_call_and_crash(place: str) -> None:
    """End after a call is saved and before its result is."""
    store = CortextConversationStore(place)
    said = [
        ModelRequest([UserPromptPart("do it")]),
        ModelResponse([call("look_up", "c1", key="x")]),
    ]
    await store.save(Conversation(conversation_id="s", messages=said))
    os.kill(os.getpid(), signal.SIGKILL)


async def wait_and_crash(place: str) -> None:
    """Run until an approval is needed, save, and die."""
    agent, _ = speaker(call("pay", "p1", amount=3))
    result = await agent.run("pay the bill", conversation=Conversation(conversation_id="s"))
    await CortextConversationStore(place).save(result, scope="ada")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
