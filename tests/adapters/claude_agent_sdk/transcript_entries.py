"""Entries of a transcript, and what a store must give back of them."""

import asyncio
import json
from typing import Any

from cortext.adapters.claude_agent_sdk import CortextSessionStore

SESSION = "0f0e0d0c-0b0a-4909-8807-060504030201"
KEY: Any = {"project_key": "proj", "session_id": SESSION}
AGENT: Any = {**KEY, "subpath": "subagents/agent-1"}


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def line(number: int, kind: str, content: Any, **fields: Any) -> Any:
    return {
        "parentUuid": uuid(number - 1) if number > 1 else None,
        "isSidechain": False,
        "cwd": "/home/ada/shop",
        "sessionId": SESSION,
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": uuid(number),
        "timestamp": f"2026-01-02T03:04:{number:02d}.000Z",
        **fields,
    }


CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b", "is_error": True}
LINES: list[Any] = [
    line(1, "user", "What is here?"),
    line(2, "assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}]),
    line(3, "assistant", [{"type": "text", "text": "I look."}, CALL]),
    line(4, "user", [RESULT], toolUseResult={"stdout": "a b"}),
    line(5, "assistant", [{"type": "text", "text": "Two files."}]),
    line(6, "user", "<command-name>/cost</command-name>", isMeta=None),
    {"type": "summary", "summary": "Files", "leafUuid": uuid(5)},
    {"type": "mode", "mode": "plan"},
    {
        "type": "of a later release",
        "uuid": 7,
        "message": "not an object",
        "x": [1.0, None, "\ud800"],
    },
]


def check_entries_round_trip(where: Any) -> None:
    """Check that a store gives back every entry, byte for byte."""

    async def main() -> None:
        store = CortextSessionStore(where)
        await store.append(KEY, LINES)
        loaded: Any = await store.load(KEY)
        assert [json.dumps(entry) for entry in loaded] == [json.dumps(entry) for entry in LINES]
        loaded[0]["message"]["content"] = "changed"
        again: Any = await store.load(KEY)
        assert again[0] == LINES[0]

    asyncio.run(main())
