"""The page of usage: its charts, its filters, and the numbers that wait until all is read."""

import threading
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from cortext import CortextError, MemoryConversationStore, clock
from cortext.asgi import create_app
from cortext.features.listing.time_ranges import Span
from cortext.features.usage.usage_overview import UsageOverview, UsageSnapshot
from cortext.features.usage.usage_refresh import Progress
from cortext.features.usage.usage_totals import UsageTotals
from cortext.web.usage_pages import usage_reading
from cortext.web.usage_pages.usage_charts import UsageCharts, draw_usage, project_bars
from cortext.web.usage_pages.usage_reading import UsageReading
from cortext.web.usage_pages.usage_request import UsageRequest, usage_choices
from tests.service.stores.loops import in_loop
from tests.web import usage_machine
from tests.web.page_requests import browsing

LOCAL = "l" * 24
NOTHING = UsageSnapshot([], {})
MARCH = date(2026, 3, 1)


@pytest.fixture(autouse=True)
def _own_home(empty_home: Path) -> None:
    """Run each test with an empty HOME."""


async def ask(path: str = "/usage") -> tuple[int, str]:
    service = create_app(MemoryConversationStore(), tokens={LOCAL: ""}, sessions=True, pages=True)
    async with browsing(service) as client:
        client.headers["Authorization"] = f"Bearer {LOCAL}"
        found = await client.get(path)
    return found.status_code, found.text


def drawn(days: Mapping[tuple[date | None, str], UsageTotals]) -> UsageCharts:
    return draw_usage(UsageOverview(UsageTotals(), days, {}, [], []), Span())


