"""Conversation stores by URL."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, RedisConversationStore, open_store
from cortext.service.http.store_urls import folder_of, shown_store, store_to_show
from cortext.service.stores.file_store import FileConversationStore
from cortext.service.stores.postgres.postgres_conversations import PostgresConversationStore
from cortext.service.stores.server_urls import folder_of_url


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
        ("file://x/y", "write file:x/y for a folder here, or file:/x/y for one at the root"),
        ("memory:?window=3", "window does not stand in the URL: open_store('memory:…', window=…)"),
        ("file:/tmp/x?ttl=5", "ttl does not stand in the URL"),
        ("redis://u:secret@h/0?timeout=3", "timeout does not stand in the URL"),
        ("redis://h/0?nonsense=1", "no option 'nonsense' that a URL could name"),
        ("redis://h/0?ssl_ca_certs=x", "'ssl_ca_certs' that a URL could name: that is for rediss:"),
        ("redis+cluster://h:1?nonsense=1", "no option 'nonsense'"),
        ("redis+sentinel://h:1/s?nonsense=1", "no option 'nonsense'"),
        ("redis://h/x", "a database of Redis is a number"),
        ("redis:h", "after redis: come two slashes and a host"),
        ("", "not a conversation store"),
        ("http", "there are memory:, file:, redis:"),
        ("http://127.0.0.1:8733", "reached by cortext.client.AsyncClient(url, token)"),
        ("https://u:secret@h", "cortext.client.AsyncClient"),
        ("log:sessions", "opened by file:PATH"),
        ("document:sessions", "cortext.open_session_store"),
        ("workspace:sessions", "cortext.open_session_store"),
    ],
)
def test_a_bad_url_is_one_sentence(url: str, said: str) -> None:
    """It says what there is, and repeats no password."""
    with pytest.raises(ValueError) as caught:
        open_store(url)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "option", "said"),
    [
        ("memory:", "timeout", "memory: takes no option 'timeout' (redis: and postgresql: do)"),
        ("file:x", "prefix", "file: takes no option 'prefix' (redis: does)"),
        ("redis://h", "schema", "redis: takes no option 'schema' (postgresql: does)"),
        ("postgresql://h/d", "wait_replicas", "'wait_replicas' (redis: does)"),
        (
            "rediss://h",
            "nonsense",
            "rediss: takes no option 'nonsense'; it takes max_conversations",
        ),
    ],
)
def test_an_option_of_another_store_is_named(url: str, option: str, said: str) -> None:
    """With the stores that take it, and what this one takes."""
    with pytest.raises(ValueError) as caught:
        open_store(url, **{option: 1})
    assert said in str(caught.value)


@pytest.mark.parametrize("url", ["redis://h", "postgresql://h/d"])
@pytest.mark.parametrize("bad", [0, -1, "5", None, True, float("nan")])
def test_a_time_out_that_is_none_is_refused(url: str, bad: object) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="timeout is a number of seconds above 0"):
        open_store(url, timeout=bad)


def test_a_file_url_may_have_three_slashes(tmp_path: Path) -> None:
    """`file:///PATH` is `file:/PATH`, as elsewhere."""
    ids = []
    for url in (f"file:{tmp_path}/x", f"file://{tmp_path}/x"):
        store = open_store(url)
        ids.append(asyncio.run(store.create()))
    assert sorted(path.stem for path in (tmp_path / "x").glob("*.jsonl")) == sorted(ids)


@pytest.mark.parametrize("url", [None, 7, b"memory:"])
def test_a_url_is_text(url: Any) -> None:
    """What an empty environment gives is said in one sentence."""
    with pytest.raises(ValueError, match=r"the URL of a conversation store is text .* not \w+$"):
        open_store(url)


def test_tilde_in_a_file_url_is_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kept").mkdir()
    assert folder_of_url("~/kept") == folder_of("file:~/kept") == str(tmp_path / "kept")
    assert shown_store("file:~/kept") == f"file:{tmp_path}/kept"
    assert isinstance(store_to_show("file:~/kept"), FileConversationStore)
