"""Checks for the values in a session, which JSON must be able to store and return unchanged."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from math import isfinite
from typing import Any, cast

__all__ = ["UTC", "as_utc", "json_copy", "parse_time"]


DEEPEST = 200
"""The deepest allowed nesting of a value, so that every reader can parse it recursively."""


def json_copy(value: Any, where: str = "value", *, around: int = 0) -> Any:
    """Return a deep copy of `value`; ValueError if JSON cannot store the value unchanged.

    `where` names the value in the error. `around` is the number of nesting levels that are allowed
    in addition to `DEEPEST`, for a container such as a whole message.
    """
    return _copy(value, where, DEEPEST + around)


def _copy(value: Any, where: str, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is float:
        if isfinite(value):
            return value
        raise ValueError(f"{where} holds {value}, which JSON has no word for")
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
    raise ValueError(f"{where} holds a {kind.__name__}, which JSON has no word for")


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise ValueError(f"{where} has the key {key!r}, and keys are strings")


def as_utc(when: datetime) -> datetime:
    """Convert a time to UTC. A time without a time zone counts as UTC."""
    if not isinstance(when, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]  entry
        raise ValueError(f"a time is a datetime, not {type(when).__name__}")
    zone: tzinfo | None = when.tzinfo
    if zone is UTC:
        return when
    if zone is None:
        return when.replace(tzinfo=UTC)
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{when.isoformat()} does not fit into the calendar in UTC") from None


def parse_time(value: Any) -> datetime:
    """Convert a JSON value to a time in UTC; ValueError if the value is not a time.

    The value is ISO 8601 text, or a number of seconds or milliseconds since 1970.
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
