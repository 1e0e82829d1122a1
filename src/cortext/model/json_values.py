"""Check that JSON can store the values of a session, and convert times to UTC."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from math import isfinite
from typing import Any, cast

__all__ = ["UTC", "as_utc", "json_copy", "parse_time"]


DEEPEST = 200
"""The maximum nesting depth of a value. Every recursive JSON parser can read such a value."""


def json_copy(value: Any, where: str = "value", *, around: int = 0) -> Any:
    """Return a deep copy of a value, after a check that JSON can store the value.

    Raises ValueError if JSON cannot store the value. `where` is the name of the value in the error
    message. The value may have at most `DEEPEST` + `around` levels of nesting. `around` is 0 for
    the value of a field. For a whole message, it is the number of levels around these values.
    """
    return _copy(value, where, DEEPEST + around)


def _copy(value: Any, where: str, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is float:
        if isfinite(value):
            return value
        raise ValueError(f"{where} contains {value}, which JSON cannot represent")
    if depth == 0:
        raise ValueError(f"{where} is nested too deeply")
    if isinstance(value, dict):
        return {
            _key(key, where): _copy(item, where, depth - 1)
            for key, item in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_copy(item, where, depth - 1) for item in cast("list[Any]", value)]
    # A member of a subclass, such as an enum, is stored as its plain value.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _copy(float(value), where, depth)
    raise ValueError(f"{where} contains a {kind.__name__}, which JSON cannot represent")


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise ValueError(f"{where} has the key {key!r}, but keys must be strings")


def as_utc(when: datetime) -> datetime:
    """Convert a time to UTC. A time without a time zone counts as UTC.

    Raises ValueError if `when` is not a datetime, or is outside the calendar in UTC.
    """
    if not isinstance(when, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]  entry
        raise ValueError(f"a time must be a datetime, not {type(when).__name__}")
    zone: tzinfo | None = when.tzinfo
    if zone is UTC:
        return when
    if zone is None:
        return when.replace(tzinfo=UTC)
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{when.isoformat()} is outside the calendar in UTC") from None


def parse_time(value: Any) -> datetime:
    """Convert a JSON value to a time in UTC.

    The value is ISO 8601 text, or a number of seconds or milliseconds since 1970. Raises ValueError
    if the value is not a time.
    """
    if isinstance(value, str):
        return as_utc(datetime.fromisoformat(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            seconds = value / 1000 if abs(value) > 1e11 else value
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, OSError):
            raise ValueError("the number is not a time") from None
    raise ValueError(f"{type(value).__name__} is not a time")
