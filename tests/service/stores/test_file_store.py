"""Conversations in files: durable, whole, and shared with sessions."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Message, Session, SessionMessage, open_session_store, open_store
from cortext.service.stores.file_store import FileConversationStore
from cortext.stores.log import LogStore
from tests.service.stores.conformance_base import say, texts
from tests.service.stores.loops import FakeClock, in_loop, until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "conversations"


@in_loop
async def test_window_limits_history_but_log_keeps_all_messages(folder: Path) -> None:
    """The log keeps all messages, and they are a session like any other."""
    async with open_store(f"file:{folder}", window=2) as store:
        id = await store.create(owner="ann")
        for number in range(30):
            await store.add_message(id, Message("user", str(number), structured_data={"n": number}))
        assert texts(await store.get_history(id)) == ["28", "29"]
    session = open_session_store(f"log:{folder}").load(id)
    assert [m.content for m in session.messages] == [str(number) for number in range(30)]
    assert (session.owner, session.messages[7].structured_data) == ("ann", {"n": 7})


@in_loop
async def test_file_store_reads_and_continues_any_log_session(folder: Path) -> None:
    """What another program wrote is read and continued, and keeps what only sessions have."""
    log = open_session_store(f"log:{folder}")
    given = SessionMessage("assistant", "done", tool_calls=[{"id": "c"}], tokens=5)
    log.save(Session("by-hand", title="mine", messages=[given]))
    async with open_store(f"file:{folder}") as store:
        await store.add_message("by-hand", say("go on"))
        assert texts(await store.get_history("by-hand")) == ["done", "go on"]
    found = log.load("by-hand")
    assert (found.title, found.messages[0]) == ("mine", given)


class Read(LogStore):
    """Tells which sessions were read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ids: list[str] = []

    def head(self, id: str) -> Session:
        self.ids.append(id)
        return super().head(id)


@in_loop
async def test_list_reads_only_changed_conversations(folder: Path) -> None:
    """Whoever changed it: this store, another process, or one who deleted it."""
    log = Read(folder)
    async with FileConversationStore(log) as store, open_store(f"file:{folder}") as other:
        one, two, three = [await store.create(metadata={"n": [n]}) for n in range(3)]

        async def read_by_list() -> list[str]:
            log.ids.clear()
            found = await store.list(limit=None)
            for entry in found:
                assert entry.metadata["n"] != "spoiled"
                entry.metadata["n"] = "spoiled"
            assert {entry.id: entry.updated_at for entry in found} == {
                entry.id: entry.updated_at for entry in await other.list(limit=None)
            }
            return log.ids

        assert set(await read_by_list()) == {one, two, three}
        assert await read_by_list() == []
        await store.add_message(two, say("hello"))
        assert set(await read_by_list()) == {two}
        await other.add_message(one, say("from elsewhere"))
        await other.set_metadata(three, {"title": "T"})
        assert set(await read_by_list()) == {one, three}
        assert [entry.metadata.get("title") for entry in await store.list()] == ["T", None, None]
        await other.delete(two)
        assert await read_by_list() == []


@in_loop
async def test_list_reads_full_entries_only_for_returned_conversations(folder: Path) -> None:
    """Of the others when they began and whose they are, once, however many there are."""
    log = Read(folder)
    async with FileConversationStore(log) as store:
        ids = [await store.create(owner="anna" if n % 2 else "ben") for n in range(8)]
        log.ids.clear()
        assert [entry.id for entry in await store.list(limit=2)] == ids[:5:-1]
        assert sorted(log.ids) == sorted([*ids, *ids[6:]])
        log.ids.clear()
        assert [entry.id for entry in await store.list(owner="ben", limit=1)] == [ids[6]]
        assert [entry.id for entry in await store.list(owner="anna", limit=2)] == [ids[7], ids[5]]
        assert log.ids == [ids[5]]


@in_loop
async def test_file_store_has_no_ttl_or_limit_by_default(folder: Path) -> None:
    """Durable means durable: neither TTL nor limit unless they are set."""
    clock = FakeClock()
    store = FileConversationStore(LogStore(folder), clock=clock)
    ids = {await store.create() for _ in range(20)}
    clock.advance(1e8)
    assert {entry.id for entry in await store.list()} == ids
    assert clock.calls == []
    await store.aclose()


def stored(folder: Path, id: str, age: timedelta) -> None:
    """A conversation whose last message is so old."""
    when = datetime.now(UTC) - age
    message = SessionMessage("user", "then", when)
    LogStore(folder).save(Session(id, created_at=when, updated_at=when, messages=[message]))


