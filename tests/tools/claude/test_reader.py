"""Claude Code's transcripts: the live branch, word for word, whatever happened to the file."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortext.formats.history_in_order import history
from cortext.model.session import Session
from cortext.tools import jsonl_transcripts
from cortext.tools.claude.reader import ClaudeBridge
from cortext.tools.reader_protocol import Bridge
from tests.tools.claude.claude_lines import ID, decode, line, result, text, use, words, write

GOLDEN = Path(__file__).parents[1] / "golden" / "claude"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
OTHER = "99999999-2222-4333-8444-555555555555"


def said(session: Session) -> list[list[str]]:
    return [[m.role, m.content] for m in session.messages if m.content and m.role != "tool"]


TALK = (
    line("a1", None, "user", "first"),
    line("b2", "a1", "assistant", text("second")),
    line("c3", "b2", "user", "third"),
    line("d4", "c3", "assistant", text("fourth")),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_claude_transcripts_decode_word_for_word(version: str) -> None:
    """What the real program recorded is read word for word; a fork and a compaction too."""
    bridge = ClaudeBridge(str(GOLDEN / version))
    expected = json.loads((GOLDEN / version / "said.json").read_text("utf-8"))
    found = {source.id: bridge.decode(source) for source in bridge.sources()}
    assert {
        id: [pair for pair in said(decoded.session) if pair[0] != "system"]
        for id, decoded in found.items()
    } == expected
    assert [decoded.damages for decoded in found.values()] == [[]] * len(expected)
    sessions = [decoded.session for decoded in found.values()]
    assert {(s.agent, s.kind, s.metadata["tool_version"]) for s in sessions} == {
        ("claude", "chat", version)
    }
    assert sorted(s.metadata.get("compactions", []) for s in sessions) == [[], [14]]


@pytest.mark.parametrize("version", VERSIONS)
def test_claude_glance_matches_decode(version: str) -> None:
    """Title, folder, times, model, branch and version, from the two ends alone."""
    bridge: Bridge = ClaudeBridge(str(GOLDEN / version))
    for source in bridge.sources():
        session, glance = bridge.decode(source).session, bridge.glance(source)
        facts = session.metadata
        assert glance == (
            session.title, session.working_dir, session.created_at, session.updated_at,
            session.model, facts["git_branch"], facts["tool_version"],
        )  # fmt: skip


def test_decode_gives_same_message_ids_after_transcript_grows(tmp_path: Path) -> None:
    """What was read before is a prefix of what is read later."""
    before = decode(tmp_path, *TALK[:3]).session.messages
    assert decode(tmp_path, *TALK).session.messages[:3] == before
    assert [message.id for message in before] == ["a1", "b2", "c3"]


def test_parallel_calls_stay_together_with_results_out_of_order(tmp_path: Path) -> None:
    """Calls of one reply stay together although the chain passes only one of them."""
    decoded = decode(
        tmp_path,
        line("a1", None, "user", "go"),
        line("b2", "a1", "assistant", use("x", "Read", file_path="f"), reply="m"),
        line("c3", "b2", "assistant", use("y", "Bash", command="ls"), reply="m"),
        line("d4", "c3", "user", result("y", "Exit code 2\nno", is_error=True)),
        line("e5", "b2", "user", result("x", text("found"))),
        line("f6", "e5", "assistant", text("done")),
    )
    parts = history(decoded.session, lambda number: f"show {number}")
    assert [part.past.text for part in parts] == [
        "go",
        "Read · f · show 2, result: message 5",
        "Bash · show 3, result: message 4\n  $ ls\n  exit code 2\n  > no",
        "done",
    ]
    assert [m.name for m in decoded.session.messages if m.role == "tool"] == ["Bash", "Read"]
    assert decoded.session.total_prompt_tokens == 2 * 7  # a reply counts once
    assert decoded.session.total_completion_tokens == 2 * 5


def test_edit_call_is_shown_with_path_and_changed_lines(tmp_path: Path) -> None:
    """An edit is told by its path, what changed and the first changed line."""
    given = {"file_path": "/p/a.py", "old_string": "x = 1", "new_string": "x = 2\ny = 3"}
    decoded = decode(
        tmp_path,
        line("a1", None, "assistant", use("x", "Edit", **given)),
        line("b2", "a1", "user", result("x", "The file has been updated.")),
    )
    (part,) = history(decoded.session, lambda number: "show")
    assert part.past.text == "Edit · /p/a.py +2 −1 · show, result: message 2\n  + x = 2"


def test_orphan_calls_and_results_are_kept(tmp_path: Path) -> None:
    """A call without a result and a result without a call are both told."""
    decoded = decode(
        tmp_path,
        line("a1", None, "assistant", use("x", "Bash", command="ls")),
        line("b2", "a1", "user", result("lost", "what")),
        line("c3", "b2", "user", "go on"),
    )
    parts = history(decoded.session, lambda number: "show")
    assert parts[0].past.text.endswith("no result was recorded")
    assert parts[1].past.text == "tool · a result without its call · show"


def test_rewind_drops_abandoned_branch(tmp_path: Path) -> None:
    """The branch that leads to the last line is the conversation."""
    decoded = decode(
        tmp_path,
        *TALK,
        line("e5", "b2", "user", "third, better"),
        line("f6", "e5", "assistant", text("fifth")),
    )
    assert words(decoded) == ["first", "second", "third, better", "fifth"]


@pytest.mark.parametrize("parent", [None, "gone", "e5"])
def test_broken_parent_chain_continues_with_previous_line(
    tmp_path: Path, parent: str | None
) -> None:
    """A parent that is null, missing or the line itself loses nothing that was said."""
    more = (line("e5", parent, "user", "fifth"), line("f6", "e5", "assistant", text("sixth")))
    assert words(decode(tmp_path, *TALK, *more)) == [
        "first", "second", "third", "fourth", "fifth", "sixth",
    ]  # fmt: skip


def test_compaction_keeps_earlier_messages_and_drops_summary(tmp_path: Path) -> None:
    """What came before stays, the summary is nobody's words, the boundary is recorded."""
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "s5", "parentUuid": None}
    decoded = decode(
        tmp_path,
        *TALK,
        {**boundary, "logicalParentUuid": "d4"},
        line("e6", "s5", "user", "This session is being continued", isCompactSummary=True),
        line("f7", "e6", "user", "fifth"),
    )
    assert words(decoded) == ["first", "second", "third", "fourth", "fifth"]
    assert decoded.session.metadata["compactions"] == [4]


