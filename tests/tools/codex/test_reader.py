"""Codex's rollouts: items before events, turns taken back, forks, and files of every age."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortext.errors import SessionStorageError
from cortext.formats.history_in_order import history
from cortext.model.session import Session
from cortext.tools.codex.reader import CodexBridge
from cortext.tools.reader_protocol import Bridge, DecodedTranscript
from tests.tools.codex.codex_lines import HEAD, ID, META, record, user, write

GOLDEN = Path(__file__).parents[1] / "golden" / "codex"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
OTHER = "01a1e1db-1111-7ca2-9f82-001f9edda8b6"


def model(text: str, second: int = 2) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text}]
    return record("response_item", second, type="message", role="assistant", content=parts)


def call(id: str, name: str, given: Any, **more: Any) -> dict[str, Any]:
    arguments = given if isinstance(given, str) else json.dumps(given)
    known = {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
    return record("response_item", 3, **known, **more)


def output(id: str, value: Any) -> dict[str, Any]:
    return record("response_item", 4, type="function_call_output", call_id=id, output=value)


def event(type: str, second: int = 5, **more: Any) -> dict[str, Any]:
    return record("event_msg", second, type=type, **more)


TALK = (*HEAD, user("first", 1), model("second", 2), user("third", 3), model("fourth", 4))


def decode(home: Path, *lines: dict[str, Any] | bytes) -> DecodedTranscript:
    return CodexBridge(str(home)).decode(write(home, *lines))


def words(session: Session) -> list[str]:
    return [message.content for message in session.messages]


def test_two_codex_records_on_one_line_are_both_read(tmp_path: Path) -> None:
    raw = [json.dumps(one).encode() for one in TALK]
    start, last_two = b"\n".join(raw[:-2]), raw[-2] + raw[-1]
    decoded = decode(tmp_path, start + b"\n" + last_two + b"\n")
    assert words(decoded.session) == ["first", "second", "third", "fourth"]
    assert not any(damage.fatal for damage in decoded.damages)


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_codex_rollouts_decode_word_for_word(version: str) -> None:
    """What the real program recorded is read word for word, with the call that it made."""
    bridge = CodexBridge(str(GOLDEN / version))
    expected = json.loads((GOLDEN / version / "said.json").read_text("utf-8"))
    found = {source.id: bridge.decode(source) for source in bridge.sources()}
    assert {
        id: [[m.role, m.content] for m in decoded.session.messages if m.content and not m.name]
        for id, decoded in found.items()
    } == expected
    for decoded in found.values():
        session = decoded.session
        stubs = [p.past.text for p in history(session, lambda n: "show") if p.role == "tool"]
        ending = ["exit code 0", "> The parser is slow.", "> The cache is never emptied."]
        shell = ["exec_command · show, result: message 7", "$ cat notes.txt", *ending]
        assert stubs == ["\n  ".join(shell)]
        assert decoded.damages == []
        assert (session.agent, session.kind, session.working_dir, session.model) == (
            "codex", "chat", "/home/you/project", "stub-1",
        )  # fmt: skip
        assert (session.total_prompt_tokens, session.total_completion_tokens) == (77, 49)


@pytest.mark.parametrize("version", VERSIONS)
def test_codex_glance_matches_decode(version: str) -> None:
    """Title, folder, times, model, branch and version, from the two ends alone."""
    bridge: Bridge = CodexBridge(str(GOLDEN / version))
    for source in bridge.sources():
        session, glance = bridge.decode(source).session, bridge.glance(source)
        facts = session.metadata
        assert glance == (
            session.title, session.working_dir, session.created_at, session.updated_at,
            session.model, facts["git_branch"], facts["tool_version"],
        )  # fmt: skip


def test_message_ids_stay_same_and_unique_after_rollout_grows(tmp_path: Path) -> None:
    """After more was said the messages that were there have the same ids, and no two share one."""
    same = user("again", 5)
    same["payload"]["id"] = "msg_0"
    before = decode(tmp_path, *TALK, same).session.messages
    later = decode(tmp_path, *TALK, same, {**same, "timestamp": "2026-01-01T00:00:06Z"})
    assert later.session.messages[:5] == before
    assert len({message.id for message in later.session.messages}) == 6


def test_codex_injected_texts_are_not_user_messages(tmp_path: Path) -> None:
    """Instructions and surroundings are not said by anyone, also in one message with words."""
    mixed = user("# AGENTS.md instructions for /p")
    mixed["payload"]["content"].append({"type": "input_text", "text": "do it"})
    decoded = decode(
        tmp_path,
        *HEAD,
        user("<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
        record("response_item", type="message", role="developer", content="<permissions>"),
        mixed,
        user("<user_shell_command>\n<command>ls</command>"),
        record("response_item", type="reasoning", summary=[], content=[{"text": "hm"}]),
    )
    assert [(m.role, m.content[:9]) for m in decoded.session.messages] == [
        ("user", "do it"), ("system", "<user_she"),
    ]  # fmt: skip


def test_tool_calls_of_every_kind_are_decoded(tmp_path: Path) -> None:
    """Shell calls old and new, a patch, a call of a server, and those without a result."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    old = json.dumps({"output": "no\n", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
    decoded = decode(
        tmp_path,
        *HEAD,
        call("1", "shell", {"command": ["bash", "-lc", "make"]}),
        output("1", old),
        record("response_item", type="custom_tool_call", call_id="2", name="apply_patch",
               input=patch),
        record("response_item", type="custom_tool_call_output", call_id="2", output="Done"),
        call("3", "search_workspace", {"query": "q"}, namespace="mcp__cortext"),
        output("3", [{"type": "input_text", "text": "found"}, {"type": "input_image"}]),
        record("response_item", type="web_search_call", id="ws_1",
               action={"type": "search", "query": "w"}),
        record("response_item", type="local_shell_call", call_id="4",
               action={"type": "exec", "command": ["ls"]}),
        output("4", {"content": "no", "success": False}),
        call("5", "odd", "{torn"),
    )  # fmt: skip
    texts = [part.past.text for part in history(decoded.session, lambda number: "show")]
    assert texts == [
        "shell · show, result: message 2\n  $ make\n  exit code 2\n  > no",
        "apply_patch · a.py +1 −1 · show, result: message 4\n  - x",
        "mcp__cortext__search_workspace · q · show, result: message 6",
        "web_search · w · show",
        "local_shell · show, result: message 9\n  $ ls\n  exit code not recorded, failed\n  > no",
        'odd · {"input":"{torn"} · show\n  no result was recorded',
    ]
    assert words(decoded.session)[5] == "found\n[image]"


