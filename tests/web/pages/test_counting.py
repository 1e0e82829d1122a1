"""What the charts count of sessions that belong to no workspace."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import clock
from cortext.bridges.writing import Turn, open_writer
from cortext.web.pages import counting
from cortext.web.pages.counting import Counting
from cortext.web.pages.shelf import Shelf

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with four messages in Claude Code and two in Codex."""
    names = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    for name in names:
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    for tool, count in (("claude", 4), ("codex", 2)):
        turns = [
            Turn("assistant" if n % 2 else "user", AT + timedelta(minutes=n), f"{tool} said {n}")
            for n in range(count)
        ]
        open_writer(tool, f"{tmp_path}/.{tool}").write(turns, cwd=str(tmp_path), title="")
    return tmp_path


def test_messages_of_tools_are_counted(tools: Path) -> None:
    """Though a list does not read them: all together, by tool, and on their day."""
    rows = Shelf().rows()
    assert [row.messages for row in rows] == [0, 0]
    found = Counting().count(rows)
    assert (found.conversations, found.messages, found.unread) == (2, 6, 0)
    assert {share.name: share.messages for share in found.tools} == {"Claude Code": 4, "Codex": 2}
    assert sum(day.messages for day in found.days.values()) == 6


def test_what_is_not_read_yet_is_said(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there was no time to count, the page does not say that there is nothing."""
    monkeypatch.setattr(counting.Warming, "start", lambda self: None)
    found = Counting().count(Shelf().rows())
    assert (found.messages, found.unread) == (0, 2)


def test_days_in_a_row_are_those_of_the_calendar(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day on which only a tool's own session was spoken in is none without anything."""
    monkeypatch.setattr(clock, "now", lambda: AT + timedelta(hours=1))
    found = Counting().count(Shelf().rows())
    assert list(found.days) == ["2026-03-04"]
    assert (found.streak, found.longest_streak) == (1, 1)