def test_claude_injected_texts_are_not_user_messages(tmp_path: Path) -> None:
    """Commands are told as they were typed; their output and the tool's own words are system."""
    decoded = decode(
        tmp_path,
        line("a1", None, "user", "Caveat: The messages below were generated by the user",
             isMeta=True),
        line("b2", "a1", "user",
             "<command-name>/model</command-name><command-args>x</command-args>"),
        line("c3", "b2", "user", "<local-command-stdout>set to x</local-command-stdout>"),
        line("d4", "c3", "user",
             "<command-message>w</command-message>\n<command-name>/w.new</command-name>\n"
             "<command-args>it's $(y)</command-args>"),
        line("e5", "d4", "user", text("the expanded command"), isMeta=True),
        line("f6", "e5", "user", "<bash-input>ls</bash-input>"),
        line("g7", "f6", "user", "[Request interrupted by user]"),
        {**line("h8", "g7", "assistant", text("API Error")),
         "message": {"model": "<synthetic>", "content": text("API Error")}},
    )  # fmt: skip
    assert said(decoded.session) == [
        ["system", "/model x"], ["system", "set to x"], ["user", "/w.new it's $(y)"],
        ["user", "!ls"], ["system", "[Request interrupted by user]"], ["system", "API Error"],
    ]  # fmt: skip


