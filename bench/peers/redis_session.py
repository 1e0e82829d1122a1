"""openai-agents' RedisSession beside ours: `python -m bench.peers.redis_session SOCKET ROUNDS`, by
a Python that has both, prints the median seconds of each as JSON.

In turns, in one process, on one server. Both add one message of 500 bytes to a conversation that
expires after an hour, and read the last 20 of it.
"""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import sys

from bench.service import TEXT, WINDOW, in_turns

from .base import clean_room


async def measure(address: str, rounds: int) -> dict[str, float]:
    from agents.extensions.memory import RedisSession

    from cortext.service.stores.port import Message
    from cortext.service.stores.redis.redis_conversations import RedisConversationStore

    theirs = RedisSession.from_url("bench", url=f"unix://{address}", ttl=3600)
    item = {"role": "user", "content": TEXT}
    async with RedisConversationStore(f"unix://{address}", prefix="beside") as ours:
        id = await ours.create()
        for _ in range(WINDOW):
            await theirs.add_items([item])
            await ours.add_message(id, Message("user", TEXT))
        found = await in_turns(
            {
                "RedisSession add": lambda: theirs.add_items([item]),
                "add beside it": lambda: ours.add_message(id, Message("user", TEXT)),
                "RedisSession history": lambda: theirs.get_items(limit=WINDOW),
                "history beside it": lambda: ours.get_history(id),
            },
            rounds,
        )
        told = len(await theirs.get_items(limit=WINDOW)), len(await ours.get_history(id))
    await theirs.close()
    if told != (WINDOW, WINDOW):
        raise SystemExit(f"{told} messages were read")
    return found


if __name__ == "__main__":
    socket, count = sys.argv[1:]
    clean_room(f"{socket}-peer")
    print(json.dumps(asyncio.run(measure(socket, int(count)))))
