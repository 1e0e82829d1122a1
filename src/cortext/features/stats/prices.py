"""Find the cost of a conversation, as its tool recorded it or by the prices in a file of the user.

A price file is TOML with a table for each model or pattern of names:

    [models."claude-sonnet-*"]
    input = 3.0      # US dollars per million tokens
    output = 15.0

A file whose name ends in `.json` has the same data as JSON.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from math import isfinite, nan
from typing import Any, NamedTuple, cast

from cortext.durability.read_files import read_file
from cortext.errors import CortextError, reason_of
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session

_MILLION = 1_000_000
_COST_KEYS = ("cost_usd", "total_cost_usd", "cost")
_NESTED_KEYS = ("total", "usd", "total_usd", "amount")
_MOST_DOLLARS = 1e9
_BIGGEST_FILE = 1_000_000


class Price(NamedTuple):
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float


class Prices:
    """The prices of models, by the name of a model or by a pattern of names."""

    def __init__(self, known: dict[str, Price]) -> None:
        # An exact name takes precedence. Among patterns, the longest matching pattern does.
        self._known = sorted(known.items(), key=lambda item: len(item[0]), reverse=True)

    def __bool__(self) -> bool:
        return bool(self._known)

    def of(self, model: str) -> Price | None:
        """Return the price of a model; None if it has no price.

        For `provider/model`, the name of the model alone is looked up too.
        """
        if not model:
            return None
        for name in dict.fromkeys((model, model.rpartition("/")[2])):
            exact = next((price for known, price in self._known if known == name), None)
            if exact:
                return exact
            for pattern, price in self._known:
                if fnmatchcase(name, pattern):
                    return price
        return None

    def cost(self, model: str, prompt: int, completion: int) -> float | None:
        """Return the cost in US dollars of prompt and completion tokens; None without a price."""
        price = self.of(model)
        if price is None:
            return None
        return (prompt * price.input + completion * price.output) / _MILLION


def read_prices(path: str) -> Prices:
    """Read the user's price file. If `path` is "", return no prices.

    Raises CortextError if the file is invalid or cannot be read.
    """
    if not path:
        return Prices({})
    models = _decode(path, _read_bytes(path)).get("models")
    if not isinstance(models, dict):
        raise _price_error(path, "the table `models` is missing")
    found = cast("dict[str, Any]", models)
    return Prices({name: _price(path, name, value) for name, value in found.items()})


def recorded_cost(session: Session, messages: Sequence[SessionMessage]) -> float | None:
    """Return the cost of a conversation in US dollars, as its tool recorded it.

    If the session has no total cost, return the sum of the costs of `messages`. Return None if no
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
        amount = _dollars(value, _MOST_DOLLARS)
        if isfinite(amount):
            return amount
    return None


def _read_bytes(path: str) -> bytes:
    try:
        if os.path.getsize(path) > _BIGGEST_FILE:
            raise _price_error(path, f"it is larger than {_BIGGEST_FILE} bytes")
        return read_file(path)
    except OSError as error:
        raise _price_error(path, reason_of(error)) from error


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        if path.endswith(".json"):
            value = json_codec.decode(data)
        else:
            import tomllib

            value = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.endswith(".json") else "TOML"
        raise _price_error(path, f"not {kind}: {error}") from None
    if not isinstance(value, dict):
        raise _price_error(path, "the table `models` is missing")
    return cast("dict[str, Any]", value)


def _price(path: str, name: str, value: Any) -> Price:
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    found = Price(_dollars(given.get("input")), _dollars(given.get("output")))
    if not all(isfinite(amount) for amount in found):
        raise _price_error(path, f"{name} needs `input` and `output`, dollars per million tokens")
    return found


def _dollars(value: Any, most: float = _MILLION) -> float:
    """Return an amount of money as float; NaN if it is no number, negative, or at least `most`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < most:
        return nan
    return float(value)


def _price_error(path: str, reason: str) -> CortextError:
    return CortextError(
        f"the prices in {path} cannot be used: {reason}",
        hint="correct the file, or run `cortext config stats.prices --unset`",
    )
