"""What is counted, of real conversations on disk."""

import time
from collections.abc import Generator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, clock, open_session_store
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.stats.stats import Share, Stats, Streak, gather, streak
from cortext.model.message import Role

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)  # a Thursday


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """A fixed day, three hours east of Greenwich."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "EAT-3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def stats_workspace(tmp_path: Path) -> Path:
    (tmp_path / "work/.workspace").mkdir(parents=True)
    return tmp_path / "work"


def said(role: Role, days_ago: float, text: str = "12345678", **fields: Any) -> SessionMessage:
    return SessionMessage(role, text, timestamp=NOW - timedelta(days=days_ago), **fields)


def keep(workspace: Path, id: str, *messages: SessionMessage, **head: Any) -> Path:
    times = [message.timestamp for message in messages] or [NOW]
    head = {"kind": "plan", "created_at": times[0], "updated_at": times[-1], **head}
    session = Session(id, messages=list(messages), **head)
    open_session_store(f"workspace:{workspace}").save(session)
    (folder,) = workspace.glob(f"conversations/*/{id}")
    return folder


def count(workspace: Path, **filters: Any) -> Stats:
    return gather(str(workspace), ListFilter(**filters))


def test_stats_count_conversations_messages_and_exchanges(stats_workspace: Path) -> None:
    """By status and by type, the most messages first."""
    keep(stats_workspace, "001-a", said("user", 1), said("assistant", 1), status="completed")
    keep(stats_workspace, "002-b", said("user", 1), status="paused", kind="debug")
    keep(
        stats_workspace,
        "003-c",
        said("user", 2),
        said("assistant", 2),
        said("user", 2),
        kind="debug",
    )
    stats = count(stats_workspace)
    totals = stats.totals
    assert (totals.conversations, totals.messages, totals.exchanges) == (3, 6, 4)
    assert totals.by_status["completed"] == 1
    assert [(s.name, s.conversations, s.messages) for s in stats.types] == [
        ("debug", 2, 4),
        ("plan", 1, 2),
    ]
    assert [(s.name, s.conversations) for s in count(stats_workspace, kind="plan").types] == [
        ("plan", 1)
    ]


def test_stats_use_local_time_for_days_hours_and_weekdays(stats_workspace: Path) -> None:
    """22:30 in Greenwich on a Wednesday is half past one on the Thursday here."""
    late = SessionMessage("user", "x", timestamp=datetime(2026, 3, 11, 22, 30, tzinfo=UTC))
    answer = SessionMessage("assistant", "x", timestamp=late.timestamp)
    keep(stats_workspace, "001-a", late, answer)
    stats = count(stats_workspace)
    assert [(day.day, day.conversations, day.messages) for day in stats.days] == [
        ("2026-03-12", 1, 2)
    ]
    assert [hour for hour, number in enumerate(stats.hours) if number] == [1]
    assert stats.weekdays == [0, 0, 0, 1, 0, 0, 0]


def test_stats_count_conversation_on_each_of_its_days(stats_workspace: Path) -> None:
    """And the busiest day is the one with the most messages."""
    keep(stats_workspace, "001-a", said("user", 2), said("user", 1), said("user", 1))
    keep(stats_workspace, "002-b", said("user", 1))
    stats = count(stats_workspace)
    assert [(day.conversations, day.messages) for day in stats.days] == [(1, 1), (2, 3)]
    assert stats.busiest_day == stats.days[1]
    assert [long.id for long in stats.longest] == ["001-a", "002-b"]


def test_stats_since_count_only_later_messages(stats_workspace: Path) -> None:
    """Of a conversation that goes on, the messages since then."""
    keep(stats_workspace, "001-a", said("user", 9), said("user", 1))
    keep(stats_workspace, "002-b", said("user", 9))
    since = int((NOW - timedelta(days=3)).timestamp() * 1_000_000)
    stats = count(stats_workspace, since=since)
    assert (stats.totals.conversations, stats.totals.messages, len(stats.days)) == (1, 1, 1)
    assert stats.since == "2026-03-09T15:00:00+03:00"


def test_stats_sum_reported_tokens_and_estimate_others(stats_workspace: Path) -> None:
    """The session's totals, else the messages' numbers, else four characters a token."""
    keep(
        stats_workspace,
        "001-a",
        said("user", 1),
        total_prompt_tokens=70,
        total_completion_tokens=30,
    )
    keep(stats_workspace, "002-b", said("user", 1, tokens=5), said("assistant", 1, tokens=2))
    keep(stats_workspace, "003-c", said("user", 1), said("assistant", 1, "123456789012"))
    tokens = count(stats_workspace).tokens
    reported, estimated = tokens.reported, tokens.estimated
    assert (reported.prompt, reported.completion, reported.conversations) == (75, 32, 2)
    assert (estimated.prompt, estimated.completion, estimated.conversations) == (2, 3, 1)


def test_stats_split_cost_into_recorded_priced_and_unknown(
    stats_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded with the session or the messages, else by the price file, else not known."""
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."sonnet-*"]\ninput = 3\noutput = 15\n', encoding="utf-8")
    monkeypatch.setenv("CORTEXT_STATS_PRICES", str(prices))
    used = {"total_prompt_tokens": 1_000_000, "total_completion_tokens": 100_000}
    keep(stats_workspace, "001-a", metadata={"cost_usd": 0.25}, model="sonnet-4", **used)
    data = [{"cost": {"total": 0.5}}, {"cost_usd": 0.25}, {"cost_usd": "free"}, {"cost": -1}]
    keep(stats_workspace, "002-b", *(said("assistant", 1, structured_data=item) for item in data))
    keep(stats_workspace, "003-c", model="sonnet-4", **used)
    keep(stats_workspace, "004-d", said("user", 1), model="vendor/sonnet-5")
    keep(stats_workspace, "005-e", said("user", 1), model="other")
    stats = count(stats_workspace)
    cost = stats.cost
    assert (cost.recorded, cost.recorded_usd) == (2, 1.0)
    assert (cost.from_prices, cost.on_estimates, cost.unknown) == (2, 1, 1)
    assert cost.from_prices_usd == pytest.approx(3 + 1.5 + 2 * 3 / 1_000_000)
    assert cost.usd == cost.recorded_usd + cost.from_prices_usd
    assert sum(share.cost_usd for share in stats.models) == pytest.approx(cost.usd)


