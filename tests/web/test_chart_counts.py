"""What the charts count of sessions that belong to no workspace."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from cortext import MemoryConversationStore, clock
from cortext.asgi import create_app
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.session_of_row import read
from cortext.features.stats import conversation_stats
from cortext.features.stats.stats import gather
from cortext.tools.writer_protocol import Turn, open_writer
from cortext.web import chart_counts
from cortext.web.chart_counts import Counting
from cortext.web.conversation_lookup import ConversationLookup
from tests import homes
from tests.service.stores.loops import in_loop
from tests.web.page_requests import browsing

LOCAL = "l" * 24
AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with four messages in Claude Code and two in Codex."""
    move(tmp_path, monkeypatch)
    for tool, count in (("claude", 4), ("codex", 2)):
        turns = [
            Turn("assistant" if n % 2 else "user", AT + timedelta(minutes=n), f"{tool} said {n}")
            for n in range(count)
        ]
        open_writer(tool, f"{tmp_path}/.{tool}").write(turns, cwd=str(tmp_path), title="")
    return tmp_path


def move(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_charts_count_messages_of_tool_sessions(tools: Path) -> None:
    """Though a list does not read them: all together, by tool, and on their day."""
    rows = ConversationLookup().rows()
    assert [row.messages for row in rows] == [0, 0]
    found = Counting().count(rows)
    assert (found.conversations, found.messages, found.unread) == (2, 6, 0)
    assert {share.name: share.messages for share in found.tools} == {"Claude Code": 4, "Codex": 2}
    assert sum(day.messages for day in found.days.values()) == 6


@in_loop
async def test_charts_match_counts_of_stats_command(tools: Path) -> None:
    """The page says that `cortext stats --all` has them too, and it has."""
    found, totals = (
        Counting().count(ConversationLookup().rows()),
        gather("", everywhere=True).totals,
    )
    assert (found.conversations, found.messages) == (totals.conversations, totals.messages)
    tokens = {LOCAL: ""}
    service = create_app(MemoryConversationStore(), tokens=tokens, sessions=True, pages=True)
    async with browsing(service) as client:
        client.headers["Authorization"] = f"Bearer {LOCAL}"
        text = (await client.get("/charts")).text
    assert "include 2 sessions of tools and programs outside of workspaces" in text
    assert "as <code>cortext stats --all</code> does" in text


def test_charts_count_hours_and_weekdays_of_tool_sessions(tools: Path) -> None:
    """What the person said at noon on a Wednesday, in whichever tool."""
    found = Counting().count(ConversationLookup().rows())
    assert (found.hours[12], sum(found.hours)) == (3, 3)
    assert found.weekdays == [0, 0, 3, 0, 0, 0, 0]


def test_charts_count_tokens_models_and_cost_of_tool_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the tools recorded them, in all and by model; the price file says what they cost."""
    move(tmp_path, monkeypatch)
    shutil.copytree(homes.lay_out(tmp_path / "recorded").own["codex"], tmp_path / ".codex")
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."stub-*"]\ninput = 1.0\noutput = 10.0\n')
    monkeypatch.setenv("CORTEXT_STATS_PRICES", str(prices))
    [row] = ConversationLookup().rows()
    session = read(row)[0]
    assert session.total_tokens > 0
    found = Counting().count([row])
    cost = (session.total_prompt_tokens + 10 * session.total_completion_tokens) / 1_000_000
    assert found.tokens == session.total_tokens
    assert found.cost.usd == pytest.approx(cost)
    assert [(one.name, one.tokens) for one in found.models] == [
        (session.model, session.total_tokens)
    ]


def test_charts_read_session_again_only_after_change(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the page is looked at."""
    seen: list[str] = []

    def reading(row: ConversationRow, longest: int) -> object:
        seen.append(row.tool)
        return read(row, longest)

    monkeypatch.setattr(conversation_stats, "read", reading)
    monkeypatch.setattr(chart_counts, "FRESH", 0)
    counts = Counting()
    for _ in range(3):
        counts.count(listed())
    assert sorted(seen) == ["claude", "codex"]
    [path] = (tools / ".claude").rglob("*.jsonl")
    lines = path.read_text().splitlines()
    later = lines[-1].replace("claude said 3", "and more").replace("12:03", "12:09")
    last = json.loads(later) | {"uuid": str(uuid4()), "parentUuid": json.loads(lines[-1])["uuid"]}
    path.write_text("\n".join([*lines, json.dumps(last)]) + "\n")
    assert counts.count(listed()).messages == 7
    assert sorted(seen) == ["claude", "claude", "codex"]


def listed() -> list[ConversationRow]:
    return ConversationList("", everywhere=True).list().rows


def test_charts_report_number_of_unread_sessions(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there was no time to count, the page does not say that there is nothing."""
    monkeypatch.setattr(chart_counts.StandaloneCounts, "catch_up", lambda *_: None)
    found = Counting().count(ConversationLookup().rows())
    assert (found.conversations, found.messages, found.unread) == (2, 0, 2)


@in_loop
async def test_charts_page_shows_no_totals_while_sessions_are_read(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_counts, "WAIT", 0.0)
    monkeypatch.setattr(chart_counts.StandaloneCounts, "catch_up", lambda *_: None)
    service = create_app(MemoryConversationStore(), tokens={LOCAL: ""}, sessions=True, pages=True)
    async with browsing(service) as client:
        client.headers["Authorization"] = f"Bearer {LOCAL}"
        text = (await client.get("/charts")).text
    assert "Still reading 2 sessions; numbers will update." in text
    assert "<dt>Messages</dt>" not in text
    assert '<meta http-equiv="refresh" content="5">' in text


def test_charts_report_unreadable_session_and_count_others(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as one that is there, and the others are counted."""

    def broken(row: ConversationRow, longest: int) -> object:
        if row.tool == "codex":
            raise OSError(5, "Input/output error")
        return read(row, longest)

    monkeypatch.setattr(conversation_stats, "read", broken)
    found = Counting().count(ConversationLookup().rows())
    assert (found.conversations, found.messages, found.damaged, found.unread) == (2, 4, 1, 0)


def test_streak_counts_days_that_have_only_tool_sessions(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day on which only a tool's own session was spoken in is none without anything."""
    monkeypatch.setattr(clock, "now", lambda: AT + timedelta(hours=1))
    found = Counting().count(ConversationLookup().rows())
    assert list(found.days) == ["2026-03-04"]
    assert (found.streak, found.longest_streak) == (1, 1)
