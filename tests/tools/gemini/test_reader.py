"""Gemini CLI's transcripts, recorded and made up, as our sessions."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.history_in_order import history
from cortext.model.title import first_line
from cortext.tools.gemini.reader import GeminiBridge
from cortext.tools.reader_protocol import Bridge, DecodedTranscript
from tests.tools.gemini.gemini_records import HEAD, ID, place, user

GOLDEN = Path(__file__).parents[1] / "golden" / "gemini"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())


def gemini(id: str, text: Any, second: int = 20, **more: Any) -> dict[str, Any]:
    stamp = f"2026-01-02T03:05:{second:02}.000Z"
    known = {"id": id, "timestamp": stamp, "type": "gemini", "content": text, "model": "pro"}
    return {**known, "tokens": {"input": 5, "output": 2, "thoughts": 1, "tool": 3}, **more}


def call(id: str, name: str, args: Any, output: str | None, **more: Any) -> dict[str, Any]:
    known = {"id": id, "name": name, "args": args, "status": "success", **more}
    if output is None:
        return known
    response = {"functionResponse": {"id": id, "name": name, "response": {"output": output}}}
    return {**known, "result": [response]}


def reset(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages)}}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def decode(home: Path, *records: Any) -> DecodedTranscript:
    return GeminiBridge().decode(place(home, lines(HEAD, *records)))


def said(decoded: DecodedTranscript) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in decoded.session.messages]


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_gemini_transcripts_decode_word_for_word(version: str) -> None:
    """A recorded conversation is there word for word, once, with its call, tokens and folder."""
    bridge: Bridge = GeminiBridge(str(GOLDEN / version))
    truth = json.loads((GOLDEN / version / "said.json").read_text("utf-8"))
    sources = list(bridge.sources())
    assert [source.id for source in sources] == list(truth)
    for source in sources:
        decoded = bridge.decode(source)
        session = decoded.session
        assert [[r, t] for r, t in said(decoded) if t and r != "tool"] == truth[source.id]
        assert decoded.damages == []
        assert [m.content for m in session.messages if m.role == "tool"] == [
            "The parser is slow.\nThe cache is never emptied.\n"
        ]
        assert (session.agent, session.kind) == ("gemini", "chat")
        assert session.native[0]["session_id"] == source.id
        assert (session.total_prompt_tokens, session.total_completion_tokens) == (77, 49)
        assert session.working_dir == source.cwd == "/home/you/project"
        times = [message.timestamp for message in session.messages]
        assert times == sorted(times)


@pytest.mark.parametrize("version", VERSIONS)
def test_gemini_glance_matches_decode(version: str) -> None:
    """What a list shows of a recorded conversation is what decoding all of it says."""
    bridge = GeminiBridge(str(GOLDEN / version))
    for source in bridge.sources():
        glance, session = bridge.glance(source), bridge.decode(source).session
        assert glance.title == session.title == "How do we make the parser faster?"
        assert (glance.cwd, glance.model) == (session.working_dir, session.model)
        assert (glance.started_at, glance.updated_at) == (session.created_at, session.updated_at)


def test_glance_of_long_transcript_matches_decode(tmp_path: Path) -> None:
    """The ends of a long transcript say the same as all of it, whatever stands in between."""
    big = "x" * 300_000
    source = place(
        tmp_path,
        lines(HEAD, user("u1", "Begin"), gemini("g1", "", toolCalls=[call("c", "ls", {}, big)]))
        + b"{not a line}\n" * 20_000
        + lines(user("u2", "And now?", 50), gemini("g2", big, 55, model="flash"))
        + lines({"$set": {"lastUpdated": "2026-01-03T00:00:00Z", "summary": "Of parsers"}}),
    )
    glance, session = GeminiBridge().glance(source), GeminiBridge().decode(source).session
    assert (glance.title, glance.model) == ("Of parsers", "flash") == (session.title, session.model)
    assert (glance.started_at, glance.updated_at) == (session.created_at, session.updated_at)


def test_gemini_glance_reads_only_ends_of_transcript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A glance at a transcript of 20 MB reads less than half a megabyte of it."""
    middle = lines(gemini("g", "y" * 10_000)) * 2_000
    source = place(tmp_path, lines(HEAD, user("u", "Hi")) + middle)
    read = 0
    pread = os.pread

    def counted(fd: int, size: int, start: int) -> bytes:
        nonlocal read
        data = pread(fd, size, start)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    assert GeminiBridge().glance(source).title == "Hi"
    assert 0 < read < 500_000


