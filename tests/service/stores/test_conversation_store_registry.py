"""Conversation stores by URL."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, RedisConversationStore, open_store
from cortext.service.http.service_store_opener import folder_of, shown_store, store_to_show
from cortext.service.stores.file_store import FileConversationStore
from cortext.service.stores.postgres.postgres_conversations import PostgresConversationStore
from cortext.service.stores.store_url_checks import folder_of_url


def test_open_store_chooses_store_class_by_url_scheme(tmp_path: Path) -> None:
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
        ("nonsense", "use memory:, file:, redis:"),
        ("mysql://u:secret@host/x", "not a conversation store: 'mysql://…@host/x'"),
        ("postgresql://u:secret@h/d?nonsense=1", "not a URL of PostgreSQL"),
        ("redis+cluster://u:secret@h:1/7", "only database 0"),
        ("redis://u:secret@h:port/0", "ort"),
        ("memory:x", "memory: takes no path"),
        ("file:", "file: needs a path"),
        ("file://x/y", "write file:x/y for a relative path, or file:/x/y for an absolute path"),
        ("memory:?window=3", "window is not part of the URL: use open_store('memory:…', window=…)"),
        ("file:/tmp/x?ttl=5", "ttl is not part of the URL"),
        ("redis://u:secret@h/0?timeout=3", "timeout is not part of the URL"),
        ("redis://h/0?nonsense=1", "has no option 'nonsense'"),
        ("redis://h/0?ssl_ca_certs=x", "has no option 'ssl_ca_certs': it needs rediss:"),
        ("redis+cluster://h:1?nonsense=1", "no option 'nonsense'"),
        ("redis+sentinel://h:1/s?nonsense=1", "no option 'nonsense'"),
        ("redis://h/x", "a database of Redis must be a number"),
        ("redis:h", "two slashes and a host must follow redis:"),
        ("", "not a conversation store"),
        ("http", "use memory:, file:, redis:"),
        ("http://127.0.0.1:8733", "use cortext.client.AsyncClient(url, token)"),
        ("https://u:secret@h", "cortext.client.AsyncClient"),
        ("log:sessions", "use file:PATH"),
        ("document:sessions", "cortext.open_session_store"),
        ("workspace:sessions", "cortext.open_session_store"),
    ],
)
def test_open_store_error_explains_bad_url_without_password(url: str, said: str) -> None:
    """It says what there is, and repeats no password."""
    with pytest.raises(ValueError) as caught:
        open_store(url)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "option", "said"),
    [
        ("memory:", "timeout", "memory: has no option 'timeout' (redis: and postgresql: have it)"),
        ("file:x", "prefix", "file: has no option 'prefix' (redis: has it)"),
        ("redis://h", "schema", "redis: has no option 'schema' (postgresql: has it)"),
        ("postgresql://h/d", "wait_replicas", "'wait_replicas' (redis: has it)"),
        (
            "rediss://h",
            "nonsense",
            "rediss: has no option 'nonsense'; its options are max_conversations",
        ),
    ],
)
def test_open_store_error_names_stores_that_take_the_option(
    url: str, option: str, said: str
) -> None:
    """With the stores that take it, and what this one takes."""
    with pytest.raises(ValueError) as caught:
        open_store(url, **{option: 1})
    assert said in str(caught.value)


@pytest.mark.parametrize("url", ["redis://h", "postgresql://h/d"])
@pytest.mark.parametrize("bad", [0, -1, "5", None, True, float("nan")])
def test_open_store_refuses_invalid_timeout(url: str, bad: object) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        open_store(url, timeout=bad)


def test_file_url_accepts_three_slashes(tmp_path: Path) -> None:
    """`file:///PATH` is `file:/PATH`, as elsewhere."""
    ids = []
    for url in (f"file:{tmp_path}/x", f"file://{tmp_path}/x"):
        store = open_store(url)
        ids.append(asyncio.run(store.create()))
    assert sorted(path.stem for path in (tmp_path / "x").glob("*.jsonl")) == sorted(ids)


@pytest.mark.parametrize("url", [None, 7, b"memory:"])
def test_open_store_refuses_url_that_is_not_text(url: Any) -> None:
    """What an empty environment gives is said in one sentence."""
    with pytest.raises(
        ValueError, match=r"the URL of a conversation store must be a string, not \w+$"
    ):
        open_store(url)


def test_file_url_expands_tilde_to_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kept").mkdir()
    assert folder_of_url("~/kept") == folder_of("file:~/kept") == str(tmp_path / "kept")
    assert shown_store("file:~/kept") == f"file:{tmp_path}/kept"
    assert isinstance(store_to_show("file:~/kept"), FileConversationStore)