@in_loop
async def test_overdue_conversations_expire_at_next_start(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At the next start what is overdue by the file's own times expires, and no more."""
    stored(folder, "old", timedelta(hours=2))
    stored(folder, "young", timedelta(minutes=30))
    clock = FakeClock()
    store = FileConversationStore(LogStore(folder), ttl=3600, clock=clock)
    assert [entry.id for entry in await store.list()] == ["young"]
    clock.advance(0)
    await until(lambda: not (folder / "old.jsonl").exists())
    clock.advance(1700)
    await asyncio.sleep(0)
    assert (folder / "young.jsonl").exists()
    clock.advance(200)
    await until(lambda: not (folder / "young.jsonl").exists())
    await store.aclose()
    assert sum("expired" in line for line in caplog.messages) == 2


@in_loop
async def test_old_message_timestamp_does_not_shorten_ttl(folder: Path) -> None:
    """After a restart idle time counts from when a message was stored."""
    stored(folder, "busy", timedelta(hours=2))
    async with open_store(f"file:{folder}") as store:
        await store.add_message("busy", say("now", timestamp=datetime(2020, 1, 1, tzinfo=UTC)))
    async with open_store(f"file:{folder}", ttl=3600) as store:
        assert texts(await store.get_history("busy")) == ["then", "now"]


@in_loop
async def test_write_by_another_process_prevents_expiry(folder: Path) -> None:
    """Before a conversation goes, its file has the last word."""
    clock = FakeClock()
    store = FileConversationStore(LogStore(folder), ttl=3600, clock=clock)
    id = await store.create()
    LogStore(folder).append(id, SessionMessage("user", "from elsewhere"))
    clock.advance(3600)
    assert texts(await store.get_history(id)) == ["from elsewhere"]
    clock.advance(3601)
    await until(lambda: not (folder / f"{id}.jsonl").exists())
    await store.aclose()


@in_loop
async def test_max_conversations_counts_existing_conversations(folder: Path) -> None:
    """Also conversations that were there before give way, the oldest first."""
    for number in range(3):
        stored(folder, f"s{number}", timedelta(hours=10 - number))
    async with open_store(f"file:{folder}", max_conversations=2) as store:
        id = await store.create()
        assert [entry.id for entry in await store.list()] == [id, "s2"]


@in_loop
async def test_damaged_file_is_logged_and_never_deleted(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged file hides no other conversation and is not deleted by TTL or limit."""
    stored(folder, "good", timedelta(minutes=1))
    damaged = folder / "damaged.jsonl"
    damaged.write_bytes(b"\xff\xfe not a head\n")
    async with open_store(f"file:{folder}", ttl=3600, max_conversations=1) as store:
        assert [entry.id for entry in await store.list()] == ["good"]
        id = await store.create()
        assert [entry.id for entry in await store.list()] == [id]
    assert damaged.read_bytes() == b"\xff\xfe not a head\n"
    assert any("damaged.jsonl" in line for line in caplog.messages)


ADDING = """
import asyncio, sys, cortext
async def main():
    store = cortext.open_store(sys.argv[1])
    id = await store.create()
    print(id, flush=True)
    for number in range(100000):
        await store.add_message(id, cortext.Message("user", str(number)))
        print(number, flush=True)
asyncio.run(main())
"""


def test_acknowledged_messages_survive_kill_of_process(folder: Path) -> None:
    """What an add returned for is in the file when the process dies at any moment."""
    child = subprocess.Popen(
        [sys.executable, "-c", ADDING, f"file:{folder}"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    id = child.stdout.readline().strip()
    told = [int(child.stdout.readline()) for _ in range(50)]
    os.kill(child.pid, signal.SIGKILL)
    rest, _ = child.communicate()
    told += [int(line) for line in rest.splitlines()]
    kept = [int(json.loads(line)["content"]) for line in lines_of(folder / f"{id}.jsonl")]
    assert kept[: len(told)] == told
    assert asyncio.run(last_of(folder, id)) == str(kept[-1])


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[1:-1]


async def last_of(folder: Path, id: str) -> str:
    async with open_store(f"file:{folder}") as store:
        return (await store.get_history(id, 1))[0].content


@in_loop
async def test_message_added_during_expiry_keeps_conversation(folder: Path) -> None:
    """Another process that adds after it was found idle, and before it is gone, has it stay."""
    clock = FakeClock()
    log = LogStore(folder)
    store = FileConversationStore(log, ttl=10, clock=clock)
    id = await store.create()
    await store.add_message(id, say("early"))
    delete = log.delete

    def late(id: str, **options: Any) -> bool:
        """Somebody else is quicker."""
        LogStore(folder).append(id, SessionMessage("user", "in between"))
        return delete(id, **options)

    log.delete = late
    clock.advance(11)
    await until(lambda: not store._tasks, "expiry was tried")
    log.delete = delete
    assert texts(await store.get_history(id)) == ["early", "in between"]
    await store.add_message(id, say("after"))
    assert texts(await store.get_history(id))[-1] == "after"
    await store.aclose()


RACING = """
import asyncio, sys, cortext
async def main():
    async with cortext.open_store(sys.argv[1], ttl=0.05, window=10000) as store:
        for _ in range(60):
            id, told = await store.create(), []
            for number in range(4):
                await asyncio.sleep(0.02 + 0.01 * (number % 3))
                try:
                    await store.add_message(id, cortext.Message("user", str(number)))
                except cortext.SessionNotFoundError:
                    break
                found = [m.content for m in await store.get_history(id)]
                if found and found[-1] != str(number):
                    print("lost", id, number, found, flush=True)
asyncio.run(main())
"""


def test_processes_expiring_and_adding_concurrently_lose_no_message(folder: Path) -> None:
    """What an add returned for is the last that is read, or the conversation is gone."""
    command = [sys.executable, "-c", RACING, f"file:{folder}"]
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for child in children:
        out, errors = child.communicate(timeout=100)
        assert (child.returncode, out) == (0, ""), errors
