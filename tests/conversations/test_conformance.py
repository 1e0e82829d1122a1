"""The contract of conversation stores, over every store that we have."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, RedisConversationStore, open_store
from cortext.conversations.base import Conversations
from tests.conversations.clusters import RedisCluster
from tests.conversations.conformance import ConversationStoreSuite
from tests.conversations.databases import PostgresServer
from tests.conversations.servers import RedisServer


class TestMemory(ConversationStoreSuite):
    shared = False

    @pytest.fixture
    def place(self) -> None:
        return None

    def open(self, place: None, **options: Any) -> Conversations:
        return MemoryConversationStore(**options)


class TestFile(ConversationStoreSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return f"file:{tmp_path / 'conversations'}"

    def open(self, place: str, **options: Any) -> Conversations:
        return open_store(place, **options)


class TestRedis(ConversationStoreSuite):
    @pytest.fixture
    def place(self, redis_server: RedisServer) -> tuple[str, str]:
        return redis_server.url, f"test-{uuid.uuid4()}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, prefix = place
        return RedisConversationStore(url, prefix=prefix, **options)


class TestRedisCluster(ConversationStoreSuite):
    ordered = False

    @pytest.fixture
    def place(self, redis_cluster: RedisCluster) -> tuple[str, str]:
        return redis_cluster.url, f"test-{uuid.uuid4()}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, prefix = place
        return open_store(url, prefix=prefix, **options)


class TestPostgres(ConversationStoreSuite):
    @pytest.fixture
    def place(self, postgres_server: PostgresServer) -> tuple[str, str]:
        return postgres_server.url, f"test_{uuid.uuid4().hex}"

    def open(self, place: tuple[str, str], **options: Any) -> Conversations:
        url, schema = place
        return open_store(url, schema=schema, **options)
