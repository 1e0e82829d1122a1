"""Items come back as they were, and records of others become items."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cortext.adapters.openai_agents import CortextSession
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store
from tests.adapters.openai_agents.item_checks import ITEMS, check_items_round_trip
from tests.adapters.openai_agents.scenes import dumped


def place(kind: str, tmp_path: Path) -> Any:
    return {"path": tmp_path / "kept", "text": str(tmp_path / "kept"), "default": None,
            "memory": "memory:"}.get(kind, f"{kind}:{tmp_path}/kept")  # fmt: skip


@pytest.mark.parametrize("kind", ["path", "text", "default", "log", "file", "document", "memory"])
def test_items_of_every_kind_round_trip(kind: str, tmp_path: Path) -> None:
    """All at once, the last of them, and one by one when they are popped."""
    check_items_round_trip(place(kind, tmp_path))


def test_changing_returned_items_does_not_change_session(tmp_path: Path) -> None:
    """Changing what was given changes nothing that is kept."""

    async def main() -> None:
        for kind in ("memory", "log", "document"):
            session = CortextSession("s", place(kind, tmp_path))
            await session.add_items([ITEMS[6]])
            given: Any = await session.get_items()
            given[0]["content"] = "changed"
            assert dumped(await session.get_items()) == dumped([ITEMS[6]])

    asyncio.run(main())


def test_session_is_readable_as_plain_log_store(tmp_path: Path) -> None:
    """The folder is a plain log store, with roles, texts, calls and results."""

    async def main() -> None:
        session = CortextSession("user:7/chat", tmp_path, owner="ada")
        await session.add_items(ITEMS)

    asyncio.run(main())
    store = LogStore(tmp_path)
    (id,) = store.list_session_ids()
    stored = store.load(id)
    assert (stored.owner, stored.title) == ("ada", "hello")
    assert stored.metadata == {"framework": "openai_agents", "session_id": "user:7/chat"}
    texts = [(message.role, message.content) for message in stored.messages]
    assert texts[0] == ("user", "hello")
    assert ("user", "see\n[image]\n[file: a.pdf]") in texts
    assert ("assistant", "hi\nno") in texts
    made = next(message for message in stored.messages if message.tool_calls)
    assert made.tool_calls == [
        {"id": "c1", "name": "look_up", "arguments": {"a": 1.0, "b": 12345678901234567890123}}
    ]
    answer = next(message for message in stored.messages if message.tool_call_id == "c1")
    assert (answer.role, answer.content) == ("tool", "found")
    assert stored.messages[0].extra == {}


def foreign(store: SessionStore) -> None:
    call = {"id": "t1", "name": "Read File", "arguments": {"path": "a"}}
    done = {"id": "t2", "name": "bash", "arguments": {"command": "ls"}, "result": "a b"}
    messages = [
        SessionMessage("user", "begun elsewhere"),
        SessionMessage("system", "[Request interrupted]"),
        SessionMessage("assistant", ""),
        SessionMessage("assistant", "I look", tool_calls=[call, done]),
        SessionMessage("tool", "text of a", tool_call_id="t1"),
        SessionMessage("assistant", "done", extra={"another_framework": {"x": 1}}),
    ]
    store.save(Session("s", messages=messages))


FOREIGN: list[Any] = [
    {"content": "begun elsewhere", "role": "user"},
    {"content": "[Request interrupted]", "role": "user"},
    {"content": "I look", "role": "assistant"},
    {"arguments": '{"path":"a"}', "call_id": "t1", "name": "Read_File", "type": "function_call"},
    {"arguments": '{"command":"ls"}', "call_id": "t2", "name": "bash", "type": "function_call"},
    {"call_id": "t2", "output": "a b", "type": "function_call_output"},
    {"call_id": "t1", "output": "text of a", "type": "function_call_output"},
    {"content": "done", "role": "assistant"},
]


@pytest.mark.parametrize("kind", ["log", "document"])
def test_session_of_another_program_is_read_as_items(kind: str, tmp_path: Path) -> None:
    """Records of another program are items; each can be counted and popped like one's own."""
    foreign(open_session_store(f"{kind}:{tmp_path}/kept"))

    async def main() -> None:
        session = CortextSession("s", f"{kind}:{tmp_path}/kept")
        assert await session.get_items() == FOREIGN
        for count in range(1, len(FOREIGN) + 2):
            assert await session.get_items(limit=count) == FOREIGN[-count:]
        assert [await session.pop_item() for _ in range(3)] == FOREIGN[:-4:-1]
        assert await session.get_items() == FOREIGN[:-3]
        await session.add_items([{"content": "go on", "role": "user"}])
        assert (await session.get_items())[-1] == {"content": "go on", "role": "user"}

    asyncio.run(main())


