"""The tokens and the cost of answers, counted from the transcripts of each tool."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.catalog.catalog import Catalog
from cortext.catalog.usage_table import KnownSession
from cortext.errors import SessionStorageError
from cortext.features.usage.usage_report import UsageGroup, UsageReport, gather_blocks, gather_usage
from cortext.features.usage.usage_totals import UsageTotals
from cortext.tools import incremental_usage_reader
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
    codex_total,
    codex_turn,
    gemini_answer,
    gemini_file,
    opencode_answer,
    opencode_database,
    write_lines,
)


@pytest.fixture
def time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def report(empty_home: Path, by: str = "day", **more: object) -> UsageReport:
    return gather_usage(str(empty_home), by, **more)  # type: ignore[arg-type]


def conversations(home: Path) -> list[UsageGroup]:
    return report(home, "conversation").groups


def kinds(totals: UsageTotals) -> tuple[int, int, int, int, int]:
    return (
        totals.input, totals.output, totals.cache_read, totals.cache_write, totals.cache_write_1h,
    )  # fmt: skip


def test_claude_answer_counts_each_kind_of_token_once(empty_home: Path) -> None:
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", input=3, output=1, read=100, write=70, hour=20),
        claude_answer("m1", input=3, output=250, read=100, write=70, hour=20),
        claude_answer("m2", input=5, output=40, read=1000),
    )  # fmt: skip
    found = report(empty_home).total
    assert (found.answers, *kinds(found)) == (2, 8, 290, 1100, 50, 20)


def test_resumed_and_forked_session_repeats_no_answer(empty_home: Path) -> None:
    first, second = claude_answer("m1", output=10), claude_answer("m2", output=20)
    claude_file(empty_home, SESSION_A, first, second)
    claude_file(empty_home, SESSION_B, first, second, claude_answer("m3", output=30))
    os.utime(claude_file(empty_home, SESSION_A, first, second), (1, 1))
    by_session = {
        group.name: group.totals.output for group in report(empty_home, "conversation").groups
    }
    assert by_session == {SESSION_A: 30, SESSION_B: 30}


def test_answer_counts_for_copy_when_original_was_deleted(empty_home: Path) -> None:
    line = claude_answer("m1", output=10)
    original = claude_file(empty_home, SESSION_A, line)
    os.utime(original, (1, 1))
    claude_file(empty_home, SESSION_B, line)
    assert report(empty_home).total.output == 10
    original.unlink()
    assert [group.name for group in report(empty_home, "conversation").groups] == [SESSION_B]


def test_claude_subagents_count_for_their_session(empty_home: Path) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    write_lines(path.parent / f"{SESSION_A}/subagents/agent-1.jsonl", claude_answer("m2", output=5))
    groups = report(empty_home, "conversation").groups
    assert [(group.name, group.totals.output) for group in groups] == [(SESSION_A, 15)]


def test_added_lines_are_counted_without_earlier_lines(empty_home: Path) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    assert report(empty_home).total.output == 10
    write_lines(path, claude_answer("m1", output=12), claude_answer("m2", output=5), mode="a")
    assert report(empty_home).total.output == 17


def test_rewritten_transcript_is_counted_again(empty_home: Path) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    assert report(empty_home).total.output == 10
    write_lines(path, claude_request(), claude_answer("m9", output=3))
    assert report(empty_home).total.output == 3


def test_models_of_one_session_are_counted_apart(empty_home: Path) -> None:
    lines = [claude_answer("m1", output=10), claude_answer("m2", model="claude-opus-4-5", output=7)]
    claude_file(empty_home, SESSION_A, *lines)
    groups = {group.name: group.totals.output for group in report(empty_home, "model").groups}
    assert groups == {"claude-sonnet-4-5": 10, "claude-opus-4-5": 7}


def test_damaged_lines_lose_only_themselves(empty_home: Path) -> None:
    lines = [claude_answer("m1", output=10), '{"type": "assist', claude_answer("m2", output=5)]
    claude_file(empty_home, SESSION_A, *lines)
    assert report(empty_home).total.output == 15


def test_day_begins_at_local_midnight(empty_home: Path, time_zone: None) -> None:
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-03-10T03:59:59Z", output=1),
        claude_answer("m2", at="2026-03-10T04:00:00Z", output=2),
    )  # fmt: skip
    days = [(group.name, group.totals.output) for group in report(empty_home).groups]
    assert days == [("2026-03-09", 1), ("2026-03-10", 2)]


def test_week_and_month_sum_their_days(empty_home: Path, time_zone: None) -> None:
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-02-28T12:00:00Z", output=1),
        claude_answer("m2", at="2026-03-01T12:00:00Z", output=2),
        claude_answer("m3", at="2026-03-02T12:00:00Z", output=4),
    )  # fmt: skip
    weeks = [(group.name, group.totals.output) for group in report(empty_home, "week").groups]
    months = [(group.name, group.totals.output) for group in report(empty_home, "month").groups]
    assert weeks == [("2026-W09", 3), ("2026-W10", 4)]
    assert months == [("2026-02", 1), ("2026-03", 6)]


def test_recorded_cost_wins_over_prices(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", output=1_000_000, costUSD=0.25))
    found = report(empty_home).total
    assert (found.cost_usd, found.recorded_usd, found.computed_usd) == (0.25, 0.25, 0.0)


def test_model_without_price_is_named(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", model="unknown-model-9", output=10))
    found = report(empty_home)
    assert (found.unpriced_models, found.total.unpriced_answers) == (["unknown-model-9"], 1)


def test_codex_totals_become_differences(empty_home: Path) -> None:
    codex_file(
        empty_home, CODEX_ID,
        codex_meta(CODEX_ID),
        codex_turn(),
        codex_total(1000, 600, 50, 20),
        codex_total(1000, 600, 50, 20),
        codex_total(2500, 1800, 90, 30),
    )  # fmt: skip
    found = report(empty_home).total
    assert (found.answers, *kinds(found)) == (2, 700, 90, 1800, 0, 0)
    assert found.reasoning == 30


def test_codex_cache_writes_are_not_input(empty_home: Path) -> None:
    codex_file(
        empty_home, CODEX_ID,
        codex_meta(CODEX_ID), codex_turn(),
        codex_total(1000, 300, 50, write=200),
        codex_total(1500, 300, 90, write=600),
    )  # fmt: skip
    assert kinds(report(empty_home).total) == (600, 90, 300, 600, 0)


def test_codex_difference_continues_after_lines_were_added(empty_home: Path) -> None:
    path = codex_file(
        empty_home, CODEX_ID, codex_meta(CODEX_ID), codex_turn(), codex_total(1000, 600, 50)
    )
    assert report(empty_home).total.input == 400
    write_lines(path, codex_total(1500, 900, 70), mode="a")
    found = report(empty_home)
    assert kinds(found.total) == (600, 70, 900, 0, 0)
    assert found.groups[0].models == ["gpt-5.1-codex"]


def test_codex_totals_that_begin_again_use_the_last_answer(empty_home: Path) -> None:
    codex_file(
        empty_home, CODEX_ID,
        codex_meta(CODEX_ID), codex_turn(),
        codex_total(9000, 0, 900),
        codex_total(300, 100, 20, last=(300, 100, 20, 0)),
    )  # fmt: skip
    assert kinds(report(empty_home).total) == (9200, 920, 100, 0, 0)


def test_codex_fork_repeats_no_answer(empty_home: Path) -> None:
    history = [codex_turn(), codex_total(1000, 600, 50), codex_total(2000, 1500, 80)]
    os.utime(codex_file(empty_home, CODEX_ID, codex_meta(CODEX_ID), *history), (1, 1))
    forked = codex_meta(CODEX_FORK, forked_from_id=CODEX_ID)
    codex_file(empty_home, CODEX_FORK, forked, *history, codex_total(2600, 1900, 95))
    assert kinds(report(empty_home).total) == (700, 95, 1900, 0, 0)


def test_gemini_thoughts_are_output_and_cached_tokens_are_not_input(empty_home: Path) -> None:
    line = gemini_answer("g1", input=1000, cached=300, output=40, thoughts=25, tool=7, total=1072)
    gemini_file(empty_home, line, {"$set": {"messages": [line]}})
    found = report(empty_home).total
    assert (found.answers, *kinds(found)) == (1, 707, 65, 300, 0, 0)
    assert found.reasoning == 25


def test_opencode_counts_subagents_and_recorded_cost(empty_home: Path) -> None:
    opencode_database(
        empty_home,
        [
            ("ses_1", "msg_1", opencode_answer(1_773_144_000_000, 0.5, input=10, output=20)),
            ("ses_2", "msg_2", opencode_answer(1_773_144_001_000, 0.0, input=1, output=2, read=9)),
        ],
    )
    found = report(empty_home).total
    assert kinds(found) == (11, 22, 9, 0, 0)
    assert found.recorded_usd == 0.5


def test_opencode_fork_repeats_no_answer(empty_home: Path) -> None:
    data = opencode_answer(1_773_144_000_000, input=10, output=20)
    opencode_database(empty_home, [("ses_1", "msg_1", data), ("ses_2", "msg_2", data)])
    assert report(empty_home).total.output == 20


def test_since_and_until_limit_the_answers(empty_home: Path) -> None:
    lines = [
        claude_answer(f"m{day}", at=f"2026-03-{day:02}T12:00:00Z", output=day)
        for day in (9, 10, 11)
    ]
    claude_file(empty_home, SESSION_A, *lines)
    day = 86_400_000_000
    start = 1_773_100_800_000_000  # 2026-03-10
    assert report(empty_home, since=start, until=start + day).total.output == 10


def test_folder_limits_the_sessions(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    other = write_lines(
        empty_home / f".claude/projects/-home-you-web/{SESSION_B}.jsonl",
        {**claude_request(), "cwd": "/home/you/web"},
        {**claude_answer("m2", output=5), "cwd": "/home/you/web"},
    )
    assert other.is_file()
    assert report(empty_home, folder="/home/you/web").total.output == 5
    projects = {group.name: group.totals.output for group in report(empty_home, "project").groups}
    assert projects == {"shop": 10, "web": 5}


def test_answers_stay_counted_when_tool_deletes_an_archived_transcript(empty_home: Path) -> None:
    from cortext.features.archive.archive_sync import sync

    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    sync()
    shutil.rmtree(path.parent)
    assert report(empty_home).total.output == 10


def test_huge_numbers_are_ignored_and_keep_the_catalog(empty_home: Path) -> None:
    lines = [claude_answer(f"m{n}", input=2**53, output=1) for n in range(1100)]
    claude_file(empty_home, SESSION_A, *lines, claude_answer("good", output=5))
    assert report(empty_home).total.output >= 5
    assert report(empty_home).total.output >= 5


def test_negative_numbers_count_as_nothing(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", output=-5, costUSD=-50.0))
    data = opencode_answer(1_773_144_000_000, -3.0, input=-10, output=20)
    opencode_database(empty_home, [("ses_1", "msg_1", data)])
    found = report(empty_home).total
    assert (found.input, found.output) == (0, 20)
    assert found.cost_usd >= 0


def test_catalog_that_is_replaced_while_reading_loses_no_answer(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in (SESSION_A, SESSION_B):
        claude_file(
            empty_home, session, *[claude_answer(f"{session}{n}", output=1) for n in range(10)]
        )
    assert report(empty_home).total.output == 20
    path = claude_file(
        empty_home, SESSION_A, *[claude_answer(f"{SESSION_A}{n}", output=1) for n in range(11)]
    )
    assert path.is_file()
    real = Catalog.known_usage

    def known_then_replaced(self: Catalog) -> dict[tuple[str, str], KnownSession]:
        found = real(self)
        monkeypatch.setattr(Catalog, "known_usage", real)
        self._database.discard()
        return found

    monkeypatch.setattr(Catalog, "known_usage", known_then_replaced)
    assert report(empty_home).total.output == 21
    assert report(empty_home).total.output == 21


def test_catalog_that_is_replaced_again_and_again_is_an_error(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    real = Catalog.known_usage

    def known_then_replaced(self: Catalog) -> dict[tuple[str, str], KnownSession]:
        found = real(self)
        self._database.discard()
        return found

    monkeypatch.setattr(Catalog, "known_usage", known_then_replaced)
    with pytest.raises(SessionStorageError, match="was replaced 3 times"):
        report(empty_home)


def test_file_that_cannot_be_read_now_keeps_its_answers(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    assert report(empty_home).total.output == 10
    write_lines(path, claude_answer("m2", output=5), mode="a")

    def fail(*_: object) -> object:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(incremental_usage_reader, "whole_lines_since", fail)
        assert report(empty_home).total.output == 10
    assert report(empty_home).total.output == 15


def test_answers_that_a_subagent_adds_later_are_counted(empty_home: Path) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    agent = path.parent / f"{SESSION_A}/subagents/agent-1.jsonl"
    write_lines(agent, claude_answer("m2", output=5))
    assert report(empty_home).total.output == 15
    write_lines(agent, claude_answer("m3", output=1), mode="a")
    assert report(empty_home).total.output == 16


def test_repeated_answers_stay_with_their_session_when_it_is_rewritten(empty_home: Path) -> None:
    line = claude_answer("m1", output=10)
    os.utime(claude_file(empty_home, SESSION_A, line), (1, 1))
    claude_file(empty_home, SESSION_B, line, claude_answer("m2", output=1))
    assert report(empty_home).total.output == 11
    claude_file(empty_home, SESSION_A, claude_answer("m0", output=2), line)
    by_session = {
        group.name: group.totals.output for group in report(empty_home, "conversation").groups
    }
    assert by_session == {SESSION_A: 12, SESSION_B: 1}


def test_block_borders_do_not_depend_on_since(empty_home: Path) -> None:
    times = ("2026-03-10T09:20:00Z", "2026-03-10T13:50:00Z", "2026-03-10T14:10:00Z")
    claude_file(empty_home, SESSION_A, *[claude_answer(at, at=at, output=1) for at in times])
    every = gather_blocks(str(empty_home))
    since = every[1].start + 1
    assert [block.start for block in gather_blocks(str(empty_home), since=since)] == [
        every[1].start
    ]
    assert [block.totals.output for block in every] == [2, 1]


@pytest.mark.parametrize("at", ["9999-12-31T23:30:00Z", "no time", "1969-12-31T00:00:00Z"])
def test_answer_with_impossible_time_breaks_nothing(
    empty_home: Path, at: str, time_zone: None
) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", at=at, output=10))
    assert report(empty_home).total.output == 10
    gather_blocks(str(empty_home))


def test_sessions_of_two_tools_with_one_id_are_two_conversations(empty_home: Path) -> None:
    claude_file(empty_home, "11112222-3333-4444-5555-666677778888", claude_answer("m1", output=10))
    gemini_file(empty_home, gemini_answer("g1", input=1, output=4))
    found = report(empty_home, "conversation").groups
    assert sorted(group.totals.output for group in found) == [4, 10]
