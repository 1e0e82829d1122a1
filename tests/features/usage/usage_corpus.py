"""A HOME in which all four tools were used, with everything that makes counting hard.

There are streamed answers, both kinds of cache writes, compactions, forks, sub-agents, model
switches, damaged lines, and answers on both sides of midnight in New York.
"""

from pathlib import Path

from tests.features.usage.usage_transcripts import (
    CODEX_FORK,
    CODEX_ID,
    SESSION_A,
    SESSION_B,
    claude_answer,
    claude_file,
    claude_request,
    codex_file,
    codex_meta,
    codex_request,
    codex_total,
    codex_turn,
    gemini_answer,
    gemini_file,
    opencode_answer,
    opencode_database,
    write_lines,
)

FIRST_DAY, DAY = 1_773_100_800_000_000, 86_400_000_000  # 2026-03-10, UTC
CODEX_AGENT = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e62"
_OPUS = "claude-opus-4-5"
_NOON, _NEXT_NOON = "2026-03-10T12:00:00Z", "2026-03-11T12:00:00Z"
_BEFORE_MIDNIGHT, _MIDNIGHT = "2026-03-11T03:59:59Z", "2026-03-11T04:00:00Z"
_DAMAGED = '{"type": "assistant", "message": {"id": "m9", "usage": {"output_tok'


def write_corpus(home: Path) -> None:
    _write_claude(home)
    _write_codex(home)
    _write_gemini(home)
    _write_opencode(home)


def _write_claude(home: Path) -> None:
    """A session that was compacted, with two sub-agents, and a fork of the session."""
    own, fork = {"sessionId": SESSION_A}, {"sessionId": SESSION_B, "cwd": "/home/you/web"}
    streamed = [
        claude_answer("m1", at=_NOON, input=10, output=output, read=20_000, write=5_000, hour=2_000)
        | own
        for output in (1, 300, 500)
    ]
    switched = claude_answer(
        "m2", at=_BEFORE_MIDNIGHT, model=_OPUS, input=4, output=2_000, read=100_000
    )
    boundary = {"type": "system", "subtype": "compact_boundary", "timestamp": _MIDNIGHT}
    summary = {**claude_request("The summary"), "isCompactSummary": True}
    after = claude_answer("m3", at=_MIDNIGHT, input=6, output=1_000, write=40_000, hour=40_000)
    lines = [*streamed, _DAMAGED, switched | own, boundary, summary | own, after | own]
    path = claude_file(home, SESSION_A, *lines)
    agents = path.parent / SESSION_A / "subagents"
    write_lines(agents / "agent-1.jsonl", claude_answer("m4", at=_NOON, input=100, output=50) | own)
    # A sub-agent writes the summary of a compaction. Its file repeats the history.
    written = claude_answer("m5", at=_BEFORE_MIDNIGHT, output=800, read=10_000)
    write_lines(agents / "agent-acompact-2.jsonl", *streamed, written | own)
    forked_from = {"sessionId": SESSION_A, "messageUuid": "u-m1"}
    copies = [line | fork | {"forkedFrom": forked_from} for line in streamed]
    new = claude_answer("m6", at=_NEXT_NOON, model=_OPUS, input=1_000, output=400) | fork
    folder = home / ".claude/projects/-home-you-web"
    write_lines(folder / f"{SESSION_B}.jsonl", claude_request() | fork, *copies, new)


def _write_codex(home: Path) -> None:
    """A session that was compacted, a sub-agent of the session, and a fork of the session."""
    first = codex_total(10_000, 6_000, 500, 200, 1_000)
    compacted = {"timestamp": _MIDNIGHT, "type": "compacted", "payload": {"message": "Summary"}}
    second = codex_total(30_000, 16_000, 900, 300, 1_000, at="2026-03-11T04:00:01Z")
    history = [
        codex_turn(),
        codex_request(),
        first,
        _DAMAGED,
        compacted,
        codex_turn("gpt-5-mini"),
        second,
        second,
    ]
    codex_file(home, CODEX_ID, codex_meta(CODEX_ID), *history)
    source = {"subagent": {"thread_spawn": {"parent_thread_id": CODEX_ID, "depth": 1}}}
    agent = codex_total(1_000, 0, 100, at="2026-03-11T04:00:03Z")
    meta = codex_meta(CODEX_AGENT, source=source)
    codex_file(home, CODEX_AGENT, meta, codex_turn("gpt-5-mini"), agent)
    later = "2026-03-11T13:00:00Z"
    copies = [line | {"timestamp": later} for line in history if isinstance(line, dict)]
    new = codex_total(31_000, 16_000, 950, 300, 1_000, at=later)
    meta = codex_meta(CODEX_FORK, forked_from_id=CODEX_ID)
    codex_file(home, CODEX_FORK, meta, codex_meta(CODEX_ID), *copies, new)


def _write_gemini(home: Path) -> None:
    """A session that was compacted: Gemini CLI then writes the messages again."""
    first = gemini_answer("g1", input=1_000, cached=300, output=40, thoughts=25)
    second = gemini_answer("g2", "gemini-2.5-flash", input=2_000, output=100)
    second["timestamp"] = _NEXT_NOON
    path = gemini_file(home, first, {"$set": {"messages": [first]}})
    write_lines(path, _DAMAGED, second, mode="a")


def _write_opencode(home: Path) -> None:
    """A session that was compacted, with a sub-agent."""
    noon, next_noon = FIRST_DAY // 1_000 + 43_200_000, (FIRST_DAY + DAY) // 1_000 + 43_200_000
    compaction = opencode_answer(next_noon, 0.25, input=100, output=30)
    messages = [
        ("ses_1", "msg_1", opencode_answer(noon, 0.5, input=10, output=20)),
        ("ses_1", "msg_2", {**compaction, "summary": True, "mode": "compaction"}),
        ("ses_1", "msg_3", {"role": "assistant", "tokens": "damaged"}),
        ("ses_2", "msg_4", opencode_answer(noon + 1_000, input=1, output=2, read=9)),
    ]
    opencode_database(home, messages)
