"""The built-in prices of the main models as a table, for the page about prices."""

import sys
from datetime import UTC, datetime, time

from cortext.features.usage.price_table import load_table
from cortext.features.usage.prices import Rates, list_prices

MAIN_MODELS = (
    "claude-fable-5-2", "claude-opus-5-5", "claude-opus-4-8", "claude-opus-4-5",
    "claude-sonnet-5-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-haiku-5-5",
    "claude-haiku-4-5", "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-5.5", "gpt-5.3-codex",
    "gpt-5.1", "gpt-5", "gpt-5-mini", "gemini-4-argon", "gemini-3.8-flash",
    "gemini-3.1-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash", "grok-4.7", "grok-code-fast-1",
    "deepseek-v4-pro", "devstral-2512", "kimi-k3.1-pro", "MiniMax-M3.1-Flash", "GLM-5.3",
    "composer-2.5", "qwen/qwen3-coder", "qwen/qwen3-coder-plus",
)  # fmt: skip
ROW = "{:<25}{:<12}{:>7}{:>8}{:>12}{:>13}{:>12}\n"


def show(name: str, provider: str, rates: Rates) -> None:
    prices = rates.input, rates.output, rates.cache_read, rates.cache_write, rates.cache_write_1h
    sys.stdout.write(ROW.format(name, provider, *(f"{price:.4g}" for price in prices)))


table = load_table()
noon = datetime.combine(table.date, time(12), UTC)
listed = list_prices(int(noon.timestamp()) * 1_000_000)
sys.stdout.write(f"{len(listed)} models, {table.source}, {table.date}\n\n")
heads = "model", "provider", "input", "output", "cache read", "cache write", "for 1 hour"
sys.stdout.write(ROW.format(*heads))
first = {model.id: model for model in reversed(listed)}
for name in MAIN_MODELS:
    model = first[name]
    show(name, model.provider, model.price)
    for tier in model.price.tiers:
        show(f"  above {tier.above:,} tokens", "", tier)
