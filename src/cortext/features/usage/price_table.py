"""The built-in prices of models, which `scripts/prices.py` writes to `builtin/prices.json`."""

from __future__ import annotations

import os
from datetime import date
from functools import cache

import msgspec

from cortext import builtin
from cortext.durability.read_files import read_file
from cortext.features.usage.model_names import NameTable

_MINUTES_PER_DAY = 24 * 60


class KnownRates(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is known of the price of a model, in US dollars per million tokens of each kind."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None


class KnownTier(KnownRates, frozen=True, omit_defaults=True):
    """The price of a request whose prompt has more than `above` tokens."""

    above: int = 0


class KnownPrice(KnownRates, frozen=True, omit_defaults=True):
    """The price of a model from the UTC day `since` on.

    If `minutes` is given, the price applies only between these two minutes of each UTC day.
    """

    since: date | None = None
    minutes: tuple[int, int] | None = None
    tiers: tuple[KnownTier, ...] = ()

    def is_active(self, day: int, minute: int) -> bool:
        """Return whether the price applies on a day, an ordinal number, in a minute of that day."""
        if self.since is not None and day < self.since.toordinal():
            return False
        if self.minutes is None:
            return True
        start, end = self.minutes
        return (minute - start) % _MINUTES_PER_DAY < (end - start) % _MINUTES_PER_DAY


class PricedModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model with its prices. Of all active prices, the last one applies.

    `names` are names and patterns of names in lower case.
    """

    id: str
    provider: str
    names: tuple[str, ...]
    prices: tuple[KnownPrice, ...]


class PriceTable(msgspec.Struct, frozen=True):
    """The built-in prices. `date` is the day of the data, and `source` is where they come from."""

    date: date
    source: str
    models: tuple[PricedModel, ...]


@cache
def read_table_file() -> bytes:
    """Return the bytes of the built-in price table."""
    return read_file(os.path.join(os.path.dirname(builtin.__file__), "prices.json"))


@cache
def load_table() -> PriceTable:
    """Return the built-in price table."""
    return msgspec.json.decode(read_table_file(), type=PriceTable)


@cache
def models_by_name() -> NameTable[PricedModel]:
    """Return the models of the built-in table by each of their names and patterns."""
    return NameTable({name: model for model in load_table().models for name in model.names})
