"""Spans of time as people and agents write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext import clock
from cortext.clock import from_micros
from cortext.errors import CortextError
from cortext.features.listing.time_ranges import Span, date_range, since, until

NOW = datetime(2026, 3, 31, 15, 30, tzinfo=UTC)  # a Tuesday


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2025", "2025-01-01", "2026-01-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("2025..2026-02", "2025-01-01", "2026-03-01"),
        ("2026-01-05 .. 2026-01-06", "2026-01-05", "2026-01-07"),
        ("2026-03..", "2026-03-01", None),
        ("..2025", None, "2026-01-01"),
        ("today", "2026-03-31", "2026-04-01"),
        ("Yesterday", "2026-03-30", "2026-03-31"),
        ("this week", "2026-03-30", "2026-04-01"),
        ("last week", "2026-03-23", "2026-03-30"),
        ("past week", "2026-03-24", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last 10 days", "2026-03-21", "2026-04-01"),
        ("the last 1 month", "2026-02-28", "2026-04-01"),
        ("last month..today", "2026-02-01", "2026-04-01"),
    ],
)
def test_date_range_covers_whole_days(text: str, since: str | None, until: str | None) -> None:
    span = date_range(text)
    days = [
        None if each is None else from_micros(each).strftime("%Y-%m-%d")
        for each in (span.since, span.until)
    ]
    assert days == [since, until]


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("yesterday", "2026-03-30 00:00", "2026-03-31 00:00"),
        ("2026-02", "2026-02-01 00:00", "2026-03-01 00:00"),
        ("2026-01-31", "2026-01-31 00:00", "2026-02-01 00:00"),
        ("last week", "2026-03-23 00:00", "2026-03-30 00:00"),
        ("12h", "2026-03-31 03:30", "2026-03-31 03:30"),
        ("7d", "2026-03-24 15:30", "2026-03-24 15:30"),
        ("4w", "2026-03-03 15:30", "2026-03-03 15:30"),
        ("30m", "2026-03-31 15:00", "2026-03-31 15:00"),
        ("90 minutes ago", "2026-03-31 14:00", "2026-03-31 14:00"),
        ("1mo", "2026-02-28 15:30", "2026-02-28 15:30"),
        ("1month", "2026-02-28 15:30", "2026-02-28 15:30"),
        ("2 weeks ago", "2026-03-17 15:30", "2026-03-17 15:30"),
        ("a year ago", "2025-03-31 15:30", "2025-03-31 15:30"),
        ("2026-03-03T10:00+00:00", "2026-03-03 10:00", "2026-03-03 10:00"),
        ("2026-03-03 10:00", "2026-03-03 10:00", "2026-03-03 10:00"),
    ],
)
def test_since_and_until_parse_single_times(text: str, begins: str, ends: str) -> None:
    """What `--since` and `--until` take, by the same words as a range."""
    moments = [from_micros(since(text)), from_micros(until(text))]
    assert [f"{each:%Y-%m-%d %H:%M}" for each in moments] == [begins, ends]


def test_date_range_from_relative_time_ends_now_or_at_second_time() -> None:
    """It goes on until now; between two it ends where the other begins."""
    assert date_range("7d") == Span(since("7d"), None)
    assert date_range("2 weeks ago..7d") == Span(since("2w"), until("7d"))


@pytest.mark.parametrize("text", ["soon", "", "7", "7x", "2026-13", "2026-02-30", "..", "9" * 99])
def test_since_and_until_reject_invalid_time_with_hint(text: str) -> None:
    """One sentence with a hint."""
    for read in (since, until):
        with pytest.raises(CortextError, match="is not a valid time") as caught:
            read(text)
        assert "3mo" in caught.value.hint


@pytest.mark.parametrize("text", [None, "", "  "])
def test_empty_date_range_is_unbounded(text: str | None) -> None:
    assert date_range(text) == Span()


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2026-13",
        "2026-02-30",
        "..",
        "0000",
        "2026..2025",
        "99999",
        "last 0x1 days",
        "a" * 99,
    ],
)
def test_date_range_rejects_invalid_text_with_hint(text: str) -> None:
    with pytest.raises(CortextError) as caught:
        date_range(text)
    assert caught.value.hint
    assert len(str(caught.value)) < 120


@given(st.text(max_size=70))
def test_date_range_of_any_text_is_ordered_or_rejected(text: str) -> None:
    try:
        span = date_range(text)
    except CortextError:
        return
    assert span.since is None or span.until is None or span.since < span.until
