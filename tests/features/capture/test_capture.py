"""Capture is exact, takes nothing twice, and costs what is new."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cortext import clock
from cortext.features.archive.archive_sync import sync
from cortext.features.capture import capture as module
from cortext.features.capture.bindings import ConversationRef, bind, find_binding
from cortext.features.capture.capture import capture
from cortext.features.capture.pending_bindings import bind_process
from cortext.model.message import SessionMessage
from cortext.tools.registry import open_bridge
from cortext.tools.system_processes import Process
from cortext.workspace.workspace import Workspace
from tests.features.capture_bench import GOLDEN, Bench

LATER = "2031-01-01T00:00:{:02}.000Z"


def test_capture_takes_every_message_exactly_once(bench: Bench) -> None:
    """Word for word, tool calls with their results, in the order of time; again: the same bytes."""
    bench.bind()
    new = bench.capture().new
    assert bench.said() == bench.expected
    messages = bench.messages()
    assert new == len(messages) == len({m["id"] for m in messages})
    calls = [call["id"] for m in messages for call in m.get("tool_calls") or ()]
    assert calls
    assert calls == [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert [m["timestamp"] for m in messages] == sorted(m["timestamp"] for m in messages)
    before = bench.files
    assert (bench.capture().new, bench.capture(whole=True).new) == (0, 0)
    assert bench.files == before


@pytest.mark.parametrize("seed", range(4))
def test_incremental_capture_of_growing_transcript_equals_full_capture(
    bench: Bench, seed: int
) -> None:
    """Captured after any number of lines, also in the middle of one."""
    rng = random.Random(seed)
    data = b"".join(bench.lines)
    bench.bind()
    cuts = sorted(rng.sample(range(len(data)), 12))
    for cut in cuts:
        bench.write([data[:cut]])
        bench.capture()
    bench.write([data])
    bench.capture()
    grown = bench.messages()
    other = bench.begin("The whole")
    bind(other, bench.tool, bench.session, str(bench.transcript), after="")
    capture(other.root, other.place)
    assert {m["id"] for m in bench.messages(other)} == {m["id"] for m in grown}
    whole = {m["id"]: m for m in bench.messages(other)}
    assert [{**m, "timestamp": ""} for m in grown] == [
        {**whole[m["id"]], "timestamp": ""} for m in grown
    ]
    assert bench.said() == bench.expected


def test_next_capture_reads_only_new_lines(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second capture decodes no transcript: what follows is read from its lines alone."""
    claude_bench.bind()
    claude_bench.capture()

    def refuse(*args: object) -> None:
        raise AssertionError("all of it was read")

    monkeypatch.setattr(module._Capture, "_reconcile", refuse)
    claude_bench.say("user", "More?", 1)
    assert claude_bench.capture().new == 1
    claude_bench.say("assistant", "Yes.", 2)
    assert (claude_bench.capture().new, claude_bench.capture().new) == (1, 0)
    assert claude_bench.said() == [*claude_bench.expected, ["user", "More?"], ["assistant", "Yes."]]


def test_capture_after_rewind_keeps_old_branch_and_adds_new(claude_bench: Bench) -> None:
    """What was captured stays; what is said after going back comes once."""
    claude_bench.bind()
    tip = claude_bench.tip
    claude_bench.say("user", "Left?", 1, tip)
    claude_bench.say("assistant", "Left.", 2)
    claude_bench.capture()
    claude_bench.say("user", "Right?", 3, tip)
    claude_bench.say("assistant", "Right.", 4)
    assert (claude_bench.capture().new, claude_bench.capture(whole=True).new) == (2, 0)
    assert [text for _, text in claude_bench.said()[-4:]] == ["Left?", "Left.", "Right?", "Right."]


def test_capture_takes_nothing_twice_when_transcript_is_rewritten(claude_bench: Bench) -> None:
    """Another file in its place, with the same lines: nothing is taken twice."""
    claude_bench.bind()
    claude_bench.capture()
    claude_bench.transcript.unlink()
    claude_bench.transcript.write_bytes(b"".join(claude_bench.lines))
    claude_bench.say("user", "More?", 1)
    assert claude_bench.capture().new == 1
    assert claude_bench.said() == [*claude_bench.expected, ["user", "More?"]]


