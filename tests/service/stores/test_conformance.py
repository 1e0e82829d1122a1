"""The contract of conversation stores, over every store that we have."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, RedisConversationStore, open_store
from cortext.service.stores.base import Conversations
from tests.service.stores.clusters import RedisCluster
from tests.service.stores.conformance import ConversationStoreSuite
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import PATIENCE, in_loop
from tests.service.stores.servers import RedisServer


class StoreSuite(ConversationStoreSuite):
    """Beside what a client of a server does too."""

    @in_loop
    async def test_list_below_owner_includes_nested_owners_only(self, place: Any) -> None:
        """Newest first among all of them, and nobody else's, whatever their names begin with."""
        owners = ["a", "a/x", "b", "a/x/y", "ab", "", "/a", "a/", "a"]
        async with self.opened(place) as store:
            ids = [await store.create(owner=owner, metadata={"o": owner}) for owner in owners]
            found = await store.list(owner="a", below=True)
            assert [entry.owner for entry in found] == ["a", "a/", "a/x/y", "a/x", "a"]
            assert [entry.metadata["o"] for entry in found] == [entry.owner for entry in found]
            assert [e.id for e in await store.list(owner="a", below=True, limit=2)] == [
                ids[8], ids[7],
            ]  # fmt: skip
            assert [e.owner for e in await store.list(owner="", below=True)] == ["/a", ""]
            assert await store.list(owner="nobody", below=True) == []
            for id in ids[1:4]:
                await store.delete(id)
            left = await store.list(owner="a", below=True, limit=None)
            assert [entry.id for entry in left] == [ids[8], ids[7], ids[0]]
            for bad in (None, "a/x"):
                with pytest.raises(ValueError, match="below"):
                    await store.list(owner=bad, below=True)


class TestMemory(StoreSuite):
    shared = False

    @pytest.fixture
    def place(self) -> None:
        return None

    def open(self, place: None, **options: Any) -> Conversations:
        return MemoryConversationStore(**options)


class TestFile(StoreSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return f"file:{tmp_path / 'conversations'}"

    def open(self, place: str, **options: Any) -> Conversations:
        return open_store(place, **options)


class TestRedis(StoreSuite):
    @pytest.fixture
    def place(self, redis_server: RedisServer) -> tuple[str, str]:
        return redis_server.url, f"test-{uuid.uuid4()}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, prefix = place
        return RedisConversationStore(url, prefix=prefix, **{"timeout": PATIENCE, **options})


class TestRedisCluster(StoreSuite):
    ordered = False

    @pytest.fixture
    def place(self, redis_cluster: RedisCluster) -> tuple[str, str]:
        return redis_cluster.url, f"test-{uuid.uuid4()}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, prefix = place
        return open_store(url, prefix=prefix, **{"timeout": PATIENCE, **options})


class TestPostgres(StoreSuite):
    @pytest.fixture
    def place(self, postgres_server: PostgresServer) -> tuple[str, str]:
        return postgres_server.url, f"test_{uuid.uuid4().hex}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, schema = place
        return open_store(url, schema=schema, **{"timeout": PATIENCE, **options})
