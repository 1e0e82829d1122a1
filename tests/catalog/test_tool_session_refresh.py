"""The sessions of AI tools in the catalog: from what the real tools wrote."""

import gzip
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from cortext import Session, SessionMessage
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import resolve
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.listing.session_of_row import read, read_all
from cortext.features.search.name_or_text_lookup import find_conversation
from cortext.stores.folder import FolderStore
from cortext.tools import transcript_folders
from tests.catalog.spaces import Space
from tests.homes import PROJECT, VERSIONS, Homes, move_project, pack, said, sessions

TOOLS = list(VERSIONS)
ALL = {(tool, id) for tool in TOOLS for id in sessions(tool)}


def listed(catalog: Catalog) -> dict[tuple[str, str], ConversationRow]:
    return {(row.tool, row.key): row for row in catalog.tool_sessions().rows}


def once() -> dict[tuple[str, str], ConversationRow]:
    """What somebody finds who knows nothing yet."""
    with Catalog(":memory:") as catalog:
        return listed(catalog)


def spoken(row: ConversationRow) -> list[list[str]]:
    session, _ = read(row)
    talk = [m for m in session.messages if m.role in ("user", "assistant") and m.content]
    return [[message.role, message.content] for message in talk]


def lengthen(homes: Homes, tool: str) -> None:
    """Let something change in a tool's transcript."""
    if tool == "opencode":
        with sqlite3.connect(homes.transcript(tool)) as db:
            db.execute("UPDATE session SET title = 'Another', time_updated = time_updated + 9")
        db.close()
        return
    with open(homes.transcript(tool), "ab") as file:
        file.write(b'{"type":"nobody knows this"}\n')


def test_sessions_of_every_tool_are_listed_with_their_facts(homes: Homes) -> None:
    """What each tool wrote is there, with its folder, its title and its time."""
    rows = once()
    assert set(rows) == ALL
    for row in rows.values():
        assert (row.working_dir, row.kind, row.status, row.agent) == (
            PROJECT,
            "chat",
            "paused",
            row.tool,
        )
        assert row.title in ("How do we make the parser faster?", "A title")
        assert 0 < row.created_at <= row.last_active
        assert os.path.exists(row.path)


@pytest.mark.parametrize("tool", TOOLS)
def test_session_of_row_is_read_word_for_word(homes: Homes, tool: str) -> None:
    """Word for word, with nothing wrong."""
    id, words = said(tool)
    row = once()[tool, id]
    assert spoken(row) == words
    assert not [damage for damage in read(row)[1] if damage.fatal]


@pytest.mark.parametrize("tool", TOOLS)
def test_session_deleted_by_tool_is_listed_from_archive(homes: Homes, tool: str) -> None:
    """What a tool deleted is listed from our copy as it was, with a catalog and without one."""
    if tool == "opencode":
        _sync()
    else:
        pack(homes, tool)
    (id, words) = said(tool)
    with Catalog.at_home() as catalog:
        before = listed(catalog)
        shutil.rmtree(homes.own[tool])
        after = listed(catalog)
    assert after == once()
    row = after[tool, id]
    assert row.path.startswith(str(homes.archive(tool)))
    assert _as_seen(row) == _as_seen(before[tool, id])
    assert spoken(row) == words
    # Also by what was listed before the tool deleted it.
    assert spoken(before[tool, id]) == words


def _as_seen(row: ConversationRow) -> ConversationRow:
    """Without where the transcript is, and by what it is known to have changed."""
    return replace(row, path="", fingerprint="")


def _sync() -> None:
    from cortext.features.archive.archive_sync import sync

    sync()


def test_archived_session_is_listed_once_from_tool_copy(homes: Homes) -> None:
    """The tool's own copy wins."""
    for tool in ("claude", "codex", "gemini"):
        pack(homes, tool)
    rows = once()
    assert set(rows) == ALL
    assert not [row.path for row in rows.values() if "/archive/" in row.path]


