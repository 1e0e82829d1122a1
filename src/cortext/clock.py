"""The current time, and texts about times. Tests replace `now` to set the current time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """Return the current time in UTC, with its time zone."""
    return datetime.now(UTC)


def ago(micros: int, at: float | None = None) -> str:
    """Return how long ago a past time is, in words such as "2 hours ago".

    `micros` is the past time in microseconds since 1970. `at` is the current time in seconds since
    1970; None means that this function reads the clock.
    """
    minutes = int((at or now().timestamp()) - micros / 1_000_000) // 60
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= 2 * size:
            return f"{minutes // size} {name}s ago"
        if minutes >= size:
            return "yesterday" if name == "day" else f"1 {name} ago"
    return "just now"


def from_micros(micros: int) -> datetime:
    """Return the UTC time that is this many microseconds after the start of 1970."""
    return _EPOCH + timedelta(microseconds=micros)
