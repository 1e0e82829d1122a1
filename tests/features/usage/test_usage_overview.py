"""The usage in several groupings at once, and the parts of it that a page asks for."""

import time
from datetime import date
from pathlib import Path

import pytest

from cortext.features.usage.usage_overview import UsageOverview, summarize_usage, take_snapshot
from cortext.features.usage.usage_report import gather_usage, local_day
from tests.features.usage.usage_transcripts import (
    SESSION_A,
    SESSION_B,
    claude_answer,
    claude_file,
    claude_request,
    write_lines,
)

OPUS, SONNET = "claude-opus-4-5", "claude-sonnet-4-5"
DAY = 86_400_000_000
TENTH = 1_773_100_800_000_000  # 2026-03-10, UTC


@pytest.fixture
def two_projects(empty_home: Path) -> Path:
    """Two sessions in two projects, on two days, with two models."""
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-03-10T12:00:00Z", model=SONNET, output=10),
        claude_answer("m2", at="2026-03-10T12:01:00Z", model=OPUS, output=20),
        claude_answer("m3", at="2026-03-11T12:00:00Z", model=SONNET, output=40),
    )  # fmt: skip
    write_lines(
        empty_home / f".claude/projects/-home-you-web/{SESSION_B}.jsonl",
        {**claude_request("Fix the menu"), "cwd": "/home/you/web"},
        {**claude_answer("m4", model=SONNET, output=500), "cwd": "/home/you/web"},
    )
    return empty_home


def overview(two_projects: Path, **wanted: object) -> UsageOverview:
    return summarize_usage(take_snapshot(str(two_projects)), **wanted)  # type: ignore[arg-type]


def test_days_are_split_by_model(two_projects: Path) -> None:
    found = {key: totals.output for key, totals in overview(two_projects).days.items()}
    assert found == {
        (date(2026, 3, 10), SONNET): 510,
        (date(2026, 3, 10), OPUS): 20,
        (date(2026, 3, 11), SONNET): 40,
    }


def test_projects_and_conversations_match_usage_command(two_projects: Path) -> None:
    found = overview(two_projects)
    assert found.total == gather_usage(str(two_projects)).total
    assert {folder: each.output for folder, each in found.projects.items()} == {
        "/home/you/shop": 70,
        "/home/you/web": 500,
    }
    conversations = [
        (each.row and each.row.title, each.totals.output) for each in found.conversations
    ]
    assert conversations == [("Fix the menu", 500), ("Hello", 70)]


def test_overview_counts_only_wanted_time_and_folder(two_projects: Path) -> None:
    assert overview(two_projects, since=TENTH, until=TENTH + DAY).total.output == 530
    assert overview(two_projects, since=TENTH + DAY).total.output == 40
    assert overview(two_projects, folder="/home/you/web").total.output == 500


def test_snapshot_knows_folders_of_projects_with_usage(two_projects: Path) -> None:
    assert take_snapshot(str(two_projects)).folders == {"/home/you/shop", "/home/you/web"}


def test_answer_without_time_has_no_day(two_projects: Path) -> None:
    claude_file(two_projects, SESSION_A, claude_answer("m1", at="no time", model=OPUS, output=10))
    found = overview(two_projects)
    assert {(day, model): each.output for (day, model), each in found.days.items()} == {
        (None, OPUS): 10,
        (date(2026, 3, 10), SONNET): 500,
    }
    assert found.total.output == 510


def test_last_day_of_calendar_is_counted(
    two_projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_file(two_projects, SESSION_A, claude_answer("m1", at="9999-12-31T23:59:00Z", output=10))
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert local_day(253_402_300_740_000_000) == date.max
        assert gather_usage(str(two_projects)).groups[-1].name == "9999-12-31"
    time.tzset()
