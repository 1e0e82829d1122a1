"""The log says how many conversations a store holds, and how much they take up."""

import asyncio
import logging
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, open_store
from cortext.errors import SessionStorageError
from cortext.service.stores import memory_store, store_size_log
from cortext.service.stores.base import Conversations
from cortext.service.stores.store_size_log import StoreUsage, UsageLog, UsageMeter
from tests.service.stores.conformance_base import say
from tests.service.stores.loops import PATIENCE, FakeClock, in_loop, until
from tests.service.stores.servers import RedisServer

MODES = {
    "memory": "in-memory", "file": "file", "redis": "redis", "cluster": "redis",
    "postgres": "postgresql",
}  # fmt: skip
Opener = Callable[..., Conversations]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long to measure."""
    monkeypatch.setattr(store_size_log, "MEASURE_WITHIN", PATIENCE)


@pytest.fixture(params=MODES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def open_kind(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a store of this kind in one place, where nothing is yet."""
    name = f"test_{uuid.uuid4().hex}"
    options: dict[str, Any] = {}
    url = {"memory": "memory:", "file": f"file:{tmp_path / 'conversations'}"}.get(kind, "")
    if kind == "redis":
        url, options = request.getfixturevalue("redis_server").url, {"prefix": name}
    if kind == "cluster":
        url, options = request.getfixturevalue("redis_cluster").url, {"prefix": name}
    if kind == "postgres":
        url, options = request.getfixturevalue("postgres_server").url, {"schema": name}
    return lambda **more: open_store(url, **options, **more)


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    """The lines about usage."""
    found = [r.getMessage() for r in caplog.records if r.levelno == level]
    return [line for line in found if re.match(r"\d+ conversations?\b", line)]


