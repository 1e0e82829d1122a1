"""The time, from one place, so that a test can hold it still."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)
