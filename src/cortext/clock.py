"""The time, from one place, so that a test can hold it still."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def ago(micros: int, at: float | None = None) -> str:
    """How long ago a time is, as people say it; in microseconds since 1970. `at` is the time, in
    seconds, where many are told."""
    minutes = int((at or now().timestamp()) - micros / 1_000_000) // 60
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= 2 * size:
            return f"{minutes // size} {name}s ago"
        if minutes >= size:
            return "yesterday" if name == "day" else f"1 {name} ago"
    return "just now"


def from_micros(micros: int) -> datetime:
    """The time that is so many microseconds after the beginning of 1970."""
    return _EPOCH + timedelta(microseconds=micros)
