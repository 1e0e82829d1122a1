"""What another process does with a session: `child.py WHAT PLACE ARGUMENTS...`."""

import asyncio
import os
import signal
import sys
from typing import Any

from agents import Runner

from cortext.adapters.openai_agents import CortextSession
from tests.adapters.openai_agents.scenes import call, crash, look_up, pay, speaker


async def begin_and_crash(place: str) -> None:
    """Run until a tool takes the process down."""
    agent, _ = speaker([call("crash", "c1", key="x")], tools=[crash])
    await Runner.run(agent, "do it", session=CortextSession("s", place))


async def record_a_call_and_crash(place: str) -> None:
    """End after a call is recorded and before its result is."""
    session = CortextSession("s", place)
    item: Any = {"arguments": '{"key": "x"}', "call_id": "c1", "name": "look_up",
                 "type": "function_call"}  # fmt: skip
    await session.add_items([{"content": "do it", "role": "user"}, item])
    os.kill(os.getpid(), signal.SIGKILL)


async def wait_and_crash(place: str) -> None:
    """Run until an approval is needed, keep the run, and die."""
    agent, _ = speaker([call("pay", "p1", amount=3)], tools=[pay, look_up])
    session = CortextSession("s", place, owner="ada")
    result = await Runner.run(agent, "pay the bill", session=session)
    await session.save_pending(result.to_state())
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
