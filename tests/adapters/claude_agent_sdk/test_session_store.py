"""The SDK's own contracts, and what it does with a store."""

import asyncio
import json
import multiprocessing
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    delete_session_via_store,
    fork_session_via_store,
    get_session_messages_from_store,
    import_session_to_store,
    list_sessions_from_store,
    list_subagents_from_store,
    project_key_for_directory,
    rename_session_via_store,
)
from claude_agent_sdk.testing import run_session_store_conformance

from cortext.adapters.claude_agent_sdk import CortextSessionStore
from cortext.errors import InvalidIdError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.claude_agent_sdk.transcript_entries import (
    AGENT,
    KEY,
    LINES,
    SESSION,
    check_entries_round_trip,
    line,
    uuid,
)


def place(kind: str, tmp_path: Path) -> Any:
    return {"path": tmp_path / "kept", "default": None, "memory": "memory:"}.get(
        kind, f"{kind}:{tmp_path}/kept"
    )


@pytest.mark.parametrize("kind", ["path", "default", "log", "document", "memory"])
def test_session_store_passes_sdk_conformance_suite(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All contracts of the SDK, the optional ones too, over each store."""
    fresh = count()

    def make() -> CortextSessionStore:
        folder = tmp_path / str(next(fresh))
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        return CortextSessionStore(place(kind, folder))

    asyncio.run(run_session_store_conformance(make))


@pytest.mark.parametrize("kind", ["log", "document", "memory"])
def test_entries_round_trip_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Byte for byte, also those that we do not understand, and as the reader's own."""
    check_entries_round_trip(place(kind, tmp_path))


def test_session_is_readable_as_plain_log_store(tmp_path: Path) -> None:
    """The folder is a plain log store; the project owns the session; sub-agents are apart."""

    async def main() -> None:
        store = CortextSessionStore(tmp_path)
        await store.append(KEY, LINES)
        await store.append(AGENT, [line(1, "user", "the agent's task", isSidechain=True)])

    asyncio.run(main())
    (id,) = LogStore(tmp_path).list_session_ids()
    session = LogStore(tmp_path).load(id)
    assert SESSION in id
    assert (session.owner, session.title) == ("proj", "What is here?")
    assert session.working_dir == "/home/ada/shop"
    said = [(message.role, message.content) for message in session.messages]
    assert said[:6] == [
        ("user", "What is here?"), ("assistant", ""), ("assistant", "I look."), ("tool", "a b"),
        ("assistant", "Two files."), ("user", "/cost"),
    ]  # fmt: skip
    assert session.messages[2].tool_calls == [
        {"id": "toolu_1", "name": "Bash", "arguments": {"command": "ls"}}
    ]
    assert session.messages[3].tool_call_id == "toolu_1"
    assert session.messages[3].structured_data == {"is_error": True}
    (agent,) = LogStore(tmp_path / "subagents").list_session_ids()
    assert LogStore(tmp_path / "subagents").head(agent).parent_id == id


def test_repeated_entry_is_stored_once(tmp_path: Path) -> None:
    """Sent again, by the same store or by another one, and also twice in one batch."""

    async def main() -> None:
        many = [line(number, "user", f"text {number}") for number in range(1, 301)]
        await CortextSessionStore(tmp_path).append(KEY, many + many[:2])
        again = CortextSessionStore(tmp_path)
        await again.append(KEY, many)
        await again.append(KEY, [line(301, "user", "new")])
        assert await again.load(KEY) == [*many, line(301, "user", "new")]

    asyncio.run(main())
    store = LogStore(tmp_path)
    assert store.load(store.list_session_ids()[0]).message_count == 301


def test_append_keeps_existing_bytes_and_file(tmp_path: Path) -> None:
    """The bytes that are there stay where they are, in the same file."""
    store = CortextSessionStore(tmp_path)
    asyncio.run(store.append(KEY, LINES))
    (file,) = tmp_path.glob("*.jsonl")
    before, inode = file.read_bytes(), file.stat().st_ino
    asyncio.run(store.append(KEY, [line(9, "user", "new")]))
    assert file.stat().st_ino == inode
    assert file.read_bytes().startswith(before)


def write(place: Path, name: int, batches: int) -> None:
    """Append batches, and note each that is acknowledged."""

    async def main() -> None:
        store = CortextSessionStore(place / "kept")
        with (place / f"w{name}").open("w", encoding="utf-8") as acknowledged:
            for batch in range(batches):
                numbers = [name * 1000 + batch * 2 + each for each in (1, 2)]
                await store.append(KEY, [line(number, "user", "x") for number in numbers])
                print(*map(uuid, numbers), file=acknowledged, flush=True)

    asyncio.run(main())


def test_eight_processes_append_to_one_session_without_loss(tmp_path: Path) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write, args=(tmp_path, name, 10)) for name in range(1, 9)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(100)
    assert [writer.exitcode for writer in writers] == [0] * 8
    entries: Any = asyncio.run(CortextSessionStore(tmp_path / "kept").load(KEY))
    found = [entry["uuid"] for entry in entries]
    assert len(found) == 160
    for name in range(1, 9):
        acknowledged = (tmp_path / f"w{name}").read_text(encoding="utf-8").split()
        assert len(acknowledged) == 20
        mine = [id for id in found if int(id[-12:], 16) // 1000 == name]
        assert mine == acknowledged


def test_sdk_functions_list_read_rename_fork_and_delete_sessions(tmp_path: Path) -> None:
    """By its own functions over a store: list, messages, sub-agents, rename, fork, delete."""

    async def main() -> None:
        store = CortextSessionStore(tmp_path / "kept")
        directory = str(tmp_path)
        key: Any = {"project_key": project_key_for_directory(directory), "session_id": SESSION}
        before = time.time_ns() // 1_000_000
        await store.append(key, LINES)
        await store.append({**key, "subpath": "subagents/agent-1"}, [line(1, "user", "task")])
        (info,) = await list_sessions_from_store(store, directory)
        assert (info.first_prompt, info.cwd) == ("What is here?", "/home/ada/shop")
        assert before <= info.last_modified <= time.time_ns() // 1_000_000
        messages = await get_session_messages_from_store(store, SESSION, directory)
        assert [message.uuid for message in messages][:3] == [uuid(1), uuid(2), uuid(3)]
        assert await list_subagents_from_store(store, SESSION, directory) == ["1"]
        await rename_session_via_store(store, SESSION, "My files", directory)
        (info,) = await list_sessions_from_store(CortextSessionStore(tmp_path / "kept"), directory)
        assert info.custom_title == "My files"
        (id,) = LogStore(tmp_path / "kept").list_session_ids()
        assert LogStore(tmp_path / "kept").head(id).title == "My files"
        fork = await fork_session_via_store(store, SESSION, directory)
        assert len(await list_sessions_from_store(store, directory)) == 2
        await delete_session_via_store(store, SESSION, directory)
        (left,) = await list_sessions_from_store(store, directory)
        assert left.session_id == fork.session_id
        assert LogStore(tmp_path / "kept" / "subagents").list_session_ids() == []

    asyncio.run(main())


def test_repeated_import_of_claude_code_transcript_stores_entries_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the SDK's own import, which may be repeated."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    directory = str(tmp_path)
    project = tmp_path / "claude" / "projects" / project_key_for_directory(directory)
    project.mkdir(parents=True)
    text = "".join(f"{json.dumps(entry)}\n" for entry in LINES[:6])
    (project / f"{SESSION}.jsonl").write_text(text, encoding="utf-8")

    async def main() -> None:
        for _ in range(2):
            store = CortextSessionStore(tmp_path / "kept")
            await import_session_to_store(SESSION, store, directory=directory)
        key: Any = {"project_key": project.name, "session_id": SESSION}
        assert await store.load(key) == LINES[:6]

    asyncio.run(main())


def test_session_of_another_program_can_be_resumed(tmp_path: Path) -> None:
    """Its records are lines of a transcript, the same each time; what is said next joins them."""
    call = {"id": "c1", "name": "bash", "arguments": {"command": "make"}}
    messages = [
        SessionMessage("user", "begun elsewhere"),
        SessionMessage("assistant", "I build", tool_calls=[call]),
        SessionMessage("tool", "built", tool_call_id="c1"),
        SessionMessage("assistant", ""),
        SessionMessage("assistant", "done"),
    ]
    session = Session(SESSION, messages=messages, working_dir="/home/ada/shop")
    LogStore(tmp_path).save(session)

    async def main() -> None:
        store = CortextSessionStore(tmp_path)
        entries: Any = await store.load(KEY)
        assert [entry["type"] for entry in entries] == ["user"] + ["assistant"] * 3
        assert entries[0]["message"]["content"] == "begun elsewhere"
        assert "make" in entries[1]["message"]["content"][0]["text"]
        assert "built" in entries[2]["message"]["content"][0]["text"]
        parents = [entry["parentUuid"] for entry in entries]
        assert parents == [None, *(entry["uuid"] for entry in entries[:-1])]
        new = line(9, "user", "go on", parentUuid=entries[-1]["uuid"])
        await store.append(KEY, [new])
        assert await CortextSessionStore(tmp_path).load(KEY) == [*entries, new]

    asyncio.run(main())
    assert LogStore(tmp_path).load(SESSION).messages[-1].content == "go on"
    assert LogStore(tmp_path).list_session_ids() == [SESSION]


def test_load_hides_conversation_of_another_owner(tmp_path: Path) -> None:
    """Who asks by an id gets what is its project's, or nobody's."""
    messages = [SessionMessage("user", "private")]
    LogStore(tmp_path).save(Session(SESSION, messages=messages, owner="bob"))

    async def main() -> None:
        store = CortextSessionStore(tmp_path)
        assert await store.load(KEY) is None
        await store.append(KEY, LINES[:1])
        assert await store.load(KEY) == LINES[:1]
        await store.delete(KEY)

    asyncio.run(main())
    assert LogStore(tmp_path).load(SESSION).messages == messages


def test_list_sessions_includes_owned_sessions_of_other_frameworks(tmp_path: Path) -> None:
    """For the project that owns it, with its first words, and it can be resumed."""
    for id, owner in ((SESSION, "proj"), ("bobs", "bob")):
        said = [SessionMessage("user", "begun elsewhere")]
        LogStore(tmp_path).save(Session(id, owner=owner, messages=said))

    async def main() -> None:
        store = CortextSessionStore(tmp_path)
        assert [row["session_id"] for row in await store.list_sessions("proj")] == [SESSION]
        [summary] = await store.list_session_summaries("proj")
        assert summary["session_id"] == SESSION
        assert "begun elsewhere" in json.dumps(summary["data"])
        assert await store.load(KEY)
        with pytest.raises(InvalidIdError, match="not a valid id: ''"):
            await store.append({"project_key": "proj", "session_id": ""}, LINES[:1])

    asyncio.run(main())


def test_keys_of_any_shape_stay_distinct(tmp_path: Path) -> None:
    """What could not be the name of a file is a key like any other, and none is taken for
    another."""
    keys: list[Any] = [
        {"project_key": "../..", "session_id": "a/b"},
        {"project_key": "../../a", "session_id": "b"},
        {"project_key": "p", "session_id": "q" * 300},
        {"project_key": "p", "session_id": "q" * 301},
        {"project_key": "ä ö", "session_id": "\0"},
        {"project_key": "", "session_id": "x"},
    ]

    async def main() -> None:
        store = CortextSessionStore(tmp_path / "kept")
        for number, key in enumerate(keys):
            entry: Any = {"type": "x", "n": number}
            await store.append(key, [entry])
        for number, key in enumerate(keys):
            assert await store.load(key) == [{"type": "x", "n": number}]
            listed = await store.list_sessions(key["project_key"])
            assert key["session_id"] in [row["session_id"] for row in listed]

    asyncio.run(main())
    assert {path.name for path in tmp_path.iterdir()} <= {"kept", "home-data"}


def test_damaged_line_is_logged_and_other_entries_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The other entries are there, and the log names the line."""
    asyncio.run(CortextSessionStore(tmp_path).append(KEY, LINES[:3]))
    (file,) = tmp_path.glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b"{torn\n", *lines[3:]]))
    found = asyncio.run(CortextSessionStore(tmp_path).load(KEY))
    assert found == [LINES[0], LINES[2]]
    assert "line 3" in caplog.text


def test_summaries_are_cached_and_refreshed_when_session_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new process reads no entries of sessions that did not change; a damaged file does no
    harm."""
    read: list[str] = []
    blocks = LogStore.blocks

    def counted(self: LogStore, id: str, size: int = 1 << 20) -> Any:
        read.append(id)
        return blocks(self, id, size)

    monkeypatch.setattr(LogStore, "blocks", counted)
    other: Any = {"project_key": "proj", "session_id": "other"}

    async def titles() -> list[Any]:
        found = await CortextSessionStore(tmp_path).list_session_summaries("proj")
        return sorted(str(summary["data"].get("first_prompt")) for summary in found)

    async def main() -> None:
        await CortextSessionStore(tmp_path).append(KEY, LINES)
        await CortextSessionStore(tmp_path).append(other, [line(1, "user", "And here?")])
        assert await titles() == ["And here?", "What is here?"]
        assert len(read) == 2
        assert await titles() == ["And here?", "What is here?"]
        assert len(read) == 2
        title: Any = {"type": "custom-title", "customTitle": "Mine"}
        await CortextSessionStore(tmp_path).append(other, [title])
        (found,) = [
            summary
            for summary in await CortextSessionStore(tmp_path).list_session_summaries("proj")
            if summary["session_id"] == "other"
        ]
        assert found["data"]["custom_title"] == "Mine"
        assert len(read) == 3

    asyncio.run(main())
    remembered = tmp_path / ".cortext" / "claude-summaries.sqlite"
    remembered.write_bytes(b"no database" * 100)
    assert asyncio.run(titles()) == ["And here?", "What is here?"]
    assert asyncio.run(titles()) == ["And here?", "What is here?"]
    assert remembered.read_bytes().startswith(b"SQLite")