def test_missing_transcript_raises_file_not_found_error(tmp_path: Path) -> None:
    """A transcript that is gone is a FileNotFoundError, for a glance and for all of it."""
    source = place(tmp_path, lines(HEAD))
    os.unlink(source.path)
    for read in (GeminiBridge().glance, GeminiBridge().decode):
        with pytest.raises(FileNotFoundError):
            read(source)


def test_gemini_tool_calls_are_shown_by_kind(tmp_path: Path) -> None:
    """A shell call, an edit, a read and a call without a result are told by their kind."""
    edit = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    calls = [
        call("a", "run_shell_command", {"command": "make"}, "Output: no rule\nExit Code: 2"),
        call("b", "replace", edit, "ok"),
        call("c", "read_file", {"file_path": "b.py"}, "text"),
        call("d", "write_file", {"file_path": "c.py", "content": "1\n2\n"}, None),
    ]
    decoded = decode(
        tmp_path,
        gemini("g", "On it.", toolCalls=calls),
    )
    told = [part.past.text for part in history(decoded.session, lambda number: f"show {number}")]
    assert told[0] == "On it."
    assert told[1].split("\n") == [
        "run_shell_command · show 1, result: message 2",
        "  $ make",
        "  exit code 2",
        "  > Output: no rule",
        "replace · a.py +1 −1 · show 1, result: message 3",
        "  + y",
        "read_file · b.py · show 1, result: message 4",
        "write_file · c.py +2 −? · show 1",
        "  + 1",
        "  no result was recorded",
    ]


def test_record_with_known_id_replaces_message_and_rewind_removes_later(tmp_path: Path) -> None:
    """A record with a known id replaces it in its place; a rewind takes back all from there."""
    decoded = decode(
        tmp_path,
        user("u1", "one"),
        gemini("g1", ""),
        user("u2", "two"),
        gemini("g1", "now", toolCalls=[call("c", "ls", {}, "out")]),
        user("u3", "three"),
        {"$rewindTo": "u2"},
        user("u4", "four"),
    )
    expected = [("user", "one"), ("assistant", "now"), ("tool", "out"), ("user", "four")]
    assert said(decoded) == expected
    assert decoded.session.total_prompt_tokens == 8


def test_rewind_to_lost_message_is_reported_and_removes_nothing(tmp_path: Path) -> None:
    """A rewind to a message whose line was lost is named and takes nothing away."""
    decoded = decode(tmp_path, user("u1", "one"), {"$rewindTo": "lost"})
    assert said(decoded) == [("user", "one")]
    assert "lost" in decoded.damages[0].detail
    assert not decoded.damages[0].fatal


def test_resumed_transcript_keeps_earlier_messages(tmp_path: Path) -> None:
    """A resume that lists only its context, or a result under its call's id, takes nothing away."""
    context = user("ctx", "<session_context>\nToday is")
    answer = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "masked"}}}
    made = {"functionCall": {"id": "c", "name": "ls", "args": {}}}
    begin = [user("u1", "one"), gemini("g1", "ok", toolCalls=[call("c", "ls", {}, "out")])]
    expected = [("user", "one"), ("assistant", "ok"), ("tool", "out")]
    assert said(decode(tmp_path, *begin, HEAD, reset(context))) == expected
    again = reset(
        context,
        user("u1", "one", 40),
        gemini("g1", [{"text": "ok"}, made], 40),
        {**user("g1", "", 40), "content": [answer]},
    )
    decoded = decode(tmp_path, *begin, HEAD, reset(context), again)
    assert said(decoded) == expected
    assert decoded.session.messages[0].timestamp.second == 10


def test_calls_and_results_in_message_list_are_paired(tmp_path: Path) -> None:
    """Calls and results that stand only in a list of messages are paired."""
    made = {"functionCall": {"id": "c", "name": "ls", "args": {"dir_path": "."}}}
    answer = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a b"}}}
    thought = {"text": "hm", "thought": True}
    decoded = decode(
        tmp_path,
        reset(
            user("u1", "one"),
            gemini("g1", [thought, {"text": "ok"}, made]),
            {**user("g1", ""), "content": [answer]},
        ),
    )
    assert said(decoded) == [("user", "one"), ("assistant", "ok"), ("tool", "a b")]
    assert decoded.session.messages[2].tool_call_id == "c"


