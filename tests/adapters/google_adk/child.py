"""What another process does with a session: `child.py WHAT PLACE`."""

import asyncio
import os
import signal
import sys

from cortext.adapters.google_adk import CortextSessionService
from tests.adapters.google_adk.scenes import APP, USER, call, run, speaker


async def crash_in_a_tool(place: str) -> None:
    """Run until a tool takes the process down."""
    service = CortextSessionService(place)
    await service.create_session(app_name=APP, user_id=USER, session_id="s")
    runner, _ = speaker(service, call("crash", key="x"))
    await run(runner, "s", "do it")


async def wait_for_approval_and_crash(place: str) -> None:
    service = CortextSessionService(place)
    await service.create_session(app_name=APP, user_id=USER, session_id="s")
    runner, _ = speaker(service, call("pay", amount=3), "please confirm")
    await run(runner, "s", "pay the bill")
    os.kill(os.getpid(), signal.SIGKILL)


async def wait_for_the_boss_and_crash(place: str) -> None:
    service = CortextSessionService(place)
    await service.create_session(app_name=APP, user_id=USER, session_id="s")
    runner, _ = speaker(service, call("ask_the_boss", question="may I?"), "asked")
    await run(runner, "s", "ask")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
