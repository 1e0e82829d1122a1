"""The figures of the corpus, computed by hand, to the token and to the cent.

Prices in dollars per million tokens, for input, output, cache read, cache write, for one hour:

- Sonnet 3, 15, 0.30, 3.75, 6; Opus 5, 25, 0.50
- GPT-5.1 Codex 1.25, 10, 0.125, 1.25; GPT-5 mini 0.25, 2, 0.025
- Gemini 2.5 Pro 1.25, 10, 0.125; Flash 0.30, 2.50
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.features.usage.usage_report import Grouping, gather_usage
from tests.features.usage.usage_corpus import write_corpus
from tests.features.usage.usage_transcripts import (
    CODEX_FORK,
    CODEX_ID,
    GEMINI_ID,
    SESSION_A,
    SESSION_B,
)

# Claude Code: m1 is streamed, m2 is by Opus before midnight, m3 follows the compaction, m4 is of a
# sub-agent, m5 is the summary, m6 is by Opus in the fork.
M1 = 10 * 3 + 500 * 15 + 20_000 * 0.3 + 3_000 * 3.75 + 2_000 * 6
M2 = 4 * 5 + 2_000 * 25 + 100_000 * 0.5
M3 = 6 * 3 + 1_000 * 15 + 40_000 * 6
M4 = 100 * 3 + 50 * 15
M5 = 800 * 15 + 10_000 * 0.3
M6 = 1_000 * 5 + 400 * 25
# Codex: before and after the compaction, the sub-agent, the fork.
C1 = 3_000 * 1.25 + 500 * 10 + 6_000 * 0.125 + 1_000 * 1.25
C2 = 10_000 * 0.25 + 400 * 2 + 10_000 * 0.025
C3 = 1_000 * 0.25 + 100 * 2
C4 = 1_000 * 0.25 + 50 * 2
# Gemini CLI, and OpenCode, which recorded two of three costs.
G1, G2 = 700 * 1.25 + 65 * 10 + 300 * 0.125, 2_000 * 0.3 + 100 * 2.5
O1, O2, O3 = 500_000, 250_000, 1 * 3 + 2 * 15 + 9 * 0.3
FIRST = M1 + M2 + M4 + M5 + C1 + G1 + O1 + O3
SECOND = M3 + M6 + C2 + C3 + C4 + G2 + O2
SONNET = M1 + M3 + M4 + M5 + O1 + O2 + O3


@pytest.fixture
def corpus(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_corpus(empty_home)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield empty_home
    time.tzset()


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (
            "day",
            {
                "2026-03-10": (3_825, 3_937, 136_309, 4_000, 2_000, FIRST),
                "2026-03-11": (15_106, 2_080, 10_000, 0, 40_000, SECOND),
            },
        ),
        (
            "model",
            {
                "claude-sonnet-4-5": (227, 2_402, 30_009, 3_000, 42_000, SONNET),
                "claude-opus-4-5": (1_004, 2_400, 100_000, 0, 0, M2 + M6),
                "gpt-5.1-codex": (3_000, 500, 6_000, 1_000, 0, C1),
                "gpt-5-mini": (12_000, 550, 10_000, 0, 0, C2 + C3 + C4),
                "gemini-2.5-pro": (700, 65, 300, 0, 0, G1),
                "gemini-2.5-flash": (2_000, 100, 0, 0, 0, G2),
            },
        ),
        (
            "conversation",
            {
                SESSION_A: (120, 4_350, 130_000, 3_000, 42_000, M1 + M2 + M3 + M4 + M5),
                SESSION_B: (1_000, 400, 0, 0, 0, M6),
                CODEX_ID: (14_000, 1_000, 16_000, 1_000, 0, C1 + C2 + C3),
                CODEX_FORK: (1_000, 50, 0, 0, 0, C4),
                GEMINI_ID: (2_700, 165, 300, 0, 0, G1 + G2),
                "ses_1": (111, 52, 9, 0, 0, O1 + O2 + O3),
            },
        ),
    ],
)  # fmt: skip
def test_figures_are_those_computed_by_hand(
    corpus: Path, by: Grouping, expected: dict[str, tuple[float, ...]]
) -> None:
    for _ in range(2):  # the second time from the catalog
        groups = gather_usage(str(corpus), by).groups
        found = {
            group.name: (
                group.totals.input,
                group.totals.output,
                group.totals.cache_read,
                group.totals.cache_write,
                group.totals.cache_write_1h,
                pytest.approx(group.totals.cost_usd * 1_000_000),
            )
            for group in groups
        }
        assert found == expected


def test_total_of_corpus_is_exact(corpus: Path) -> None:
    total = gather_usage(str(corpus)).total
    assert (total.answers, total.reasoning, total.unpriced_answers) == (15, 325, 0)
    assert round(total.cost_usd, 2) == 1.19
    assert total.recorded_usd == 0.75
