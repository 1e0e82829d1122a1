"""Find the cost that a tool recorded for a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any, cast

from cortext.model.message import SessionMessage
from cortext.model.session import Session

_COST_KEYS = ("cost_usd", "total_cost_usd", "cost")
_NESTED_KEYS = ("total", "usd", "total_usd", "amount")
_MOST_DOLLARS = 1e9


def recorded_cost(session: Session, messages: Sequence[SessionMessage]) -> float | None:
    """Return the cost of a conversation in US dollars, as its tool recorded it.

    If the tool recorded no total cost, return the sum of the costs of `messages`. Return None if no
    cost is recorded.
    """
    whole = _amount(session.metadata)
    if whole is not None:
        return whole
    found = [
        amount for message in messages if (amount := _amount(message.structured_data)) is not None
    ]
    return sum(found) if found else None


def _amount(data: Any, keys: Sequence[str] = _COST_KEYS) -> float | None:
    if not isinstance(data, dict):
        return None
    known = cast("dict[str, Any]", data)
    for key in keys:
        value = known.get(key)
        if isinstance(value, dict) and keys is _COST_KEYS:
            value = _amount(value, _NESTED_KEYS)
        amount = read_dollars(value, _MOST_DOLLARS)
        if isfinite(amount):
            return amount
    return None


def read_dollars(value: Any, most: float) -> float:
    """Return an amount of money as float; NaN if it is not a number from 0 to less than `most`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < most:
        return nan
    return float(value)