def counts(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [int(line.split()[0]) for line in lines(caplog)]


def megabytes(line: str) -> float:
    found = re.search(r"about ([\d.]+) MB", line)
    assert found is not None, line
    return float(found[1])


@in_loop
async def test_every_store_logs_count_and_size_when_the_count_changes(
    open_kind: Opener, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_kind(max_conversations=3) as store:
        assert f"conversation storage mode: {MODES[kind]}" in caplog.messages
        ids = [await store.create() for _ in range(3)]
        assert counts(caplog) == [1, 2, 3]
        await store.add_message(ids[1], say("x"))
        assert counts(caplog) == [1, 2, 3]
        await store.delete(ids[1])
        await store.delete(ids[1])
        assert counts(caplog) == [1, 2, 3, 2]
        assert caplog.messages.count(f"conversation {ids[1]} deleted") == 1
        await store.create()
        await store.create()
        assert counts(caplog)[-1] == 3
        place = "on disk" if kind in ("file", "postgres") else "of memory"
        assert all(re.search(rf", about \d+\.\d MB {place}$", each) for each in lines(caplog))


@in_loop
async def test_every_store_logs_count_and_size_when_conversations_expire(
    open_kind: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_kind(ttl=0.3) as store:
        id = await store.create()
        await until(lambda: counts(caplog)[-1] == 0, "that the count is 0")
        assert any(line.startswith(f"conversation {id} expired") for line in caplog.messages)


@in_loop
async def test_logged_count_corrects_after_concurrent_first_creates(
    open_kind: Opener, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_size_log, "MEASURE_EVERY", 0.01)
    async with open_kind() as store:
        await asyncio.gather(*(store.create() for _ in range(20)))
        assert len(counts(caplog)) == 20
        async with asyncio.timeout(PATIENCE):
            while counts(caplog)[-1] != 20:
                await store.delete(await store.create())
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["file", "redis", "cluster", "postgres"], indirect=True)
@in_loop
async def test_reopened_store_logs_count_and_size_of_existing_data(
    open_kind: Opener, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_kind() as store:
        for _ in range(3):
            id = await store.create()
            for number in range(20):
                await store.add_message(id, say(str(number) * 100_000))
    caplog.clear()
    async with open_kind() as store:
        await store.create()
        [line] = lines(caplog)
        assert counts(caplog) == [4]
        # PostgreSQL compresses long texts.
        low = 0.1 if kind == "postgres" else 5.0
        assert low <= megabytes(line) < 20.0


@in_loop
async def test_memory_warns_when_one_conversation_grows_above_100_mb(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryConversationStore(window=None)
    id = await store.create()
    for _ in range(25):
        await store.add_message(id, say("x" * 9_000_000))
    assert lines(caplog, logging.WARNING) == [
        "1 conversation, about 108.0 MB of memory", "1 conversation, about 225.0 MB of memory",
    ]  # fmt: skip


@in_loop
async def test_memory_warns_again_after_usage_was_small(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryConversationStore(window=2)
    id = await store.create()
    for size in (60, 60, 1, 1, 60, 60, 60):
        await store.add_message(id, say("x" * size * 1_000_000))
    assert len(lines(caplog, logging.WARNING)) == 2


@in_loop
async def test_memory_warns_when_metadata_grows_above_100_mb(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_size_log, "LARGE", 1_000_000)
    store = MemoryConversationStore()
    id = await store.create()
    await store.set_metadata(id, {"text": "x" * 400_000})
    assert len(lines(caplog, logging.WARNING)) == 1


@in_loop
async def test_memory_estimate_does_not_measure_old_messages_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An add costs the new message, and the one that leaves the window."""
    sized: list[str] = []

    def counted(value: Any) -> int:
        sized.append(value)
        return len(value)

    store = MemoryConversationStore(clock=FakeClock(), window=100)
    id = await store.create()
    for number in range(300):
        await store.add_message(id, say(str(number)))
    monkeypatch.setattr(memory_store, "getsizeof", counted)
    await store.add_message(id, say("new"))
    assert sized == ["new", "200"]


@in_loop
async def test_file_store_warns_in_background_when_disk_usage_grows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_size_log, "LARGE", 1_000_000)
    monkeypatch.setattr(store_size_log, "MEASURE_EVERY", 0.05)
    async with open_store(f"file:{tmp_path / 'conversations'}") as store:
        id = await store.create()
        await store.add_message(id, say("x" * 1_100_000))
        await until(lambda: lines(caplog, logging.WARNING), "a warning")
        # A durable store grows: the next warning comes at twice the size.
        await store.create()
        await store.create()
        assert len(lines(caplog, logging.WARNING)) == 2
        assert megabytes(lines(caplog, logging.WARNING)[1]) >= 2.2


@in_loop
async def test_redis_without_memory_permission_still_logs_count(
    start_redis: Callable[..., RedisServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = start_redis()
    import redis.asyncio

    admin = redis.asyncio.Redis.from_url(server.url)
    rule = ("+@all", "-memory", "-memory|usage", "~*", "&*", "on", ">secret")
    await admin.execute_command("ACL", "SETUSER", "app", *rule)
    await admin.aclose()
    async with open_store(server.url.replace("redis://", "redis://app:secret@")) as store:
        for _ in range(3):
            await store.create()
    assert lines(caplog) == [f"{count} conversations" for count in (1, 2, 3)]
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith("the size of the conversations is unknown: ")
    assert "secret" not in warnings[0]


@in_loop
async def test_slow_measurement_delays_only_first_change(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_size_log, "MEASURE_WITHIN", 0.01)
    asked: list[int] = []

    async def measure() -> StoreUsage:
        asked.append(1)
        await asyncio.Event().wait()
        raise SessionStorageError("never")

    meter = UsageMeter(UsageLog("on disk"), measure)
    await meter.count_changed(1)
    await meter.count_changed(1)
    await meter.set_count(7)
    assert (len(asked), lines(caplog)) == (1, ["7 conversations"])
    assert any(line.endswith("no answer in time") for line in caplog.messages)
    await meter.aclose()


@in_loop
async def test_logged_size_follows_count_between_measurements(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[int] = []

    async def measure() -> StoreUsage:
        asked.append(1)
        return StoreUsage(2, 20_000_000.0)

    meter = UsageMeter(UsageLog("on disk"), measure)
    for by in (1, 1, -3, 1, -9):
        await meter.count_changed(by)
    assert [(int(line.split()[0]), megabytes(line)) for line in lines(caplog)] == [
        (2, 20.0), (3, 30.0), (0, 0.0), (1, 10.0), (0, 0.0),
    ]  # fmt: skip
    assert len(asked) == 1
    await meter.aclose()