def test_events_are_used_only_where_items_are_missing(tmp_path: Path) -> None:
    """Each speaker's words are taken from one kind of record only."""
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "asked"}]}
    both = (event("item_completed", item=item), event("user_message", message="asked"))
    answer = event("agent_message", message="told")
    assert words(decode(tmp_path, *HEAD, *both, answer).session) == ["asked", "told"]
    assert words(decode(tmp_path, *HEAD, both[0], answer).session) == ["asked", "told"]
    with_items = (*HEAD, user("asked"), *both, answer, model("told"))
    assert words(decode(tmp_path, *with_items).session) == ["asked", "told"]


def test_rolled_back_turns_are_removed(tmp_path: Path) -> None:
    """They are gone with all that belongs to them, and so are boundaries inside."""
    compacted = record("compacted", message="", replacement_history=[user("first")["payload"]])
    back = event("thread_rolled_back", num_turns=1)
    decoded = decode(tmp_path, *TALK[:4], compacted, *TALK[4:], compacted, back, user("other", 9))
    assert words(decoded.session) == ["first", "second", "other"]
    assert decoded.session.metadata["compactions"] == [2]
    gone = decode(tmp_path, *TALK, event("thread_rolled_back", num_turns=99))
    assert words(gone.session) == []


def test_title_prefers_thread_index_then_rollout_then_first_request(tmp_path: Path) -> None:
    """The last name in the index, else the one in the rollout, else the first request."""
    bridge = CodexBridge(str(tmp_path))
    source = write(tmp_path, *HEAD, user("# Context\n## My request for Codex:\nfix it"))
    assert (bridge.decode(source).session.title, bridge.glance(source).title) == ("fix it",) * 2
    source = write(tmp_path, *TALK, event("thread_name_updated", thread_name="named"))
    assert (bridge.decode(source).session.title, bridge.glance(source).title) == ("named",) * 2
    index = [{"id": ID, "thread_name": name} for name in ("one", "two")]
    (tmp_path / "session_index.jsonl").write_text("\n".join(map(json.dumps, index)) + "\n{torn")
    assert (bridge.decode(source).session.title, bridge.glance(source).title) == ("two",) * 2


