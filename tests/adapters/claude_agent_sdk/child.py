"""A program of the SDK: `python -m tests.adapters.claude_agent_sdk.child WHAT PROMPT [SESSION]`."""

import asyncio
import json
import os
import shutil
import signal
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from cortext.adapters.claude_agent_sdk import CortextSessionStore


class Dying(CortextSessionStore):
    """The power goes once a call is stored, and before its result is."""

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(key, entries)
        if '"tool_use"' in json.dumps(entries):
            os.killpg(os.getpgid(0), signal.SIGKILL)


async def ask(store: CortextSessionStore, prompt: str, session: str | None) -> None:
    options = ClaudeAgentOptions(
        session_store=store,
        session_store_flush="eager",
        cli_path=shutil.which("claude"),
        allowed_tools=["Bash"],
        resume=session,
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(json.dumps([message.session_id, message.result]))


if __name__ == "__main__":
    what, prompt, *session = sys.argv[1:]
    kind = Dying if what == "dies" else CortextSessionStore
    asyncio.run(ask(kind(), prompt, session[0] if session else None))