def test_capture_takes_messages_shared_by_fork_and_original_once(claude_bench: Bench) -> None:
    """Claude Code's fork holds the same lines: what both have is taken once."""
    claude_bench.bind()
    claude_bench.capture()
    count = len(claude_bench.messages())
    fork = min(claude_bench.transcript.parent.glob("*.jsonl"), key=lambda path: path.stat().st_size)
    assert fork != claude_bench.transcript
    bind(claude_bench.bound, "claude", fork.stem, str(fork), after="")
    assert claude_bench.capture().new == 2
    texts = [text for _, text in claude_bench.said()]
    assert len(claude_bench.messages()) == count + 2
    assert texts.count(claude_bench.expected[0][1]) == 1
    assert {"What if daily?", "Daily is enough."} <= set(texts)


def test_second_conversation_in_a_session_ends_the_first(claude_bench: Bench) -> None:
    """Each has its own part, also when the first is captured after the second began."""
    claude_bench.bind()
    second = claude_bench.begin("Another thing")
    claude_bench.bind(None, second)
    assert find_binding("claude", claude_bench.session) == second
    claude_bench.say("user", "Now this.", 1)
    claude_bench.say("assistant", "Yes.", 2)
    capture(second.root, second.place)
    claude_bench.capture()
    assert claude_bench.said() == claude_bench.expected
    assert claude_bench.said(second) == [["user", "Now this."], ["assistant", "Yes."]]
    assert claude_bench.head()["native"][0]["to"] == claude_bench.head(second)["native"][0]["from"]


def test_binding_made_during_exchange_includes_its_request(claude_bench: Bench) -> None:
    """A command that the agent runs belongs to the request that it runs for."""
    claude_bench.say("user", "/workspace.plan it", 1)
    claude_bench.bind(None)
    claude_bench.say("assistant", "A plan.", 2)
    claude_bench.capture()
    assert claude_bench.said() == [["user", "/workspace.plan it"], ["assistant", "A plan."]]


def test_capture_inserts_late_messages_in_time_order(claude_bench: Bench) -> None:
    """Something newer is there already: the order of time holds all the same."""
    claude_bench.bind()
    name = claude_bench.bound.place.folder[len(claude_bench.workspace.root) + 1 :]
    claude_bench.workspace.store.append(name, SessionMessage("user", "Said elsewhere, later."))
    claude_bench.capture()
    times = [m["timestamp"] for m in claude_bench.messages()]
    assert times == sorted(times)
    assert claude_bench.said()[-1] == ["user", "Said elsewhere, later."]


def test_capture_replaces_message_that_grew_unless_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI writes a message again when it has more of it; so do we, and only then."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    half = {"id": "g1", "timestamp": LATER.format(1), "type": "gemini", "content": "I will"}
    gemini.append(json.dumps(half).encode() + b"\n")
    gemini.capture()
    gemini.append(json.dumps({**half, "content": "I will read it."}).encode() + b"\n")
    gemini.capture()
    assert gemini.said() == [*gemini.expected, ["assistant", "I will read it."]]
    place = gemini.bound.place
    masked = Path(place.lines).read_bytes().replace(b"I will read it.", b"I will [masked].")
    Path(place.lines).write_bytes(masked)
    gemini.capture(whole=True)
    assert Path(place.lines).read_bytes() == masked


def test_capture_skips_converted_history_before_binding(claude_bench: Bench) -> None:
    """A session that begins with what was converted is bound after it."""
    claude_bench.bind(after="2030-01-01T00:00:00Z")
    assert claude_bench.capture().new == 0
    claude_bench.say("user", "New.", 1)
    claude_bench.capture()
    assert claude_bench.said() == [["user", "New."]]


def test_capture_notes_deleted_transcript_and_keeps_messages(claude_bench: Bench) -> None:
    """One note says so, and what was taken stays."""
    claude_bench.bind()
    claude_bench.capture()
    before = claude_bench.files
    claude_bench.transcript.unlink()
    notes = claude_bench.capture().notes
    assert [claude_bench.session in note for note in notes] == [True]
    assert claude_bench.files == before