def test_compaction_keeps_each_earlier_message_once(tmp_path: Path) -> None:
    """What a summary took the place of is still there, once, and where it happened is noted."""
    summary = user("s", "<state_snapshot>all of it</state_snapshot>")
    thanks = gemini("t", "Got it. Thanks for the additional context!")
    begin = [user("u1", "one"), gemini("g1", "1"), user("u2", "two"), gemini("g2", "2")]
    kept = [user("k1", "two"), gemini("k2", [{"text": "2"}])]
    for listed in (begin[2:], kept):
        after = [reset(summary, thanks, *listed), user("u3", "3")]
        decoded = decode(tmp_path, *begin, summary, thanks, *after)
        assert said(decoded) == [
            ("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2"), ("user", "3")
        ]  # fmt: skip
        assert decoded.session.metadata["compactions"] == [2]
        assert [m.id for m in decoded.session.messages] == ["u1", "g1", "u2", "g2", "u3"]


def test_bad_lines_and_unknown_records_hide_only_themselves(tmp_path: Path) -> None:
    """Bad lines, NUL runs, other kinds of fields and of records each hide only themselves."""
    source = place(
        tmp_path,
        lines(HEAD, user("u1", "one"), {"type": "dream", "id": "x"}, {"future": [1]})
        + b"{bad\n\0\0\0\0"
        + lines(gemini("g1", "1"))
        + lines({**user("u2", "two"), "timestamp": 7}, gemini("g2", "2", toolCalls=[7, {"id": 3}]))
        + lines({"id": "i", "type": "info", "content": "noise"}, [1], {"$set": 3}, user("u3", "3"))
        + b'{"id":"u4","type":"us',
    )
    decoded = GeminiBridge().decode(source)
    words = [text for role, text in said(decoded) if role != "tool"]
    assert words == ["one", "1", "two", "2", "3"]
    assert {damage.line for damage in decoded.damages if damage.fatal} >= {5, 6}
    assert "incomplete" in decoded.damages[-1].detail


def test_line_of_13_megabytes_is_read_and_longest_cuts_its_result(tmp_path: Path) -> None:
    """A line of 13 MB is read; with `longest` only the ends of its result are kept."""
    record = gemini("g", "", toolCalls=[call("c", "ls", {}, "z" * 13_000_000 + "end")])
    source = place(tmp_path, lines(HEAD, user("u", "hi"), record))
    assert len(GeminiBridge().decode(source).session.messages[2].content) == 13_000_003
    short = GeminiBridge().decode(source, longest=1000).session.messages[2].content
    assert short.endswith("end")
    assert len(short) < 1100


def test_typed_words_are_kept_and_media_become_placeholders(tmp_path: Path) -> None:
    """A person's words as typed, media as a placeholder; hooks and thoughts are left out."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "aaaa"}}
    decoded = decode(
        tmp_path,
        user("h", "<hook_context>x"),
        user("u1", "see @a.py --- content of a.py", displayContent=[{"text": "see @a.py"}]),
        {**user("u2", ""), "content": [{"text": "look"}, picture]},
        {**user("u3", ""), "content": "plain"},
        gemini("g", [{"text": "why", "thought": True}, {"text": "so"}]),
        gemini("e", "", toolCalls=[]),
    )
    assert said(decoded) == [
        ("user", "see @a.py"),
        ("user", "look\n[image: image/png]"),
        ("user", "plain"),
        ("assistant", "so"),
    ]


def test_failed_call_is_marked_as_error(tmp_path: Path) -> None:
    """A call that failed says so; what is nested too deeply for a record is left out of it."""
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    error = {"functionResponse": {"id": "a", "name": "ls", "response": {"error": "no such folder"}}}
    calls = [
        {"id": "a", "name": "ls", "args": {}, "status": "error", "result": [error]},
        call("b", "ls", deep, "fine"),
    ]
    decoded = decode(tmp_path, gemini("g", "", toolCalls=calls))
    first, second = decoded.session.messages[1:]
    assert (first.content, first.structured_data) == ("no such folder", {"is_error": True})
    assert (second.content, second.structured_data) == ("fine", None)


def test_gemini_sub_agents_are_decoded_separately(tmp_path: Path) -> None:
    """Sub-agents stand apart, with their parent's id, and are no sources of their own."""
    source = place(tmp_path, lines(HEAD, user("u", "hi"), gemini("g", "yes")))
    inner = {**HEAD, "sessionId": "sub-1", "kind": "subagent"}
    place(tmp_path, lines(inner, user("s", "dig"), gemini("t", "dug")), f"{ID}/sub-1.jsonl")
    place(tmp_path, lines(inner, user("s", "dig")), "session-2026-01-02T03-04-sub-1.jsonl")
    bridge = GeminiBridge(str(tmp_path))
    assert [found.id for found in bridge.sources()] == [ID]
    decoded = bridge.decode(source)
    assert said(decoded) == [("user", "hi"), ("assistant", "yes")]
    [side] = decoded.side
    assert (side.id, side.parent_id) == ("sub-1", ID)
    assert [message.content for message in side.messages] == ["dig", "dug"]