@pytest.fixture
def march(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock shows noon of 3 March 2026."""
    noon = clock.from_micros(1_772_539_200_000_000)
    monkeypatch.setattr(clock, "now", lambda: noon)


@pytest.fixture
def slow_reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A reading that has read 2 of 157 sessions, and goes on until the event is set."""
    proceed = threading.Event()

    def read(_root: str, progress: Progress) -> UsageSnapshot:
        progress(2, 157)
        proceed.wait(60)
        return NOTHING

    monkeypatch.setattr(usage_reading, "take_snapshot", read)
    monkeypatch.setattr(usage_reading, "WAIT", 0.0)
    yield proceed
    proceed.set()


@in_loop
async def test_usage_page_shows_no_numbers_while_sessions_are_read(
    slow_reading: threading.Event,
) -> None:
    status, text = await ask()
    assert status == 200
    assert "Still reading" in text
    assert "$" not in text
    assert '<meta http-equiv="refresh" content="5">' in text


def test_viewers_share_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    proceed, readers = threading.Event(), list[str]()

    def read(_root: str, progress: Progress) -> UsageSnapshot:
        readers.append(threading.current_thread().name)
        progress(2, 157)
        proceed.wait(60)
        return NOTHING

    monkeypatch.setattr(usage_reading, "take_snapshot", read)
    monkeypatch.setattr(usage_reading, "WAIT", 0.2)
    reading = UsageReading()
    assert [reading.snapshot() for _ in range(3)] == [None, None, None]
    assert reading.unread == 155
    proceed.set()
    monkeypatch.setattr(usage_reading, "WAIT", 60)
    assert reading.snapshot() is NOTHING
    assert reading.snapshot() is NOTHING
    assert readers == ["cortext-usage"]


def test_old_usage_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[int] = []
    monkeypatch.setattr(usage_reading, "take_snapshot", lambda *_: (readers.append(1), NOTHING)[1])
    monkeypatch.setattr(usage_reading, "FRESH", -1.0)
    reading = UsageReading()
    assert reading.snapshot() is reading.snapshot() is NOTHING
    assert len(readers) == 2


def test_error_of_reading_is_raised_and_next_request_reads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> UsageSnapshot:
        raise CortextError("the price file is invalid")

    reading = UsageReading()
    monkeypatch.setattr(usage_reading, "take_snapshot", fail)
    with pytest.raises(CortextError, match="price file"):
        reading.snapshot()
    monkeypatch.setattr(usage_reading, "take_snapshot", lambda *_: NOTHING)
    assert reading.snapshot() is NOTHING


@in_loop
async def test_usage_page_names_models_without_price_and_kinds_of_cost(empty_home: Path) -> None:
    usage_machine.month(empty_home)
    status, text = await ask()
    assert status == 200
    assert "No price is known for <code><bdi>unknown-model-9</bdi></code>" in text
    assert "<dt>Recorded by tools</dt>" in text
    assert "<dt>Computed from prices</dt>" in text
    assert "If you have a subscription" in text


@in_loop
async def test_usage_page_filters_by_project_and_period(empty_home: Path) -> None:
    usage_machine.answer_file(empty_home, "shop", usage_machine.session_id(1), ("a-model", 1, 10))
    usage_machine.answer_file(empty_home, "web", usage_machine.session_id(2), ("b-model", 1, 10))
    usage_machine.answer_file(empty_home, "web", usage_machine.session_id(3), ("c-model", 50, 10))
    models = {"a-model", "b-model", "c-model"}

    async def shown(path: str) -> set[str]:
        text = (await ask(path))[1]
        return {model for model in models if model in text}

    assert await shown("/usage") == {"a-model", "b-model"}
    assert await shown("/usage?when=all") == models
    assert await shown(f"/usage?when=all&project={empty_home}/work/web") == {"b-model", "c-model"}


@in_loop
async def test_usage_page_without_usage_says_so() -> None:
    assert "No answer of an AI tool was found in this period." in (await ask())[1]
    assert "<code>cortext doctor</code> shows where" in (await ask("/usage?when=all"))[1]


@in_loop
async def test_invalid_period_is_refused_with_hint() -> None:
    status, text = await ask("/usage?when=tommorow")
    assert status == 400
    assert "is not a valid date range" in text


def test_columns_have_heights_in_proportion_to_cost(march: None) -> None:
    charts = drawn(
        {
            (MARCH, "a"): UsageTotals(cost_usd=3.0, tokens=10),
            (MARCH, "b"): UsageTotals(cost_usd=1.0, tokens=10),
            (MARCH + timedelta(days=2), "b"): UsageTotals(cost_usd=5.0, tokens=10),
        }
    )
    assert (charts.step, charts.names, charts.cost.top) == ("day", ["b", "a"], 5.0)
    shown = [
        [(one.series, one.y, one.height) for one in each.segments] for each in charts.cost.columns
    ]
    assert shown == [[(0, 80, 20), (1, 20, 60)], [], [(0, 0, 100)]]
    assert [row.name for row in charts.rows] == ["2026-03-03", "2026-03-01"]


@pytest.mark.parametrize(
    ("days", "step", "when", "count"),
    [(99, "day", "2025-11-24", 100), (400, "week", "2025-01-27..2025-02-02", 58),
     (1000, "month", "2023-06", 34)],
)  # fmt: skip
def test_long_periods_have_a_column_for_each_week_or_month(
    march: None, days: int, step: str, when: str, count: int
) -> None:
    first = date(2026, 3, 3) - timedelta(days=days)
    charts = drawn({(first, "a"): UsageTotals(tokens=1)})
    assert (charts.step, charts.rows[0].when, len(charts.cost.columns)) == (step, when, count)


def test_impossible_times_cause_no_endless_chart(march: None) -> None:
    extremes = (date(1970, 1, 1), date.max)
    days: dict[tuple[date | None, str], UsageTotals] = {
        (day, "a"): UsageTotals(tokens=1) for day in extremes
    }
    assert [one.name for one in drawn(days).tokens.columns] == ["1970-01", "9999-12"]
    assert [one.name for one in drawn({(date.max, "a"): UsageTotals(tokens=1)}).tokens.columns] == [
        "9999-12-31"
    ]


@pytest.mark.parametrize("dated", [{}, {(MARCH, "a"): UsageTotals(tokens=3)}])
def test_answers_without_time_are_only_in_last_row_of_table(
    dated: dict[tuple[date | None, str], UsageTotals],
) -> None:
    charts = drawn({**dated, (None, "a"): UsageTotals(tokens=2)})
    assert (charts.rows[-1].name, charts.rows[-1].when) == ("not recorded", "")
    assert charts.rows[-1].total.tokens == 2
    drawn_tokens = [
        each.totals.tokens for column in charts.tokens.columns for each in column.segments
    ]
    assert drawn_tokens == [totals.tokens for totals in dated.values()]


def test_small_models_share_a_series(march: None) -> None:
    charts = drawn({(MARCH, f"m{n}"): UsageTotals(cost_usd=9 - n, tokens=1) for n in range(9)})
    assert charts.names == ["m0", "m1", "m2", "m3", "m4", "m5", "3 others"]
    assert charts.rows[0].models[6].cost_usd == 3 + 2 + 1


def test_model_with_many_tokens_and_no_price_has_its_own_series(march: None) -> None:
    days: dict[tuple[date | None, str], UsageTotals] = {
        (MARCH, f"m{n}"): UsageTotals(cost_usd=1, tokens=1) for n in range(9)
    }
    days[MARCH, "unpriced"] = UsageTotals(tokens=1_000_000, unpriced_answers=3)
    charts = drawn(days)
    assert charts.names[0] == "unpriced"
    assert 0 not in charts.cost.series


def test_small_projects_share_a_bar() -> None:
    bars = project_bars({f"/p/{n}": UsageTotals(cost_usd=10 - n) for n in range(10)})
    assert [(bar.name, bar.length) for bar in bars][::8] == [("0", 100.0), ("2 others", 30.0)]


def test_chosen_filter_values_are_always_options() -> None:
    asked = UsageRequest.of({"when": "2026-03", "project": "/old/shop", "other": "x"})
    options = usage_choices(asked, ["/home/web"])
    assert "2026-03" in [option.value for option in options["when"]]
    assert [option.value for option in options["project"]] == ["", "/old/shop", "/home/web"]
    assert asked.address(when="") == "/usage?project=%2Fold%2Fshop"
