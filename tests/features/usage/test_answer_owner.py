"""A repeated answer counts once, for the session that wrote it, although the original session was
continued after it was forked."""

import os
from pathlib import Path
from typing import Any

import pytest

from cortext.features.usage.usage_report import gather_usage
from tests.features.usage.usage_transcripts import (
    CODEX_FORK,
    CODEX_ID,
    GEMINI_FORK,
    GEMINI_ID,
    SESSION_A,
    SESSION_B,
    claude_answer,
    claude_file,
    codex_file,
    codex_meta,
    codex_total,
    codex_turn,
    gemini_answer,
    gemini_file,
    opencode_answer,
    opencode_database,
)

SECOND_FORK = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e61"
AGENT = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e62"
TURNS = [f"019a2f64-5c1e-7b42-8f0d-00000000000{n}" for n in range(4)]


def output_by_session(home: Path) -> dict[str, int]:
    groups = gather_usage(str(home), "conversation").groups
    return {group.name: group.totals.output for group in groups}


def make_older(*paths: Path) -> None:
    """Make the forks look older than the originals, which were continued after the fork."""
    for path in paths:
        os.utime(path, (1, 1))


@pytest.mark.parametrize(
    "mark", [{"forkedFrom": {"sessionId": SESSION_A, "messageUuid": "u"}}, {"sessionId": SESSION_A}]
)
def test_claude_copy_that_names_its_session_counts_for_it(
    empty_home: Path, mark: dict[str, Any]
) -> None:
    first, own = claude_answer("m1", output=10), {"sessionId": SESSION_A}
    copy = {**first, "sessionId": SESSION_B, **mark}
    claude_file(empty_home, SESSION_A, {**first, **own}, {**claude_answer("m3", output=7), **own})
    new = {**claude_answer("m2", output=5), "sessionId": SESSION_B}
    make_older(claude_file(empty_home, SESSION_B, copy, new))
    assert output_by_session(empty_home) == {SESSION_A: 17, SESSION_B: 5}


def test_codex_copy_with_later_time_counts_for_original(empty_home: Path) -> None:
    history = codex_total(1000, 600, 50, at="2026-03-10T12:00:02Z")
    later = codex_total(1500, 600, 57, at="2026-03-10T15:00:00Z")
    codex_file(empty_home, CODEX_ID, codex_meta(CODEX_ID), codex_turn(), history, later)
    copy = codex_total(1000, 600, 50, at="2026-03-10T14:00:00Z")
    new = codex_total(1200, 600, 53, at="2026-03-10T14:01:00Z")
    meta = codex_meta(CODEX_FORK, forked_from_id=CODEX_ID)
    make_older(codex_file(empty_home, CODEX_FORK, meta, codex_turn(), copy, new))
    assert output_by_session(empty_home) == {CODEX_ID: 57, CODEX_FORK: 3}


@pytest.mark.parametrize("turns", [TURNS, [None] * 4], ids=["turn ids", "no turn ids"])
@pytest.mark.parametrize("metadata", ["copied", "left out"])
def test_fork_of_codex_fork_repeats_no_answer(
    empty_home: Path, turns: list[str | None], metadata: str
) -> None:
    def turn(number: int, *totals: int) -> list[dict[str, Any]]:
        context = codex_turn()
        context["payload"]["turn_id"] = turns[number]
        return [context, codex_total(*totals)]

    first, second, third = turn(0, 1000, 600, 50), turn(1, 2000, 600, 80), turn(2, 3000, 600, 95)
    heads = [
        codex_meta(CODEX_ID),
        codex_meta(CODEX_FORK, forked_from_id=CODEX_ID),
        codex_meta(SECOND_FORK, forked_from_id=CODEX_FORK),
    ]
    is_copied = metadata == "copied"
    codex_file(empty_home, CODEX_ID, heads[0], *first)
    codex_file(empty_home, CODEX_FORK, heads[1], *heads[:is_copied], *first, *second)
    codex_file(
        empty_home,
        SECOND_FORK,
        heads[2],
        *(heads[1::-1] if is_copied else ()),
        *first,
        *second,
        *third,
    )
    assert output_by_session(empty_home) == {CODEX_ID: 50, CODEX_FORK: 30, SECOND_FORK: 15}


def test_codex_sub_agent_counts_for_conversation_that_started_it(empty_home: Path) -> None:
    """Also a sub-agent that a sub-agent started."""
    codex_file(empty_home, CODEX_ID, codex_meta(CODEX_ID), codex_turn(), codex_total(1000, 600, 50))
    for id, parent in ((AGENT, CODEX_ID), (SECOND_FORK, AGENT)):
        source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}
        agent = codex_file(
            empty_home, id, codex_meta(id, source=source), codex_turn(), codex_total(9, 0, 4)
        )
    assert output_by_session(empty_home) == {CODEX_ID: 58}
    with open(agent, "a", encoding="utf-8") as file:
        file.write('{"timestamp":"2026-03-10T12:09:00Z","type":"event_msg","payload":')
        file.write('{"type":"token_count","info":{"total_token_usage":{"output_tokens":5,')
        file.write('"input_tokens":9}}}}\n')
    assert output_by_session(empty_home) == {CODEX_ID: 59}


def test_codex_sub_agent_without_known_parent_counts_for_itself(empty_home: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": CODEX_ID, "depth": 1}}}
    meta = codex_meta(AGENT, source=source)
    codex_file(empty_home, AGENT, meta, codex_turn(), codex_total(9, 0, 4))
    assert output_by_session(empty_home) == {AGENT: 4}


def test_gemini_answer_older_than_its_session_counts_for_original(empty_home: Path) -> None:
    first = gemini_answer("g1", input=1000, output=40)
    new = {**gemini_answer("g2", input=10, output=2), "timestamp": "2026-03-10T13:00:05Z"}
    copies = {"$set": {"messages": [first]}}
    fork = gemini_file(empty_home, copies, new, id=GEMINI_FORK, start="2026-03-10T13:00:00Z")
    make_older(fork)
    gemini_file(empty_home, first, gemini_answer("g3", input=10, output=7))
    assert output_by_session(empty_home) == {GEMINI_ID: 47, GEMINI_FORK: 2}


def test_opencode_answer_older_than_its_session_counts_for_original(empty_home: Path) -> None:
    first = opencode_answer(1_773_144_000_000, input=10, output=20)
    new = opencode_answer(1_773_149_000_000, input=10, output=3)
    messages = [("ses_0", "msg_1", first), ("ses_0", "msg_2", new), ("ses_1", "msg_3", first)]
    opencode_database(empty_home, messages, forked_at=1_773_148_000_000)
    assert output_by_session(empty_home) == {"ses_1": 20, "ses_0": 3}


def test_owner_is_corrected_when_original_is_read_later(empty_home: Path) -> None:
    first = {**claude_answer("m1", output=10), "sessionId": SESSION_A}
    claude_file(empty_home, SESSION_B, first, claude_answer("m2", output=5))
    assert output_by_session(empty_home) == {SESSION_B: 15}
    original = claude_file(empty_home, SESSION_A, first)
    assert output_by_session(empty_home) == {SESSION_A: 10, SESSION_B: 5}
    original.unlink()
    assert output_by_session(empty_home) == {SESSION_B: 15}