def document(**more: Any) -> dict[str, Any]:
    calls = [call("c", "ls", {}, "out")]
    messages = [user("u1", "one"), gemini("g1", "1", toolCalls=calls), user("u2", 'tw"o ÿ')]
    return {**HEAD, "messages": messages, **more}


def test_json_document_of_older_release_is_decoded(tmp_path: Path) -> None:
    """The one JSON document of older releases, small and large, says the same at a glance."""
    for filler in ("", "x" * 400_000):
        data = document(summary="Old times")
        data["messages"].append(gemini("g2", filler or "2", model="old"))
        source = place(tmp_path, json.dumps(data, indent=2).encode(), "session-a-11111111.json")
        glance, decoded = GeminiBridge().glance(source), GeminiBridge().decode(source)
        assert said(decoded)[:3] == [("user", "one"), ("assistant", "1"), ("tool", "out")]
        assert (glance.title, glance.model) == ("Old times", "old")
        assert glance.started_at == decoded.session.created_at
        assert glance.title == decoded.session.title


def test_document_continued_as_log_is_listed_once(tmp_path: Path) -> None:
    """A document that was continued as a log is listed once, by the log."""
    place(tmp_path, json.dumps(document()).encode(), "session-a-11111111.json")
    log = place(tmp_path, lines(HEAD, user("u1", "one")), "session-a-11111111.jsonl")
    assert [found.path for found in GeminiBridge(str(tmp_path)).sources()] == [log.path]


def test_sources_take_working_dir_from_project_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder comes from the project's list, by name or by hash; another home is respected."""
    home = tmp_path / ".gemini"
    hashed = "8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1"
    (home / "tmp" / hashed / "chats").mkdir(parents=True)
    (home / "tmp" / hashed / "chats" / "session-a-1.jsonl").write_bytes(lines(HEAD, user("u", "a")))
    place(home, lines(HEAD, user("u", "b")))
    (home / "projects.json").write_text('{"projects": {"/": "project"}}')
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    assert [source.cwd for source in GeminiBridge().sources()] == ["/", "/"]


def test_broken_project_list_is_logged_and_hides_no_transcript(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken list of projects is said in the log, and hides no transcript."""
    place(tmp_path, lines(HEAD, user("u", "hi")))
    (tmp_path / "projects.json").write_text("{")
    (tmp_path / "tmp" / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        assert [source.id for source in GeminiBridge(str(tmp_path)).sources()] == [ID]
    assert "projects.json" in caplog.text
    assert list(GeminiBridge(str(tmp_path / "nowhere")).sources()) == []


LOG = lines(
    HEAD,
    user("u1", "one ÿ 日本"),
    {"$set": {"lastUpdated": "2026-01-02T03:05:11Z"}},
    gemini("g1", ""),
    gemini("g1", "", toolCalls=[call("c", "ls", {"dir_path": "."}, "a\nb")]),
    gemini("g2", "done \ud83d\ude00"),
    user("u2", "two"),
)
DOCUMENT = json.dumps(document(), indent=2, ensure_ascii=False).encode()


@given(st.integers(0, len(LOG)), st.integers(0, len(DOCUMENT)))
def test_gemini_transcript_cut_at_any_byte_decodes_to_prefix(
    tmp_path_factory: pytest.TempPathFactory, at: int, other: int
) -> None:
    """A transcript that ends at any byte gives the beginning of what the whole one says."""
    home = tmp_path_factory.mktemp("cut")
    for data, end, name in ((LOG, at, "session-a.jsonl"), (DOCUMENT, other, "session-a.json")):
        whole = said(GeminiBridge().decode(place(home, data, name)))
        source = place(home, data[:end], name)
        decoded = GeminiBridge().decode(source)
        assert said(decoded) == whole[: len(decoded.session.messages)]
        assert GeminiBridge().glance(source).title in ("", first_line(whole[0][1]))


@given(st.integers(0, len(LOG)), st.binary(min_size=1, max_size=8))
def test_overwritten_bytes_hide_only_their_own_lines(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    """Bytes that were written over a transcript never raise, and hide no line but their own."""
    home = tmp_path_factory.mktemp("junk")
    data = LOG[:at] + junk.replace(b"\n", b"x") + LOG[at + len(junk) :]
    decoded = GeminiBridge().decode(place(home, data))
    words = {text for _, text in said(decoded)}
    assert len({"one ÿ 日本", "done 😀", "two"} - words) <= 2
