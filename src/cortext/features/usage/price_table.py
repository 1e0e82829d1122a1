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
    """The known prices of a model in US dollars per million tokens, for each kind of token.

    None means that a price is unknown.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None


class KnownTier(KnownRates, frozen=True, omit_defaults=True):
    """The price of a request whose prompt has more than `above` tokens."""

    above: int = 0


class KnownPrice(KnownRates, frozen=True, omit_defaults=True):
    """The price of a model. It is valid from the UTC day `since`; None means always.

    If `minutes` is given, the price applies only between these two minutes of each UTC day.
    """

    since: date | None = None
    minutes: tuple[int, int] | None = None
    tiers: tuple[KnownTier, ...] = ()

    def is_active(self, day: int, minute: int) -> bool:
        """Return whether the price applies at a time in UTC.

        `day` is the ordinal number of the day (see `date.toordinal`), and `minute` is the minute of
        the day.
        """
        if self.since is not None and day < self.since.toordinal():
            return False
        if self.minutes is None:
            return True
        start, end = self.minutes
        return (minute - start) % _MINUTES_PER_DAY < (end - start) % _MINUTES_PER_DAY


class PricedModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model with its prices. If several prices are active, the last one applies.

    `names` are names of the model and patterns of names, in lower case.
    """

    id: str
    provider: str
    names: tuple[str, ...]
    prices: tuple[KnownPrice, ...]


class PriceTable(msgspec.Struct, frozen=True):
    """The built-in prices.

    `date` is the day on which they were collected, and `source` says where they come from.
    """

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
