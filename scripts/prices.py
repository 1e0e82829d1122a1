"""Write the built-in prices, `src/cortext/builtin/prices.json`, from the data of genai-prices.

    python scripts/prices.py [--check]

The table has one line for each model. Models of the providers in `PROVIDERS` come first. A name
belongs to the first provider that has it. OpenRouter adds the models and spellings that are still
missing. Audio, images, searches, batches and service tiers are left out. With --check, nothing is
written, and a difference is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from datetime import time
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import msgspec
from genai_prices import types as source
from genai_prices.data import providers
from msgspec.structs import astuple, replace

from cortext.features.usage.model_names import NameTable, is_pattern, spellings_of
from cortext.features.usage.price_table import (
    KnownPrice,
    KnownRates,
    KnownTier,
    PricedModel,
    PriceTable,
)

TABLE = Path(__file__).resolve().parent.parent / "src/cortext/builtin/prices.json"
# Z.ai before Zhipu AI, which sells the same models in China for other prices.
PROVIDERS = (
    "anthropic", "openai", "google", "x-ai", "deepseek", "mistral", "moonshotai", "minimax",
    "zai", "zhipuai", "cursor", "github-copilot",
)  # fmt: skip
OPENROUTER = "openrouter"
FIELDS = {field: f"{field}_mtok" for field in KnownRates.__struct_fields__}
# An hour in Anthropic's cache costs twice the input, where the data do not say.
HOUR_FACTOR = {"claude": 2}
CLAUDE = re.compile(r"(claude)-([a-z]+)-(\d+(?:[.-]\d)?)(\*?)")
DATED = re.compile(r"\\d\{8\}\$$|\\d\{4\}-\\d\{2\}-\\d\{2\}\$$")


class Models:
    """The models found so far, and which model has a name."""

    def __init__(self) -> None:
        self.found: dict[str, PricedModel] = {}
        self.by_name: dict[str, str] = {}

    def add(self, provider: str, id: str, names: Iterable[str], prices: list[KnownPrice]) -> None:
        """Add a model under those of its names that no earlier model has."""
        new = self._choose(names)
        if not new and provider in PROVIDERS:
            # The same name costs something else here: the provider's own name says which is meant.
            new = [f"{provider}/{id.lower()}"]
        if new and prices:
            key = f"{provider}/{id}"
            self.found[key] = PricedModel(id, provider, tuple(new), tuple(prices))
            self.by_name |= dict.fromkeys(new, key)

    def extend(self, key: str, names: Iterable[str]) -> None:
        """Give a model more names."""
        new = self._choose(names)
        model = self.found[key]
        self.found[key] = replace(model, names=(*model.names, *new))
        self.by_name |= dict.fromkeys(new, key)

    def has(self, name: str) -> bool:
        """Return whether a model has a name, or the pattern for it with any ending."""
        return name in self.by_name or f"{name}*" in self.by_name

    def _choose(self, names: Iterable[str]) -> list[str]:
        """Return the names that are free, without those that a look-up shortens to another."""
        free = dict.fromkeys(name for name in names if not self.has(name))
        return [name for name in free if not any(each in free for each in spellings_of(name)[1:])]

    def match(self, name: str) -> str | None:
        return NameTable(self.by_name).find(name)


def collect() -> Models:
    models = Models()
    known = {provider.id: provider for provider in providers}
    for id in PROVIDERS:
        for model in known[id].models:
            if id == "anthropic" or "claude" not in model.id:
                models.add(id, model.id, names_of(model), prices_of(model))
                add_fast_mode(models, id, model)
    for model in known[OPENROUTER].models:
        if not model.id.startswith("~") and not model.id.endswith(":batch"):
            add_openrouter_model(models, model)
    return models


def add_fast_mode(models: Models, provider: str, model: source.ModelInfo) -> None:
    """Add the faster, dearer mode of a model as a model whose name ends in `-fast`."""
    for variant in model.price_variants or ():
        if variant.when == {"speed": "fast"}:
            names = [f"{name.rstrip('*')}-fast" for name in names_of(model)]
            price = known_price(model.id, variant.prices)
            models.add(provider, f"{model.id}-fast", names, [price] if price else [])


def add_openrouter_model(models: Models, model: source.ModelInfo) -> None:
    """Add a model of OpenRouter, or only its spellings if its maker's prices have the model.

    A maker's pattern may match a model that costs something else, such as `…-fast`. The part before
    the slash is left out, because a look-up tries the rest of a name too.
    """
    id = model.id.lower()
    names = [name.partition("/")[2] for name in names_of(model) if not is_pattern(name)]
    names = [name for name in names if name] or [id]
    prices = prices_of(model)
    if id.endswith(":free"):
        prices = [KnownPrice(input=0.0, output=0.0)]
    maker = models.match(id)
    if maker and (models.has(names[0]) or same_price(models.found[maker], prices)):
        models.extend(maker, (name for name in names if models.match(name) is None))
    else:
        models.add(OPENROUTER, model.id, names, prices)


def same_price(model: PricedModel, prices: list[KnownPrice]) -> bool:
    mine, other = model.prices[-1], prices[-1] if prices else KnownPrice()
    return (mine.input, mine.output) == (other.input, other.output)


def names_of(model: source.ModelInfo) -> list[str]:
    names = [name.lower() for name in patterns_of(model.match)]
    for name in [*names]:
        # Claude also appears with its version first, and with thinking in its name.
        if claude := CLAUDE.fullmatch(name):
            maker, family, number, star = claude.groups()
            names.append(f"{maker}-{number}-{family}{star}")
            if not star:
                names.append(f"{name}-thinking")
    return names


def patterns_of(clause: source.MatchLogic) -> Iterator[str]:
    """Translate how genai-prices recognises a model into names and patterns of names."""
    match clause:
        case source.ClauseEquals(equals=text):
            yield text
        case source.ClauseStartsWith(starts_with=text):
            yield f"{text}*"
        case source.ClauseContains(contains=text):
            yield f"*{text}*"
        case source.ClauseEndsWith(ends_with=text):
            yield f"*{text}"
        case source.ClauseOr(or_=clauses):
            for each in clauses:
                yield from patterns_of(each)
        case source.ClauseAnd(and_=clauses):
            # The other conditions exclude models that are listed by their exact names.
            yield from patterns_of(clauses[0])
        case source.ClauseRegex(regex=text):
            yield from pattern_of_regex(text)


def pattern_of_regex(text: str) -> Iterator[str]:
    if DATED.search(text):
        return  # the date at the end of a name is ignored anyway
    literal = re.sub(r"\\([.\[\]])", r"\1", text.removeprefix("^"))
    literal = literal.removesuffix("$") if text.endswith("$") else f"{literal}*"
    literal = literal.replace(r"\d", "[0-9]")
    if re.search(r"[\\(){}+|^$]", literal):
        raise SystemExit(f"the regular expression {text} has no translation yet")
    yield literal


def prices_of(model: source.ModelInfo) -> list[KnownPrice]:
    """Return the prices of a model in their order; an empty list if it has none for text."""
    if isinstance(model.prices, source.ModelPrice):
        price = known_price(model.id, model.prices)
        return [price] if price else []
    found: list[KnownPrice] = []
    since = None
    for conditional in model.prices:
        price = known_price(model.id, conditional.prices)
        if price is None:
            continue
        minutes = None
        if isinstance(conditional.constraint, source.StartDateConstraint):
            since = conditional.constraint.start_date
        elif isinstance(conditional.constraint, source.TimeOfDateConstraint):
            # It changes the price before it, and so begins on the same day.
            minutes = (
                minute_of(conditional.constraint.start_time),
                minute_of(conditional.constraint.end_time),
            )
        price = replace(price, since=since, minutes=minutes)
        if not found or replace(found[-1], since=since) != price:
            found.append(price)
    return found


def minute_of(value: time) -> int:
    if value.utcoffset():
        raise SystemExit(f"{value} is not in UTC")
    return value.hour * 60 + value.minute


def known_price(id: str, prices: source.ModelPrice) -> KnownPrice | None:
    values = {field: getattr(prices, key) for field, key in FIELDS.items()}
    if values["input"] is None or values["output"] is None:
        return None
    limits = {
        tier.start
        for value in values.values()
        if isinstance(value, source.TieredPrices)
        for tier in value.tiers
    }
    tiers = (
        KnownTier(*astuple(rates_at(id, values, limit)), above=limit) for limit in sorted(limits)
    )
    return KnownPrice(*astuple(rates_at(id, values, -1)), tiers=tuple(tiers))


def rates_at(
    id: str, values: dict[str, Decimal | source.TieredPrices | None], above: int
) -> KnownRates:
    """Return the price of each kind of token for a prompt with more than `above` tokens."""
    rates: dict[str, float] = {}
    for field, value in values.items():
        if isinstance(value, source.TieredPrices):
            reached = [tier.price for tier in value.tiers if tier.start <= above]
            value = reached[-1] if reached else value.base
        if value is not None:
            rates[field] = float(value)
    factor = next((factor for name, factor in HOUR_FACTOR.items() if name in id), None)
    if factor and "cache_write" in rates and "cache_write_1h" not in rates:
        rates["cache_write_1h"] = round(factor * rates["input"], 6)
    return KnownRates(**rates)


def encode(models: Iterable[PricedModel]) -> str:
    """Return the table as JSON, with one line for each model."""
    # OpenRouter's prices are read every few days, and none begins in the future.
    days = [
        price.since
        for model in next(each for each in providers if each.id == OPENROUTER).models
        for price in prices_of(model)
        if price.since
    ]
    head = PriceTable(max(days), f"genai-prices {version('genai-prices')}", ())
    lines = ",\n".join(msgspec.json.encode(shorten(model)).decode() for model in models)
    text = msgspec.json.encode(head).decode().removesuffix("]}") + f"\n{lines}\n]}}\n"
    msgspec.json.decode(text, type=PriceTable)
    return text


def shorten(model: PricedModel) -> object:
    """Return a model for JSON, with whole numbers where a price is one."""
    return _whole_numbers(msgspec.to_builtins(model))


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main(check: bool) -> int:
    text = encode(collect().found.values())
    if check and text != TABLE.read_text(encoding="utf-8"):
        print("the built-in prices differ: `python scripts/prices.py` writes them", file=sys.stderr)
        return 1
    if not check:
        TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