def test_copied_fork_keeps_its_own_head(tmp_path: Path) -> None:
    """The first head is its own, although the parent's follows."""
    own = record("session_meta", **{**META, "forked_from_id": OTHER})
    theirs = record("session_meta", id=OTHER, cwd="/theirs")
    session = decode(tmp_path, own, theirs, *TALK[1:]).session
    assert (session.parent_id, session.working_dir) == (OTHER, "/home/you/p")
    assert len(session.messages) == 4


def test_referring_fork_reads_parent_up_to_fork_point(tmp_path: Path) -> None:
    """What it goes on from is read up to where it left; without it that is named."""
    base = {"thread_id": OTHER, "end_ordinal_exclusive": 4, "end_byte_offset": 0}
    own = record("session_meta", 20, **{**META, "history_base": base, "forked_from_id": OTHER})
    parent = write(tmp_path, *TALK, id=OTHER)
    decoded = decode(tmp_path, own, {**user("mine", 21), "ordinal": 5})
    assert words(decoded.session) == ["first", "second", "mine"]
    theirs = CodexBridge(str(tmp_path)).decode(parent).session
    assert decoded.session.messages[:2] == theirs.messages[:2]
    assert (decoded.session.title, decoded.session.created_at.second) == ("mine", 20)
    os.unlink(parent.path)
    alone = CodexBridge(str(tmp_path)).decode(write(tmp_path, own, user("mine")))
    assert words(alone.session) == ["mine"]
    assert [OTHER in damage.detail and damage.fatal for damage in alone.damages] == [True]


