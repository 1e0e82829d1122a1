"""(n) the conversation stores: what one process does with the store in memory, a round trip to
Redis beside ours, and a posted message beside an empty route of the same server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import median

from cortext.service.stores.conversation_json import encode_message
from cortext.service.stores.memory_store import MemoryConversationStore
from cortext.service.stores.port import Message
from cortext.service.stores.redis.redis_conversations import RedisConversationStore

LIVE = 1_000
WINDOW = 20
TEXT = "x" * 500
_CREATES = 100_000


def in_memory(rounds: int) -> dict[str, float]:
    """Messages added in a second with 1,000 conversations live, the MB that these take above the
    bare process, and MB after 100,000 creates above those after 10,000."""
    return {
        "rate": max(asyncio.run(_rate()) for _ in range(rounds)),
        "memory": _above(_FILLED) - _above("pass"),
        "creates": _above(_CREATED.format(_CREATES)) - _above(_CREATED.format(_CREATES // 10)),
    }


async def _rate() -> float:
    store = MemoryConversationStore(max_conversations=LIVE)
    ids = [await store.create() for _ in range(LIVE)]
    messages = [Message("user", TEXT) for _ in range(50 * LIVE)]
    began = time.perf_counter()
    for number, message in enumerate(messages):
        await store.add_message(ids[number % LIVE], message)
    spent = time.perf_counter() - began
    held = sum([len(await store.get_history(id)) for id in ids])
    await store.aclose()
    if held != LIVE * WINDOW:
        raise SystemExit(f"{held} messages are held")
    return len(messages) / spent


_FILLED = f"""
async def main():
    store = MemoryConversationStore()
    for _ in range({LIVE}):
        id = await store.create()
        for number in range({WINDOW}):
            await store.add_message(id, Message("user", f"{{number:0500}}"))
asyncio.run(main())
"""
_CREATED = """
import logging
logging.disable()
async def main():
    store = MemoryConversationStore()
    for _ in range({}):
        await store.create()
asyncio.run(main())
"""
_BEGIN = """
import asyncio
from cortext.service.stores.memory_store import MemoryConversationStore
from cortext.service.stores.port import Message
"""
_END = "\nprint(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"


def _above(code: str) -> float:
    """Peak MB of a process that does this."""
    command = [sys.executable, "-c", f"{_BEGIN}{code}{_END}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout.split()[-1]) / 1024


async def in_turns(
    operations: dict[str, Callable[[], Awaitable[object]]], rounds: int
) -> dict[str, float]:
    """The median seconds of each, one after the other in every round."""
    times: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(rounds):
        for name, operation in operations.items():
            began = time.perf_counter()
            await operation()
            times[name].append(time.perf_counter() - began)
    return {name: median(spent) for name, spent in times.items()}


async def _with_redis(address: str, rounds: int) -> dict[str, float]:
    """Median seconds of an added message and of a history, and of a raw push and a raw range of
    the same bytes."""
    from redis.asyncio import Redis

    client = Redis(unix_socket_path=address)
    message = Message("user", TEXT)
    line = encode_message(message)
    async with RedisConversationStore(f"unix://{address}") as store:
        id = await store.create()
        for _ in range(WINDOW):
            await store.add_message(id, Message("user", TEXT))
            await client.execute_command("RPUSH", "raw", line)
        found = await in_turns(
            {
                "raw push": lambda: client.execute_command("RPUSH", "pushed", line),
                "add": lambda: store.add_message(id, Message("user", TEXT)),
                "raw range": lambda: client.execute_command("LRANGE", "raw", -WINDOW, -1),
                "history": lambda: store.get_history(id),
            },
            rounds,
        )
    await client.aclose()
    return found


def beside_redis_session(address: str, rounds: int, python: str) -> dict[str, float]:
    """The same beside openai-agents' RedisSession, by a Python that has it."""
    command = [python, "-m", "bench.peers.redis_session", address, str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def with_redis(folder: str, rounds: int, python: str = "") -> dict[str, float]:
    """Both over a server of its own; nothing where there is none, and the second only with a
    Python that has the peers."""
    program = shutil.which("redis-server")
    if not program:
        return {}
    address = os.path.join(folder, "redis")
    command = [program, "--port", "0", "--unixsocket", address, "--save", "", "--dir", folder]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 10
            while not os.path.exists(address) and time.monotonic() < end:
                time.sleep(0.01)
            found = asyncio.run(_with_redis(address, rounds))
            return found | beside_redis_session(address, rounds, python) if python else found
        finally:
            server.terminate()


def in_child(rounds: int, python: str = "") -> dict[str, float]:
    """All of it, from a process of its own; with a Python that has the peers, beside them."""
    command = [sys.executable, "-m", "bench.service", str(rounds), python]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    count, peers = int(sys.argv[1]), "".join(sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="cortext-bench-") as place:
        print(json.dumps({**in_memory(count), **with_redis(place, 400 * count, peers)}))
