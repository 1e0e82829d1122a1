"""The tokens and the cost of `stats` are those of `usage`."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.stats.stats import Stats, gather
from cortext.features.usage.usage_report import gather_usage
from cortext.features.usage.usage_totals import UsageTotals
from cortext.web.chart_counts import Counting
from cortext.web.conversation_lookup import ConversationLookup
from tests.features.usage.usage_corpus import DAY, FIRST_DAY, write_corpus


@pytest.fixture
def usage_home(empty_home: Path) -> Path:
    write_corpus(empty_home)
    return empty_home


def stats_of(usage_home: Path, **filters: object) -> Stats:
    return gather(str(usage_home), ListFilter(**filters), everywhere=True)  # type: ignore[arg-type]


def close(totals: UsageTotals) -> Any:
    """Equal but for the rounding of sums in another order."""
    return pytest.approx(msgspec.structs.asdict(totals))


@pytest.mark.parametrize("since", [None, FIRST_DAY + DAY])
def test_stats_and_usage_agree(usage_home: Path, since: int | None) -> None:
    stats, usage = (
        stats_of(usage_home, since=since),
        gather_usage(str(usage_home), "model", since=since),
    )
    assert msgspec.structs.asdict(stats.usage) == close(usage.total)
    assert stats.cost.usd == pytest.approx(usage.total.cost_usd)
    assert stats.cost.recorded_usd == pytest.approx(usage.total.recorded_usd)
    reported = stats.tokens.reported
    assert reported.prompt + reported.completion == usage.total.tokens
    by_model = {
        share.name: (share.tokens, share.cost_usd) for share in stats.models if share.tokens
    }
    assert by_model == {
        group.name: (group.totals.tokens, pytest.approx(group.totals.cost_usd))
        for group in usage.groups
    }


def test_stats_and_usage_of_one_folder_agree(usage_home: Path) -> None:
    stats = stats_of(usage_home, folder="/home/you/web")
    usage = gather_usage(str(usage_home), folder="/home/you/web").total
    assert msgspec.structs.asdict(stats.usage) == close(usage)
    assert 0 < stats.usage.tokens < stats_of(usage_home).usage.tokens


def test_charts_and_usage_agree(usage_home: Path) -> None:
    rows: list[ConversationRow] = ConversationLookup().rows()
    counts, usage = Counting().count(rows), gather_usage(str(usage_home)).total
    assert (counts.tokens, counts.unread) == (usage.tokens, 0)
    assert counts.cost.usd == pytest.approx(usage.cost_usd)


def test_shares_of_tools_and_types_add_up_to_usage(usage_home: Path) -> None:
    stats = stats_of(usage_home)
    assert sum(share.tokens for share in stats.tools) == stats.usage.tokens
    assert sum(share.tokens for share in stats.types) == stats.usage.tokens