@pytest.mark.parametrize("tool", TOOLS)
def test_refresh_reads_only_changed_session(
    homes: Homes, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second list glances at nothing; after a change, at that one alone."""
    from cortext.catalog import tool_row_reader

    seen: list[str] = []
    plain = tool_row_reader._row

    def count(session: tool_row_reader._Session) -> object:
        seen.append(session.key[1])
        return plain(session)

    monkeypatch.setattr(tool_row_reader, "_row", count)
    with Catalog.at_home() as catalog:
        assert catalog.tool_sessions().changed
        assert len(seen) == len(ALL)
        seen.clear()
        assert not catalog.tool_sessions().changed
        assert seen == []
        lengthen(homes, tool)
        assert catalog.tool_sessions().changed
        assert seen == [said(tool)[0]]
        assert listed(catalog) == once()


def test_refresh_out_of_time_counts_unread_sessions(homes: Homes) -> None:
    """What there was no time for is counted, and read by the next list."""
    with Catalog.at_home() as catalog:
        first = catalog.tool_sessions(patience=0)
        assert first.left + len(first.rows) == len(ALL)
        assert first.left
        assert len(catalog.tool_sessions().rows) == len(ALL)
        assert catalog.tool_sessions().left == 0


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(100_000))


def _holes(path: Path) -> None:
    data = path.read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[:half] + bytes(5000) + data[half:])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _noise(path: Path) -> None:
    path.write_bytes(b"\xff\xfe{]\n" * 500 + b"null\n[]\n42\n")


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize("harm", [_zeros, _holes, _folder, _nothing, _noise, _torn, _loop])
@pytest.mark.parametrize("tool", TOOLS)
def test_damaged_transcript_hides_no_other_session(
    homes: Homes, tool: str, harm: Callable[[Path], None]
) -> None:
    """One bad file hides nothing else, and what is left of it is read."""
    path = homes.transcript(tool)
    harm(path)
    with Catalog.at_home() as catalog:
        rows = listed(catalog)
        assert listed(catalog) == rows == once()
    others = ALL - {(tool, id) for id in sessions(tool)}
    assert others <= set(rows)
    if harm in (_holes, _torn) and tool != "opencode":
        assert (tool, said(tool)[0]) in rows
    for row in rows.values():
        try:
            session, damages = read(row)
        except (CortextError, OSError):
            assert row.tool == tool
        else:
            assert session.messages or damages


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_unreadable_transcript_is_listed_with_note(homes: Homes, tool: str) -> None:
    """It stays in the list, which says what is wrong with it."""
    _zeros(homes.transcript(tool))
    row = once()[tool, said(tool)[0]]
    assert row.is_damaged
    assert str(homes.transcript(tool)) in row.note


def test_archive_copy_is_listed_instead_of_damaged_transcript(homes: Homes) -> None:
    """Where the tool's own cannot be read at all, the archive's is listed and read."""
    pack(homes, "claude")
    id, words = said("claude")
    _zeros(homes.transcript("claude"))
    row = once()["claude", id]
    assert not row.is_damaged
    assert spoken(row) == words


def test_unreadable_folder_is_logged_and_hides_no_session(
    homes: Homes, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder that cannot be listed is named in the log, and the rest is there."""
    if os.getuid() == 0:
        loop = homes.own["claude"] / "projects/loop"
        loop.symlink_to(loop)
    else:
        closed = homes.own["claude"] / "projects/closed"
        closed.mkdir(mode=0)
    with caplog.at_level(logging.WARNING):
        assert set(once()) == ALL
    assert "skipped " in caplog.text


def test_sub_agents_of_claude_are_not_listed_as_rows(homes: Homes) -> None:
    """Their transcripts are not listed, and are found with those that they worked for."""
    id, _ = said("claude")
    path = homes.transcript("claude")
    inner = path.parent / id / "subagents"
    inner.mkdir(parents=True)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    side = [{**line, "isSidechain": True, "agentId": "a1"} for line in lines if "uuid" in line]
    text = "".join(f"{json.dumps(line)}\n" for line in side)
    (inner / "agent-a1.jsonl").write_text(text, encoding="utf-8")
    (path.parent / "agent-b2.jsonl").write_text(text, encoding="utf-8")
    rows = once()
    assert set(rows) == ALL
    assert len(read_all(rows["claude", id]).side) == 2


def test_sub_agents_of_codex_are_not_listed_as_rows(homes: Homes) -> None:
    """They stand among the others, and their first line says whose they are."""
    path = homes.transcript("codex")
    id, other = said("codex")[0], "01a1e1f7-ffff-79a1-814a-63755b257205"
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    meta = json.loads(first)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": id, "depth": 1}}}
    meta["payload"] |= {"id": other, "source": spawned}
    child = path.with_name(path.name.replace(id, other))
    child.write_text(f"{json.dumps(meta)}\n{''.join(rest)}", encoding="utf-8")
    assert set(once()) == ALL


def test_bound_session_is_not_listed_beside_its_conversation(homes: Homes, tmp_path: Path) -> None:
    """Not where the conversation is, and not elsewhere, until it is deleted."""
    space = Space(tmp_path / "space")
    id, _ = said("claude")
    folder = space.add("001-plan-a", "hello", native=[{"tool": "claude", "session_id": id}])
    with Catalog.at_home() as catalog:
        rows = catalog.list([str(space.root)])
        assert (rows[0].session_ids, rows[0].tools) == ([id], {"claude"})
        assert ("claude", id) not in {
            (row.tool, row.key) for row in catalog.tool_sessions(rows).rows
        }
        assert ("claude", id) not in listed(catalog)
        shutil.rmtree(folder)
        assert ("claude", id) in listed(catalog)


def test_workspace_list_contains_only_sessions_below_its_folder(
    homes: Homes, tmp_path: Path
) -> None:
    """A workspace's list has the sessions that were had in its folder or below it."""
    here = Space(tmp_path / "space").root
    there = Space(tmp_path / "space 2").root
    move_project(homes, here / "src")
    assert {(row.tool, row.key) for row in ConversationList(str(here)).list().rows} == ALL
    assert ConversationList(str(there)).list().rows == []
    assert len(ConversationList(str(there), everywhere=True).list().rows) == len(ALL)


def test_list_outside_workspace_contains_sessions_of_current_folder(
    homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sessions of the folder that one is in."""
    from cortext import paths

    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    move_project(homes, tmp_path / "here")
    for name, count in (("here", len(ALL)), ("elsewhere", 0)):
        monkeypatch.chdir(tmp_path / name)
        assert len(ConversationList(paths.workspace_root()).list().rows) == count


def test_list_filters_apply_to_tool_sessions(homes: Homes, tmp_path: Path) -> None:
    """Tool, type, status, time and words choose among sessions as well."""
    root = Space(tmp_path / "space").root
    move_project(homes, root)
    conversations = ConversationList(str(root))
    latest = conversations.list().rows[0]

    def count(**wanted: object) -> int:
        return len(conversations.list(ListFilter(**wanted)).rows)  # type: ignore[arg-type]

    assert count(tool="claude") == len(sessions("claude"))
    assert count(tool="") == count(kind="plan") == count(tags=["x"]) == 0
    assert count(kind="chat") == count(status="paused") == count(with_session=True) == len(ALL)
    assert count(status="completed") == count(status="active") == 0
    assert count(since=latest.last_active) == 1
    assert count(words="FASTER parser") == len(ALL) - 1


@pytest.mark.parametrize("tool", TOOLS)
def test_session_is_found_by_id_id_prefix_and_title(homes: Homes, tool: str) -> None:
    """A session is found by its id, by the beginning of it, and by words of its title."""
    rows = list(once().values())
    id, _ = said(tool)
    title = next(row.title for row in rows if row.key == id)
    assert [row.key for row in resolve(id, rows)] == [id]
    assert [row.key for row in resolve(id[:12], rows)] == [id]
    assert id in [row.key for row in resolve(title.lower(), rows)]
    assert resolve(id[:3], rows) == []
    assert resolve(os.path.basename(homes.transcript(tool)), rows) == []
    # Copied from a terminal that cut it off.
    assert [row.key for row in resolve(f"{id[:12]}…", rows)] == [id]
    assert id in [row.key for row in resolve(f"{title[:-2]}…", rows)]
    assert [resolve(nothing, rows) for nothing in ("…", "12…", f"{id[:3]}…")] == [[], [], []]


@pytest.mark.parametrize("tool", TOOLS)
def test_session_is_found_by_words_of_its_messages(homes: Homes, tmp_path: Path, tool: str) -> None:
    """They find a session when nothing is called so, and `searched` says how many were looked
    through."""
    root = Space(tmp_path / "space").root
    conversations = ConversationList(str(root))
    wanted = ListFilter(tool=tool)
    assert conversations.find("EMPTIED every hour", wanted) == []
    found = find_conversation(conversations, "EMPTIED every hour", wanted)
    assert said(tool)[0] in [row.key for row in found.rows]
    assert found.searched == (len(sessions(tool)),) * 2
    assert find_conversation(conversations, "nobody said this", wanted).rows == []


def test_lookup_by_text_prefers_one_message_that_contains_all_words(tmp_path: Path) -> None:
    space = Space(tmp_path / "space")
    space.add("001-plan-a", "the quick fox", "and a lazy dog")
    space.add("002-plan-b", "the quick dog")
    conversations = ConversationList(str(space.root))
    found = find_conversation(conversations, "quick dog").rows
    assert [row.id for row in found] == ["002-plan-b", "001-plan-a"]
    assert [row.id for row in find_conversation(conversations, "lazy FOX").rows] == ["001-plan-a"]
    assert [row.id for row in conversations.find("lazy fox")] == []


def test_lookup_by_text_finds_tool_output_as_search_does(tmp_path: Path) -> None:
    root = Space(tmp_path / "space").root
    messages = [SessionMessage("user", "list it"), SessionMessage("tool", "zebra.txt")]
    FolderStore(root).save(Session("001-plan-a", status="paused", messages=messages))
    conversations = ConversationList(str(root))
    assert [row.id for row in find_conversation(conversations, "zebra.txt").rows] == ["001-plan-a"]


def test_live_session_is_active_only_if_used_within_a_day(
    homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a process has it, and was it used within a day; the processes of older ones are not
    looked for."""
    root = Space(tmp_path / "space").root
    move_project(homes, root)
    id, _ = said("claude")
    monkeypatch.setattr(
        "cortext.features.listing.conversation_list.live_sessions", lambda: {("claude", id): 1}
    )
    now = max(row.last_active for row in once().values())
    for later, count in ((3600, 1), (90_000, 0)):
        monkeypatch.setattr("time.time", lambda later=later: now / 1e6 + later)
        active = ConversationList(str(root)).list(ListFilter(status="active")).rows
        assert [row.key for row in active] == [id] * count
        assert ConversationList(str(root)).active() == []


def test_session_of_moved_project_is_found_by_id(homes: Homes, tmp_path: Path) -> None:
    """After its folder was moved a session is not here any more, and is found all the same."""
    old = Space(tmp_path / "old").root
    move_project(homes, old)
    assert ConversationList(str(old)).list().rows
    old.rename(tmp_path / "new")
    conversations = ConversationList(str(tmp_path / "new"))
    assert conversations.list().rows == []
    for tool in TOOLS:
        id, _ = said(tool)
        assert [row.key for row in conversations.find(id)] == [id]


def test_session_deleted_everywhere_is_not_listed_and_not_found(homes: Homes) -> None:
    """What neither the tool nor the archive has is not listed, and reading it says so."""
    rows = once()
    for tool in TOOLS:
        shutil.rmtree(homes.own[tool])
    assert once() == {}
    for row in rows.values():
        with pytest.raises(SessionNotFoundError):
            read(row)


def test_place_of_tool_session_fails_and_suggests_import(homes: Homes) -> None:
    """What only a workspace's conversation can do says so, and how to make one."""
    row = once()["claude", said("claude")[0]]
    with pytest.raises(CortextError, match="a session of Claude Code") as caught:
        _ = row.place
    assert caught.value.hint == f"make it a conversation with `cortext import {row.key}`"


def test_list_follows_environment_variables_of_tools(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a tool was told to use is the one that is listed, as its bridge has it."""
    from cortext.tools.registry import open_bridge

    moved = homes.home / "elsewhere"
    variables = {
        "claude": ("CLAUDE_CONFIG_DIR", moved / "claude"),
        "codex": ("CODEX_HOME", moved / "codex"),
        "gemini": ("GEMINI_CLI_HOME", moved),
    }
    for tool, (name, value) in variables.items():
        target = moved / ".gemini" if tool == "gemini" else value
        target.parent.mkdir(parents=True, exist_ok=True)
        homes.own[tool].rename(target)
        monkeypatch.setenv(name, str(value))
    assert set(once()) == ALL
    for tool in TOOLS:
        assert {source.id for source in open_bridge(tool).sources()} == set(sessions(tool))
        assert transcript_folders.look(tool, transcript_folders.own_home(tool)).print


def test_opencode_database_is_listed_from_opencode_db_variable(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCode's database is also listed where its variable puts it."""
    target = homes.home / "other.db"
    homes.transcript("opencode").rename(target)
    assert ("opencode", said("opencode")[0]) not in once()
    monkeypatch.setenv("OPENCODE_DB", str(target))
    assert ("opencode", said("opencode")[0]) in once()


def test_truncated_archive_copy_hides_no_other_session(homes: Homes) -> None:
    """A broken copy in the archive hides nothing else."""
    pack(homes, "claude")
    shutil.rmtree(homes.own["claude"])
    for path in homes.archive("claude").rglob("*.gz"):
        data = gzip.compress(b"{}\n" * 1000)
        path.write_bytes(data[: len(data) // 2])
    assert ALL - {("claude", id) for id in sessions("claude")} <= set(once())