def test_queued_prompts_are_decoded_as_user_messages(tmp_path: Path) -> None:
    """They stand in an attachment and nowhere else; notices of the tool do not count."""
    queued = {"type": "attachment", "timestamp": "2026-01-01T00:00:03Z", "uuid": "q3"}
    note = {"type": "queued_command", "prompt": "task", "commandMode": "task-notification"}
    mine = {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}
    decoded = decode(
        tmp_path,
        *TALK[:2],
        {**queued, "parentUuid": "b2", "attachment": mine},
        {**queued, "uuid": None, "attachment": note},
        {**queued, "uuid": None, "attachment": {**mine, "prompt": "no id"}},
        line("d4", "q3", "assistant", text("fourth")),
    )
    assert words(decoded) == ["first", "second", "and the tests", "no id", "fourth"]


def test_images_and_files_become_placeholders(tmp_path: Path) -> None:
    """Of what is no text its kind is told; thinking is left out."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    file = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    decoded = decode(
        tmp_path,
        line("a1", None, "user", [*text("see"), image, file]),
        line("b2", "a1", "assistant", [thinking]),
        line("c3", "b2", "assistant", use("x", "Read", file_path="p.png")),
        line("d4", "c3", "user", result("x", [image])),
    )
    assert words(decoded) == ["see\n[image: image/png]\n[file: application/pdf]", "",
                              "[image: image/png]"]  # fmt: skip


def test_title_prefers_custom_then_generated_then_first_request(tmp_path: Path) -> None:
    """The last that a person gave, else one that was made, else the first request."""
    made = {"type": "ai-title", "aiTitle": "made"}
    given = {"type": "custom-title", "customTitle": "given"}
    begins = line("a0", None, "user", "<command-name>/clear</command-name>")
    bridge = ClaudeBridge(str(tmp_path))
    for more, title in (((), "first"), ((made,), "made"), ((given, made), "given")):
        source = write(tmp_path, begins, *TALK, *more)
        assert (bridge.decode(source).session.title, bridge.glance(source).title) == (title,) * 2


def test_decode_reads_cost_working_dirs_and_fork_parent(tmp_path: Path) -> None:
    """The cost that the tool counted, every folder, and the conversation that this one is of."""
    decoded = decode(
        tmp_path,
        *TALK,
        line("e5", "d4", "user", "x", cwd="/elsewhere", forkedFrom={"sessionId": OTHER}),
        {"type": "cost-state", "totalCostUSD": 0.5},
        {"type": "cost-state", "totalCostUSD": 0.75},
    )
    session = decoded.session
    assert (session.metadata["cost_usd"], session.parent_id) == (0.75, OTHER)
    assert session.working_dir == "/home/you/p"
    assert session.metadata["working_dirs"] == ["/home/you/p", "/elsewhere"]


def test_claude_sub_agents_are_decoded_separately(tmp_path: Path) -> None:
    """In the file as old versions had them, in a file beside it, in a folder of its own."""
    source = write(
        tmp_path,
        *TALK[:2],
        line("x2", None, "user", "task", isSidechain=True),
        line("y3", "x2", "assistant", text("done"), isSidechain=True),
        *TALK[2:],
    )
    beside = Path(source.path).parent
    alone = {"isSidechain": True, "agentId": "a"}
    (beside / ID / "subagents").mkdir(parents=True)
    for path in (beside / "agent-7.jsonl", beside / ID / "subagents" / "agent-8.jsonl"):
        path.write_text(json.dumps(line("z1", None, "user", path.name, **alone)) + "\n")
    (beside / "agent-9.jsonl").write_text('{"sessionId":"another"}\n')
    decoded = ClaudeBridge(str(tmp_path)).decode(source)
    assert words(decoded) == ["first", "second", "third", "fourth"]
    assert [(side.parent_id, [m.content for m in side.messages]) for side in decoded.side] == [
        (ID, ["task", "done"]), (ID, ["agent-8.jsonl"]), (ID, ["agent-7.jsonl"]),
    ]  # fmt: skip
    assert len({side.id for side in decoded.side} | {ID}) == 4
    assert len(list(ClaudeBridge(str(tmp_path)).sources())) == 1


ODD: list[tuple[bytes, list[tuple[str, bool]]]] = [
    (b"{not json}\n", [("not JSON", True)]),
    (b"[1]\n", [("not a JSON object", True)]),
    (b"\xff\xfe\n", [("not UTF-8", True)]),
    (b"\0" * 4096 + b"\n", [("4096 NUL bytes", True)]),
    (b'{"type":"mode","mo{"type":"mode","mode":"x"}\n', [("incomplete record of 18 bytes", True)]),
    (b"\n   \n", []),
    (b'{"type":"never-seen-before","x":[{"y":1}]}\n', []),
    (b'{"type":"user","uuid":5,"message":[],"cwd":{}}\n', [("uuid", False), ("cwd", False)]),
    (b'{"type":"system","content":"\\ud83d"}\n', []),
    (b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}\n", [("nested too deeply", True)]),
]


@pytest.mark.parametrize(("odd", "named"), ODD)
def test_bad_claude_line_hides_no_other_line(
    tmp_path: Path, odd: bytes, named: list[tuple[str, bool]]
) -> None:
    """Everything else is read, and what is wrong is named with file and line."""
    decoded = decode(tmp_path, *TALK[:2], odd, *TALK[2:])
    assert words(decoded) == ["first", "second", "third", "fourth"]
    assert all(
        any(part in damage.detail and damage.fatal == fatal for damage in decoded.damages)
        for part, fatal in named
    )
    assert bool(decoded.damages) == bool(named)
    assert {(d.line, os.path.basename(d.path)) for d in decoded.damages} <= {(3, f"{ID}.jsonl")}


def test_records_on_both_sides_of_nul_run_are_read(tmp_path: Path) -> None:
    """The records on both sides of it are read."""
    raw = [json.dumps(one).encode() for one in TALK]
    decoded = decode(tmp_path, raw[0] + b"\n" + raw[1] + b"\0" * 9 + raw[2] + b"\n" + raw[3])
    assert words(decoded) == ["first", "second", "third", "fourth"]
    assert [(d.detail[:11], d.line) for d in decoded.damages] == [
        ("9 NUL bytes", 2), ("the last li", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("between", [b"", b" ", b"\0\0"])
def test_two_claude_records_on_one_line_are_both_read(tmp_path: Path, between: bytes) -> None:
    raw = [json.dumps(one).encode() for one in TALK]
    decoded = decode(tmp_path, raw[0] + b"\n" + raw[1] + between + raw[2] + b"\n" + raw[3] + b"\n")
    assert words(decoded) == ["first", "second", "third", "fourth"]
    assert [damage.line for damage in decoded.damages] == [2]
    assert decoded.damages[0].fatal == (between == b"\0\0")


def test_record_before_incomplete_record_on_same_line_is_read(tmp_path: Path) -> None:
    raw = [json.dumps(one).encode() for one in TALK]
    decoded = decode(tmp_path, raw[0] + raw[1][:-9] + b"\n" + raw[2] + b"\n")
    assert words(decoded) == ["first", "third"]
    assert {(damage.line, damage.fatal) for damage in decoded.damages} == {(1, False), (1, True)}


def test_duplicate_line_counts_once(tmp_path: Path) -> None:
    """By its id; the first one counts."""
    assert words(decode(tmp_path, *TALK, TALK[3], TALK[1])) == [
        "first", "second", "third", "fourth",
    ]  # fmt: skip


def test_lone_surrogates_and_deep_arguments_are_decoded(tmp_path: Path) -> None:
    """A value that only the standard library reads, and one that no record can hold."""
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    decoded = decode(
        tmp_path,
        line("a1", None, "user", "half \ud83d"),
        line("b2", "a1", "assistant", use("x", "Odd", deep=deep)),
        line("c3", "b2", "user", "on"),
    )
    assert words(decoded) == ["half \ud83d", "", "on"]
    assert "nested too deeply" in str(decoded.session.messages[1].tool_calls)


def test_huge_line_is_read_and_line_over_limit_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge line is read; one beyond all bounds is passed over, and named."""
    huge = line("e5", "d4", "user", "y" * 3_000_000)
    assert words(decode(tmp_path, *TALK, huge))[-1] == "y" * 3_000_000
    monkeypatch.setattr(jsonl_transcripts, "LONGEST_LINE", 1 << 20)
    decoded = decode(tmp_path, *TALK, huge, line("f6", "e5", "user", "sixth"))
    assert words(decoded) == ["first", "second", "third", "fourth", "sixth"]
    assert [(d.line, "too long" in d.detail) for d in decoded.damages] == [(5, True)]