def test_codex_sub_agents_are_decoded_separately(tmp_path: Path) -> None:
    """The rollout of an agent that was started is the side of the one that started it."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": ID, "depth": 1}}}
    write(tmp_path, record("session_meta", id=OTHER, source=spawn), user("task"), id=OTHER)
    decoded = decode(
        tmp_path, *TALK, call("1", "spawn_agent", {}), output("1", json.dumps({"agent_id": OTHER}))
    )
    assert [(s.id, s.parent_id, words(s)) for s in decoded.side] == [(OTHER, ID, ["task"])]
    assert decoded.side[0].metadata["subagent"] is True
    assert "task" not in words(decoded.session)


def test_rollout_of_oldest_schema_is_decoded(tmp_path: Path) -> None:
    """Records without an envelope and without times."""
    decoded = decode(
        tmp_path,
        {"id": ID, "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        user("first")["payload"],
        model("second")["payload"],
        call("1", "shell", {"command": ["ls"]})["payload"],
    )
    assert words(decoded.session) == ["first", "second", ""]
    assert {m.timestamp for m in decoded.session.messages} == {datetime(2025, 5, 1, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        (b"{not json}\n", "not JSON"),
        (b"\0" * 4096 + b"\n", "4096 NUL bytes"),
        (
            b'{"timestamp":"2026-01-0{"timestamp":"2026","type":"x"}\n',
            "incomplete record of 23 bytes",
        ),
        (b'{"timestamp":{},"type":"event_msg","payload":[]}\n', "is ignored"),
        (json.dumps(TALK[3]).encode() + b"\n", "repeats the record before"),
        (b'{"type":"never_seen","payload":{"type":"new"}}\n', ""),
        (b'{"type":"response_item","payload":{"type":"new_item","content":"x"}}\n', ""),
        (b"\n", ""),
    ],
)
def test_bad_codex_line_hides_no_other_line(tmp_path: Path, odd: bytes, named: str) -> None:
    """Everything else is read, and what is wrong is named with its line."""
    decoded = decode(tmp_path, *TALK[:4], odd, *TALK[4:])
    assert words(decoded.session) == ["first", "second", "third", "fourth"]
    assert bool(decoded.damages) == bool(named)
    assert all(named in damage.detail and damage.line == 5 for damage in decoded.damages[-1:])


@pytest.mark.needs("zstd", "Codex compresses what is cold")
def test_zstd_compressed_rollout_decodes_like_plain_rollout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They read as the plain ones did; cut off, what is left is read and the loss is named."""
    source = write(tmp_path, *TALK)
    plain = CodexBridge(str(tmp_path)).decode(source).session
    subprocess.run(["zstd", "-q", source.path], check=True)
    assert [found.path for found in CodexBridge(str(tmp_path)).sources()] == [source.path]
    os.unlink(source.path)
    bridge = CodexBridge(str(tmp_path))
    (cold,) = bridge.sources()
    assert (cold.id, words(bridge.decode(cold).session)) == (ID, words(plain))
    assert bridge.decode(cold).session.messages == plain.messages
    assert bridge.glance(cold)[:3] == ("first", "/home/you/p", plain.created_at)
    data = Path(cold.path).read_bytes()
    Path(cold.path).write_bytes(data[: len(data) // 2])
    assert [d.fatal for d in bridge.decode(cold).damages] == [True]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SessionStorageError, match="zstd") as caught:
        bridge.decode(cold)
    assert caught.value.hint
    assert bridge.glance(cold).title == ""


def test_sources_returns_one_rollout_per_conversation(tmp_path: Path) -> None:
    """Rollouts of both folders, one for each conversation, and nothing else."""
    assert list(CodexBridge(str(tmp_path)).sources()) == []
    source = write(tmp_path, *TALK)
    archived = tmp_path / "archived_sessions"
    archived.mkdir()
    (archived / f"rollout-2025-01-01T00-00-00-{OTHER}.jsonl").write_text("")
    (archived / "notes.jsonl").write_text("")
    part = f"rollout-2026-01-02T00-00-00-{ID}_{OTHER}.jsonl"
    newer = Path(source.path).with_name(part)
    newer.write_text("")
    found = {
        found.id: os.path.basename(found.path) for found in CodexBridge(str(tmp_path)).sources()
    }
    assert found == {ID: part, OTHER: f"rollout-2025-01-01T00-00-00-{OTHER}.jsonl"}
    os.unlink(source.path)
    for verb in (CodexBridge(str(tmp_path)).glance, CodexBridge(str(tmp_path)).decode):
        with pytest.raises(FileNotFoundError):
            verb(source)


def test_codex_glance_never_reads_middle_of_rollout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long rollout costs no more than its ends."""
    noise = event("exec_command_end", stdout="n" * 100_000)
    source = write(tmp_path, *TALK, *[noise] * 300, event("token_count", 9))
    counted: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        counted.append(size)
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", pread)
    glance = CodexBridge(str(tmp_path)).glance(source)
    assert (glance.title, glance.model, glance.updated_at.second) == ("first", "gpt-x", 9)
    assert sum(counted) < 1 << 20 < source.size


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_codex_rollout_cut_at_any_byte_decodes_to_prefix(
    tmp_path: Path, version: str, data: st.DataObject
) -> None:
    """A half-written file gives a prefix of the conversation, and a torn tail is no loss."""
    (path,) = (GOLDEN / version / "sessions").rglob("*.jsonl")
    raw = path.read_bytes()
    whole = [(m.id, m.role, m.content) for m in decode(tmp_path, raw).session.messages]
    cut = decode(tmp_path, raw[: data.draw(st.integers(0, len(raw)))])
    found = [(m.id, m.role, m.content) for m in cut.session.messages]
    assert found == whole[: len(found)]
    assert not any(damage.fatal for damage in cut.damages)