def test_capture_follows_session_moved_to_another_folder(claude_bench: Bench) -> None:
    """The session has moved to another folder, and a remnant is left: stop finds where it is."""
    claude_bench.bind()
    claude_bench.capture()
    moved = (
        claude_bench.transcript.parent.with_name("-home-you-elsewhere")
        / claude_bench.transcript.name
    )
    moved.parent.mkdir()
    remnant = claude_bench.transcript.read_bytes()
    claude_bench.transcript.rename(moved)
    claude_bench.transcript.write_bytes(remnant)
    claude_bench.transcript = moved
    claude_bench.say("user", "From elsewhere.", 1)
    assert claude_bench.capture(whole=True).new == 1
    assert claude_bench.head()["native"][0]["path"] == str(moved)
    claude_bench.say("assistant", "Yes.", 2)
    assert claude_bench.capture().new == 1
    assert claude_bench.said() == [
        *claude_bench.expected,
        ["user", "From elsewhere."],
        ["assistant", "Yes."],
    ]


def test_capture_reads_archive_copy_when_transcript_is_deleted(bench: Bench) -> None:
    """The tool has deleted it: it is taken from our copy, and the head does not name that."""
    bench.bind()
    path = bench.head()["native"][0]["path"]
    sync()
    bench.transcript.unlink()
    assert not bench.capture(whole=True).notes
    assert bench.said() == bench.expected
    assert bench.head()["native"][0]["path"] == path
    assert bench.capture(whole=True).new == 0


def test_next_capture_of_opencode_reads_only_changed_rows(
    tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last turn is written, and taken by the time of its rows; again there is nothing."""
    golden = GOLDEN / "opencode/1.18.33"
    ((session, said),) = json.loads((golden / "said.json").read_text(encoding="utf-8")).items()
    path = data_home / "opencode/opencode.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.executescript((golden / "opencode.sql").read_text(encoding="utf-8"))
        last = "SELECT id FROM message ORDER BY time_created DESC, id DESC LIMIT 2"
        ids = [id for (id,) in database.execute(last)]
        rows = {
            (table, key): database.execute(
                f"SELECT * FROM {table} WHERE {key} IN (?,?)", ids
            ).fetchall()
            for table, key in (("message", "id"), ("part", "message_id"))
        }
        for table, key in rows:
            database.execute(f"DELETE FROM {table} WHERE {key} IN (?,?)", ids)
        database.commit()
        workspace = Workspace.init(tmp_path / "work")
        made = workspace.new("brainstorm", "The cache").session
        bound = ConversationRef(workspace.root, workspace.store.place_of(made.id, made))
        bind(bound, "opencode", session, str(path), after="")
        capture(bound.root, bound.place)
        assert len(read(bound)) == len(said) - 2
        for (table, _), found in rows.items():
            marks = ",".join("?" * len(found[0]))
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
        database.commit()
        with monkeypatch.context() as patch:
            patch.setattr(module._Capture, "_reconcile", None)
            assert (
                capture(bound.root, bound.place).new,
                capture(bound.root, bound.place).new,
            ) == (2, 0)
    assert read(bound) == said
    assert capture(bound.root, bound.place, whole=True).new == 0


def read(bound: ConversationRef) -> list[list[str]]:
    """What people and agents said in a conversation."""
    lines = Path(bound.place.lines).read_bytes().splitlines()
    spoken = [m for m in map(json.loads, lines) if m["role"] in ("user", "assistant")]
    return [[m["role"], m["content"]] for m in spoken if m["content"]]


def test_pending_binding_finds_session_by_start_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hook ever told which session the process had: the only one that began then is it."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    (source,) = open_bridge("gemini").sources()
    began = open_bridge("gemini").glance(source).started_at
    assert began
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: began)
        bind_process(gemini.bound, "gemini", Process(1, 0, began.timestamp() - 3, ("gemini",)))
    gemini.capture(whole=True)
    assert gemini.said() == gemini.expected
    late = gemini.begin("Later")
    bind_process(late, "gemini", Process(1, 0, began.timestamp() + 60, ("gemini",)))
    assert capture(late.root, late.place).new == 0
