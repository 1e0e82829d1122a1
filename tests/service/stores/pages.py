"""The examples of docs/formats/redis.md and postgres.md, made by running the code.

`python -m tests.service.stores.pages` writes them anew; it starts servers of its own.
"""

import asyncio
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import redis.asyncio
from psycopg.types.json import set_json_loads

from cortext import Message, RedisConversationStore
from cortext.service.stores.base import Conversations
from cortext.service.stores.postgres.postgres_conversations import PostgresConversationStore
from tests.service.stores.databases import PostgresServer
from tests.service.stores.servers import RedisServer

FORMATS = Path(__file__).parents[3] / "docs/formats"
ID = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"
AT = datetime(2026, 1, 12, 9, 30, tzinfo=UTC)
TIME = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00")
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def told(page: str) -> str:
    """What stands in a page as the example."""
    found = SHOWN.search((FORMATS / page).read_text(encoding="utf-8"))
    assert found is not None, f"{page} has no example"
    return found[1]


async def fill(store: Conversations) -> None:
    data = {"type": "search", "query": "React libraries"}
    await store.create(owner="ann", metadata={"channel": "web"})
    await store.add_message(ID, Message("user", "find React libraries", AT, id="m-1"))
    later = AT + timedelta(seconds=5)
    answer = Message("assistant", "Three of them.", later, structured_data=data, id="m-2")
    await store.add_message(ID, answer)


async def in_redis(url: str, prefix: str) -> str:
    """Every key, its type, and what is in it; times are made the same."""
    name = "cortext.service.stores.redis.redis_conversations.new_id"
    async with RedisConversationStore(url, prefix=prefix) as store:
        with mock.patch(name, return_value=ID):
            await fill(store)
        client = redis.asyncio.Redis.from_url(url, decode_responses=True, protocol=2)
        lines = [line for key in sorted(await client.keys(f"{prefix}:*"))
                 for line in await _key(client, key)]  # fmt: skip
        await client.aclose()
    text = "\n".join(lines).replace(prefix, "conv")
    return re.sub(r"\b1\d{15}\b", f"{int(AT.timestamp())}000000", text) + "\n"


async def _key(client: Any, key: Any) -> list[str]:
    kind = await client.type(key)
    found = {
        "hash": lambda: client.hgetall(key),
        "list": lambda: client.lrange(key, 0, -1),
        "zset": lambda: client.zrange(key, 0, -1, withscores=True),
    }[kind]
    value = await found()
    expires = "  expires" if await client.pttl(key) > 0 else ""
    if kind == "hash":
        inside = [f"{name:<10} {text}" for name, text in sorted(value.items())]
    elif kind == "zset":
        inside = [f"{score:.0f}  {member}" for member, score in value]
    else:
        inside = value
    return [f"{key}  ({kind}){expires}", *(f"    {line}" for line in inside)]


async def in_postgres(url: str, schema: str) -> str:
    """Every table, its columns, and its rows; times are made the same."""
    name = "cortext.service.stores.postgres.postgres_conversations.new_id"
    async with PostgresConversationStore(url, schema=schema) as store:
        with mock.patch(name, return_value=ID):
            await fill(store)
    lines = await asyncio.to_thread(_tables, url, schema)
    return TIME.sub(f"{AT:%Y-%m-%d %H:%M:%S}+00", "\n".join(lines)) + "\n"


def _tables(url: str, schema: str) -> list[str]:
    lines: list[str] = []
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        set_json_loads(_as_it_is, connection)
        for table in ("conversations", "messages", "version"):
            columns = connection.execute(
                "select column_name, data_type from information_schema.columns"
                " where table_schema = %s and table_name = %s order by ordinal_position",
                (schema, table),
            ).fetchall()
            lines.append(f"{table}")
            for row in connection.execute(f"select * from {schema}.{table} order by 1, 2".encode()):
                told = (f"{name} ({kind})" for name, kind in columns)
                shown = [_text(value) for value in row]
                pairs = zip(told, shown, strict=True)
                lines += [f"    {head:<38} {value}" for head, value in pairs]
                lines.append("")
    return lines[:-1]


def _as_it_is(data: str | bytes) -> str:
    return data if isinstance(data, str) else bytes(data).decode()


def _text(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S.%f}+00" if isinstance(value, datetime) else str(value)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server, database = RedisServer(Path(folder)).start(), PostgresServer()
        try:
            made = {
                "redis.md": asyncio.run(in_redis(server.url, "conv")),
                "postgres.md": asyncio.run(in_postgres(database.start().url, "cortext")),
            }
        finally:
            server.stop()
            database.remove()
    for page, text in made.items():
        path = FORMATS / page
        old = path.read_text(encoding="utf-8")
        block = f"```text\n{text}```"
        path.write_text(SHOWN.sub(lambda _, block=block: block, old, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
