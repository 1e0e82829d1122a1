"""Lists of transcripts on a server: they read what is new, and no session whole."""

import asyncio
from typing import Any

from cortext.adapters.claude_agent_sdk import CortextSessionStore

_MANY = 50


def test_list_session_summaries_reads_only_new_entries(redis_url: str, lines: list[bytes]) -> None:
    """A list shows what another process added, and has read that alone."""
    store, other = CortextSessionStore(redis_url), CortextSessionStore(redis_url)
    key: Any = {"project_key": "p", "session_id": "s"}
    asked: list[Any] = [
        {"type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": f"question {n}"}}
        for n in range(_MANY)
    ]
    asyncio.run(other.append(key, asked))
    (first,) = asyncio.run(store.list_session_summaries("p"))
    named: Any = {"type": "custom-title", "uuid": "t", "customTitle": "Parcels", "sessionId": "s"}
    asyncio.run(other.append(key, [named]))
    lines.clear()
    (second,) = asyncio.run(store.list_session_summaries("p"))
    (listed,) = asyncio.run(store.list_sessions("p"))
    assert first["data"] != second["data"]
    assert "Parcels" in str(second["data"])
    assert (listed["session_id"], listed["mtime"]) == ("s", second["mtime"])
    assert len(lines) < _MANY
    fresh = CortextSessionStore(redis_url)
    assert asyncio.run(fresh.list_session_summaries("p")) == [second]
