"""Conversation stores by URL."""

from pathlib import Path

import pytest

from cortext import MemoryConversationStore, RedisConversationStore, open_store
from cortext.conversations.file import FileConversationStore
from cortext.conversations.postgres import PostgresConversationStore


def test_each_kind_is_found(tmp_path: Path) -> None:
    """A URL names the store; nothing is touched or connected yet."""
    assert isinstance(open_store("memory:", window=3), MemoryConversationStore)
    assert isinstance(open_store(f"file:{tmp_path}/x", ttl=5), FileConversationStore)
    for url in ("redis://h:1/0", "rediss://h", "redis+cluster://h:1,i:2", "rediss+sentinel://h/s"):
        assert isinstance(open_store(url, prefix="p"), RedisConversationStore)
    for url in ("postgresql://h/d", "postgres://h/d"):
        assert isinstance(open_store(url, schema="p"), PostgresConversationStore)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "there are memory:, file:, redis:"),
        ("mysql://u:secret@host/x", "not a conversation store: 'mysql://…@host/x'"),
        ("postgresql://u:secret@h/d?nonsense=1", "not a URL of PostgreSQL"),
        ("redis+cluster://u:secret@h:1/7", "only database 0"),
        ("redis://u:secret@h:port/0", "ort"),
        ("memory:x", "memory: takes no path"),
        ("file:", "file: needs a place"),
        ("", "not a conversation store"),
    ],
)
def test_a_bad_url_is_one_sentence(url: str, said: str) -> None:
    """It says what there is, and repeats no password."""
    with pytest.raises(ValueError) as caught:
        open_store(url)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
