"""Our token counts and those of ccusage, for the same generated histories."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cortext.features.usage.usage_overview import summarize_usage, take_snapshot
from tests.features.usage.usage_histories import write_claude_history, write_codex_history
from tests.tools.real.install import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run ccusage"),
    pytest.mark.needs("npm", "to install ccusage"),
]
ZONE = "America/New_York"
Counts = dict[tuple[str, str], tuple[int, ...]]
"""Tokens of input, output, cache read and cache write, by local day and model."""


@pytest.fixture
def new_york(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder HOME, with 40 sessions of Claude Code and 30 of Codex."""
    assert empty_home.is_relative_to(tmp_path)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", ZONE)
        time.tzset()
        write_claude_history(empty_home, Random(1), 40)
        write_codex_history(empty_home, Random(2), 30)
        yield empty_home
    time.tzset()


def ccusage(home: Path, *command: str) -> list[dict[str, Any]]:
    """The days that ccusage reports. It sees no variable of ours but PATH."""
    done = subprocess.run(
        [installed("ccusage"), *command, "--offline", "--json", "--timezone", ZONE],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)["daily"]


def kinds(counts: dict[str, Any]) -> tuple[int, ...]:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    return tuple(counts[name] for name in names)


def our_counts(home: Path) -> Counts:
    days = summarize_usage(take_snapshot(str(home))).days
    return {
        (str(day), model): (t.input, t.output, t.cache_read, t.cache_write + t.cache_write_1h)
        for (day, model), t in days.items()
    }


def test_tokens_of_each_day_and_model_are_those_of_ccusage(new_york: Path) -> None:
    """Answers of several streamed lines, both kinds of cache writes, sub-agents, resumed files and
    forks that repeat history, damaged lines."""
    claude = {
        (day["date"], model["modelName"]): kinds(model)
        for day in ccusage(new_york, "claude", "daily", "--breakdown")
        for model in day["modelBreakdowns"]
    }
    codex = {
        (day["date"], model): kinds(counts)
        for day in ccusage(new_york, "codex", "daily")
        for model, counts in day["models"].items()
    }
    assert min(len(claude), len(codex)) > 40
    assert our_counts(new_york) == claude | codex