def test_add_items_refuses_invalid_item_and_stores_nothing(tmp_path: Path) -> None:
    """One sentence, and nothing of the batch is kept."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        wrong: list[Any] = ["text", {"content": float("nan")}]
        for bad, why in zip(wrong, ("JSON object", "JSON cannot represent"), strict=True):
            with pytest.raises(ValueError, match=why):
                await session.add_items([{"content": "a", "role": "user"}, bad])
        assert await session.get_items() == []

    asyncio.run(main())


def test_damaged_line_is_logged_and_other_items_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The other items are there, and the log names the line."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        await session.add_items(ITEMS[:3])
        file = tmp_path / "s.jsonl"
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join([*lines[:2], b"{torn\n", *lines[3:]]))
        again = CortextSession("s", tmp_path)
        assert await again.get_items() == [ITEMS[0], ITEMS[2]]
        await again.add_items(ITEMS[3:4])
        assert await again.get_items() == [ITEMS[0], ITEMS[2], ITEMS[3]]

    asyncio.run(main())
    assert "line 3" in caplog.text


def test_add_items_keeps_existing_bytes_and_file(tmp_path: Path) -> None:
    """The bytes that are there stay where they are, in the same file."""

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        await session.add_items(ITEMS)
        file = tmp_path / "s.jsonl"
        before, inode = file.read_bytes(), file.stat().st_ino
        await session.add_items([{"content": "new", "role": "user"}])
        after = file.read_bytes()
        assert file.stat().st_ino == inode
        assert after.startswith(before)
        assert json.loads(after[len(before) :])["content"] == "new"

    asyncio.run(main())


def test_list_sessions_filters_by_owner_newest_first(tmp_path: Path) -> None:
    """The newest first, under the ids that the program gave."""

    async def main() -> None:
        for name, owner in (("a/1", "ada"), ("b", "bob"), ("c", "ada")):
            await CortextSession(name, tmp_path, owner=owner).add_items(
                [{"content": f"I am {name}", "role": "user"}]
            )
        foreign(LogStore(tmp_path))
        rows = await CortextSession.list_sessions(tmp_path, owner="ada")
        assert [(row.session_id, row.title) for row in rows] == [
            ("c", "I am c"),
            ("a/1", "I am a/1"),
        ]
        assert [row.waits for row in rows] == [False, False]
        assert len(await CortextSession.list_sessions(tmp_path)) == 4
        assert await CortextSession.list_sessions(tmp_path, owner="nobody") == []
        assert await CortextSession.list_sessions() == []

    asyncio.run(main())


def test_clear_session_removes_items_and_keeps_owner(tmp_path: Path) -> None:
    """The items are gone; the session can be used again."""

    async def main() -> None:
        session = CortextSession("s", tmp_path, owner="ada")
        await session.clear_session()
        await session.add_items(ITEMS[:3])
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(ITEMS[:1])
        assert dumped(await session.get_items()) == dumped(ITEMS[:1])
        assert [row.owner for row in await CortextSession.list_sessions(tmp_path)] == ["ada"]

    asyncio.run(main())
