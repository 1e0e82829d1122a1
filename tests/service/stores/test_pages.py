"""The format pages show what is really kept."""

import uuid

from tests.service.stores import pages
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import in_loop
from tests.service.stores.servers import RedisServer


@in_loop
async def test_redis_format_page_matches_stored_keys(redis_server: RedisServer) -> None:
    """Every key and what is in it; `python -m tests.service.stores.pages` writes it anew."""
    found = await pages.in_redis(redis_server.url, f"test-{uuid.uuid4()}")
    assert found == pages.told("redis.md")


@in_loop
async def test_postgres_format_page_matches_stored_tables(postgres_server: PostgresServer) -> None:
    """Every table, its columns and rows; `python -m tests.service.stores.pages` writes it anew."""
    found = await pages.in_postgres(postgres_server.url, f"test_{uuid.uuid4().hex}")
    assert found == pages.told("postgres.md")