def test_stats_use_built_in_prices_only_to_complete_price_file(
    stats_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums of a conversation do not say what came from a cache, nor how long a prompt was."""
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.claude-sonnet-4-5]\ninput = 2\n", encoding="utf-8")
    monkeypatch.setenv("CORTEXT_STATS_PRICES", str(prices))
    used = {"total_prompt_tokens": 1_000_000, "total_completion_tokens": 100_000}
    keep(stats_workspace, "001-a", model="claude-sonnet-4-5-20250929", **used)
    keep(stats_workspace, "002-b", model="claude-haiku-4-5", **used)
    cost = count(stats_workspace).cost
    assert (cost.from_prices, cost.unknown) == (1, 1)
    assert cost.from_prices_usd == pytest.approx(2 + 1.5)


def test_stats_group_conversations_by_tool_or_agent(stats_workspace: Path) -> None:
    """One that was had in two tools is a part of its own; an agent stands for a tool."""
    two = [{"tool": "codex"}, {"tool": "claude-code"}, {"tool": "codex"}]
    keep(stats_workspace, "001-a", said("user", 1), native=two)
    keep(stats_workspace, "002-b", said("user", 1), agent="my-agent")
    keep(stats_workspace, "003-c", said("user", 1))
    names = sorted(share.name for share in count(stats_workspace).tools)
    assert names == ["claude-code + codex", "my-agent", "not recorded"]


def test_stats_name_damaged_conversation_once_and_count_others(stats_workspace: Path) -> None:
    """What can be read of it counts."""
    bad = keep(stats_workspace, "001-a", said("user", 1), said("user", 1))
    keep(stats_workspace, "002-b", said("user", 1))
    lines = bad / ".session/messages.jsonl"
    lines.write_bytes(b"garbage\ngarbage\n" + lines.read_bytes())
    stats = count(stats_workspace)
    assert [damaged.id for damaged in stats.damaged] == ["001-a"]
    assert f"{lines}, line 1" in stats.damaged[0].detail
    assert (stats.totals.conversations, stats.totals.messages) == (2, 3)


def test_stats_count_folder_without_session(stats_workspace: Path) -> None:
    """It has a type and no messages."""
    folder = stats_workspace / "conversations/2026-03-01/001-plan-x"
    folder.mkdir(parents=True)
    (folder / "plan.md").write_text("# X\n", encoding="utf-8")
    stats = count(stats_workspace)
    assert stats.totals.by_status == {"no session": 1}
    assert stats.types == [Share("plan", conversations=1)]
    assert (stats.damaged, stats.busiest_day) == ([], None)


def test_stats_count_messages_with_extreme_timestamps(stats_workspace: Path) -> None:
    """They count as messages and on no day."""
    first = SessionMessage("user", "x", timestamp=datetime.min.replace(tzinfo=UTC))
    last = SessionMessage("user", "x", timestamp=datetime.max.replace(tzinfo=UTC))
    keep(stats_workspace, "001-a", first, last, created_at=NOW, updated_at=NOW)
    assert count(stats_workspace).totals.messages == 2


def test_stats_report_progress_after_each_conversation(stats_workspace: Path) -> None:
    """After each conversation."""
    for id in ("001-a", "002-b"):
        keep(stats_workspace, id, said("user", 1))
    told: list[tuple[int, int]] = []
    gather(str(stats_workspace), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([], Streak(0, 0)),
        ([12], Streak(1, 1)),
        ([11, 10, 9], Streak(3, 3)),
        ([10, 9], Streak(0, 2)),
        ([12, 11, 5, 4, 3], Streak(2, 3)),
    ],
)
def test_streak_counts_current_and_longest_run_of_days(days: list[int], expected: Streak) -> None:
    """A day that has only begun does not end one."""
    assert streak({date(2026, 3, day) for day in days}, date(2026, 3, 12)) == expected