def test_decode_with_longest_keeps_only_ends_of_long_result(tmp_path: Path) -> None:
    """Only the ends of a long result are kept if that is asked for."""
    source = write(
        tmp_path,
        line("a1", None, "assistant", use("x", "Bash", command="ls")),
        line("b2", "a1", "user", result("x", "a" * 9000 + "the end")),
    )
    kept = ClaudeBridge(str(tmp_path)).decode(source, longest=100).session.messages[1].content
    assert len(kept) < 200
    assert kept.endswith("the end")


def test_claude_glance_reads_further_but_never_whole_transcript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time in the last 16 KB, a request after 100 KB: both are found, a middle is not read."""
    noise = {"type": "attachment", "attachment": {"type": "x"}, "pad": "n" * 1000}
    middle = [{"type": "pad", "pad": "m" * 100_000}] * 300
    source = write(tmp_path, *[noise] * 100, *TALK[:2], *middle, *TALK[2:], *[noise] * 30)
    counted: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        counted.append(size)
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", pread)
    glance = ClaudeBridge(str(tmp_path)).glance(source)
    assert (glance.title, glance.updated_at) == ("first", datetime(2026, 1, 1, 0, 0, 4, tzinfo=UTC))
    assert sum(counted) < 1 << 20 < source.size


def test_glance_of_empty_transcript_has_only_file_time(tmp_path: Path) -> None:
    """An empty file and one without a message say only when they changed."""
    for lines in ((), (b"\0" * 99,), ({"type": "mode"},)):
        source = write(tmp_path, *lines)
        os.utime(source.path, (50, 50))
        glance = ClaudeBridge(str(tmp_path)).glance(source)
        when = datetime.fromtimestamp(50, UTC)
        assert glance == ("", "", None, when, "", "", "")
        session = ClaudeBridge(str(tmp_path)).decode(source).session
        assert (session.messages, session.updated_at) == ([], when)


def test_sources_returns_only_claude_transcripts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files with a conversation's name, and nothing else; the mark changes with the file."""
    assert list(ClaudeBridge(str(tmp_path)).sources()) == []
    source = write(tmp_path, *TALK[:2])
    folder = Path(source.path).parent
    for name in ("agent-1.jsonl", "notes.jsonl", f"{OTHER}.json", f"{ID}.jsonl.bak"):
        (folder / name).write_text("x")
    (folder / f"{OTHER}.jsonl").symlink_to("missing")
    assert list(ClaudeBridge(str(tmp_path)).sources()) == [source]
    assert f"{OTHER}.jsonl: " in caplog.text
    assert write(tmp_path, *TALK).print != source.print
    Path(source.path).unlink()
    for verb in (ClaudeBridge(str(tmp_path)).glance, ClaudeBridge(str(tmp_path)).decode):
        with pytest.raises(FileNotFoundError):
            verb(source)


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_claude_transcript_cut_at_any_byte_decodes_to_prefix(
    tmp_path: Path, version: str, data: st.DataObject
) -> None:
    """A half-written file gives a prefix of the conversation, and a torn tail is no loss."""
    paths = sorted((GOLDEN / version / "projects").rglob("*.jsonl"))
    raw = data.draw(st.sampled_from(paths)).read_bytes()
    whole = decode(tmp_path, raw).session.messages
    cut = decode(tmp_path, raw[: data.draw(st.integers(0, len(raw)))])
    assert cut.session.messages == whole[: len(cut.session.messages)]
    assert not any(damage.fatal for damage in cut.damages)
    ClaudeBridge(str(tmp_path)).glance(next(ClaudeBridge(str(tmp_path)).sources()))


@given(st.binary(max_size=300), st.integers(0, 4))
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_junk_between_lines_hides_no_message(tmp_path: Path, junk: bytes, place: int) -> None:
    """Whatever stands between the lines, all of them are read."""
    decoded = decode(tmp_path, *TALK[:place], junk + b"\n", *TALK[place:])
    assert words(decoded) == ["first", "second", "third", "fourth"]
