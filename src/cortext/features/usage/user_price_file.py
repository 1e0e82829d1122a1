"""Read the user's price file, which overrides the built-in prices.

A price file is TOML with a table for each model or pattern of names:

    [models."claude-sonnet-*"]
    input = 3.0         # US dollars per million tokens
    cache_read = 0.3

A file whose name ends in `.json` has the same data as JSON.
"""

from __future__ import annotations

import os
from math import isfinite
from typing import Any, cast

from cortext.durability.read_files import read_file
from cortext.errors import CortextError, reason_of
from cortext.features.usage.price_table import KnownRates
from cortext.features.usage.recorded_cost import read_dollars
from cortext.model import json_codec

_BIGGEST_FILE = 1_000_000
_MOST_DOLLARS = 1_000_000


def read_price_file(path: str) -> tuple[dict[str, KnownRates], bytes]:
    """Return the prices in a price file, and the bytes of the file.

    The keys of the prices are model names and patterns of names, in lower case. Raises CortextError
    if the file is invalid or cannot be read.
    """
    data = _read_bytes(path)
    tables = _decode(path, data)
    models = tables.pop("models", None)
    if not isinstance(models, dict):
        raise price_error(path, "the table `models` is missing")
    if tables:
        raise price_error(path, f"`{next(iter(tables))}` is unknown; only `models` is read")
    found: dict[str, KnownRates] = {}
    for name, value in cast("dict[str, Any]", models).items():
        if name.lower() in found:
            raise price_error(path, f"{name} is given twice")
        found[name.lower()] = _read_rates(path, name, value)
    return found, data


def price_error(path: str, reason: str) -> CortextError:
    """Return the error for a price file that cannot be used."""
    return CortextError(
        f"the prices in {path} cannot be used: {reason}",
        hint="correct the file, or run `cortext config stats.prices --unset`",
    )


def _read_bytes(path: str) -> bytes:
    try:
        if os.path.getsize(path) > _BIGGEST_FILE:
            raise price_error(path, f"it is larger than {_BIGGEST_FILE} bytes")
        return read_file(path)
    except OSError as error:
        raise price_error(path, reason_of(error)) from error


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        if path.endswith(".json"):
            value = json_codec.decode(data)
        else:
            import tomllib

            value = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.endswith(".json") else "TOML"
        raise price_error(path, f"not {kind}: {error}") from None
    if not isinstance(value, dict):
        raise price_error(path, "the table `models` is missing")
    return cast("dict[str, Any]", value)


def _read_rates(path: str, name: str, value: Any) -> KnownRates:
    fields = ", ".join(f"`{field}`" for field in KnownRates.__struct_fields__)
    if not isinstance(value, dict) or not value:
        raise price_error(path, f"{name} needs a table with some of {fields}")
    amounts: dict[str, float] = {}
    for field, given in cast("dict[str, Any]", value).items():
        if field not in KnownRates.__struct_fields__:
            raise price_error(path, f"{name} has the unknown field `{field}`; known are {fields}")
        amounts[field] = read_dollars(given, _MOST_DOLLARS)
        if not isfinite(amounts[field]):
            reason = f"`{field}` of {name} is not a number from 0 to {_MOST_DOLLARS:,}"
            raise price_error(path, f"{reason}, in dollars per million tokens")
    return KnownRates(**amounts)
