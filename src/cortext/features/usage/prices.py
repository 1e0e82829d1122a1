"""Find the price of a model and the cost of an answer.

Prices come from the user's price file and from the built-in table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from zlib import crc32

import msgspec
from msgspec.structs import astuple

from cortext.features.usage.model_names import NameTable, match_pattern
from cortext.features.usage.price_table import (
    KnownPrice,
    KnownRates,
    load_table,
    models_by_name,
    read_table_file,
)
from cortext.features.usage.user_price_file import price_error, read_price_file
from cortext.model.answer_usage import TokenUsage

_MILLION = 1_000_000
_RULES_VERSION = 1
"""Increase this number when the same prices give another cost."""
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MINUTE = 60 * _MILLION
_DAY = 24 * 60 * _MINUTE


class Rates(msgspec.Struct, frozen=True):
    """Prices in US dollars per million tokens, for each kind of token."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float

    def sum_up(self, tokens: TokenUsage) -> float:
        """Return the cost of tokens in US dollars. Reasoning tokens are counted as output."""
        return (
            tokens.input * self.input
            + tokens.output * self.output
            + tokens.cache_read * self.cache_read
            + tokens.cache_write * self.cache_write
            + tokens.cache_write_1h * self.cache_write_1h
        ) / _MILLION


class PriceTier(Rates, frozen=True):
    """The price of a request whose prompt has more than `above` tokens."""

    above: int = 0


class Price(Rates, frozen=True):
    """The price of a model at one time.

    `tiers` are the prices for requests with a longer prompt, in ascending order of `above`. A tier
    is used if the prompt has more than `above` tokens.
    """

    tiers: tuple[PriceTier, ...] = ()

    def cost(self, tokens: TokenUsage) -> float:
        """Return the cost of one answer in US dollars.

        A long prompt may have another price, a tier. This price applies to all tokens of the
        request, not only to the tokens above the limit of the tier.
        """
        rates: Rates = self
        if self.tiers:
            prompt = tokens.input + tokens.cache_read + tokens.cache_write + tokens.cache_write_1h
            for tier in self.tiers:
                if prompt > tier.above:
                    rates = tier
        return rates.sum_up(tokens)


class ListedPrice(msgspec.Struct, frozen=True):
    """A model of the built-in table, with its price at one time."""

    id: str
    provider: str
    names: tuple[str, ...]
    price: Price


class Prices:
    """The prices of models: the built-in prices, and the user's prices, which override them.

    A user's price may set only some fields, such as `input`. The other fields keep the built-in
    price. The built-in table is read when the first model is looked up.
    """

    def __init__(self, overrides: Mapping[str, KnownRates], checksum: int = 0) -> None:
        self._overrides = NameTable(overrides)
        self._checksum = checksum
        self._found: dict[str, list[tuple[KnownPrice, Price]]] = {}

    @cached_property
    def version(self) -> str:
        """A text that changes whenever a price changes."""
        return f"{_RULES_VERSION}-{crc32(read_table_file()):08x}-{self._checksum:08x}"

    def cost(self, model: str, tokens: TokenUsage, at: int) -> float | None:
        """Return the cost of an answer in US dollars; None if the model has no price.

        `at` is the time of the answer in microseconds since 1970.
        """
        price = self.find(model, at)
        return None if price is None else price.cost(tokens)

    def find(self, model: str, at: int) -> Price | None:
        """Return the price of a model at a time in microseconds since 1970; None if unknown."""
        found = self._found.get(model)
        if found is None:
            found = self._found[model] = self._resolve(model)
        place = _active([known for known, _ in found], at) if len(found) > 1 else 0
        return found[place][1] if found else None

    def is_in_file(self, model: str) -> bool:
        """Return whether the user's file has a price for a model."""
        return self._overrides.find(model) is not None

    def _resolve(self, model: str) -> list[tuple[KnownPrice, Price]]:
        override = self._overrides.find(model) or KnownRates()
        built_in = models_by_name().find(model)
        completed = (
            (known, _complete(known, override))
            for known in (built_in.prices if built_in else (KnownPrice(),))
        )
        return [(known, price) for known, price in completed if price is not None]


def load_prices(path: str) -> Prices:
    """Return the built-in prices, overridden by the prices in the user's file at `path`.

    If `path` is "", there is no such file. Raises CortextError if the file is invalid or cannot be
    read.
    """
    if not path:
        return Prices({})
    overrides, data = read_price_file(path)
    for name, rates in overrides.items():
        is_whole = rates.input is not None and rates.output is not None
        if not is_whole and not _is_built_in(name):
            reason = f"{name} needs `input` and `output`, because it has no built-in price"
            raise price_error(path, reason)
    return Prices(overrides, crc32(data))


def list_prices(at: int) -> list[ListedPrice]:
    """Return the models of the built-in table, each with its price at one time.

    `at` is the time in microseconds since 1970.
    """
    found: list[ListedPrice] = []
    for model in load_table().models:
        price = _complete(model.prices[_active(model.prices, at)], KnownRates())
        if price is not None:
            found.append(ListedPrice(model.id, model.provider, model.names, price))
    return found


def _is_built_in(name: str) -> bool:
    """Return whether a model with a built-in price has this name or matches this pattern.

    `name` is a name or a pattern in the user's price file.
    """
    if models_by_name().find(name) is not None:
        return True
    names = (each for model in load_table().models for each in model.names)
    return any(match_pattern(name, each) for each in names)


def _active(prices: Sequence[KnownPrice], at: int) -> int:
    """Return the index of the price to use at a time in microseconds since 1970.

    This is the last price that is active at this time. If no price is active, use the first price.
    """
    days, time_of_day = divmod(at, _DAY)
    day, minute = _FIRST_DAY + days, time_of_day // _MINUTE
    for place in range(len(prices) - 1, 0, -1):
        if prices[place].is_active(day, minute):
            return place
    return 0


def _complete(known: KnownPrice, override: KnownRates) -> Price | None:
    """Return a price with every field; None if the price of input or output is unknown.

    Each field comes from `override` or, if it is None there, from `known`. If a price for the cache
    is None in both, the price of another kind of token is used.
    """
    rates = _fill(known, override)
    if rates is None:
        return None
    filled = ((tier.above, _fill(tier, override)) for tier in known.tiers)
    tiers = tuple(
        PriceTier(*astuple(tier), above=above) for above, tier in filled if tier is not None
    )
    return Price(*astuple(rates), tiers=tiers)


def _fill(known: KnownRates, override: KnownRates) -> Rates | None:
    input, output, cache_read, cache_write, cache_write_1h = (
        first if first is not None else second
        for first, second in (
            (override.input, known.input),
            (override.output, known.output),
            (override.cache_read, known.cache_read),
            (override.cache_write, known.cache_write),
            (override.cache_write_1h, known.cache_write_1h),
        )
    )
    if input is None or output is None:
        return None
    write = input if cache_write is None else cache_write
    return Rates(
        input=input,
        output=output,
        cache_read=input if cache_read is None else cache_read,
        cache_write=write,
        cache_write_1h=write if cache_write_1h is None else cache_write_1h,
    )
