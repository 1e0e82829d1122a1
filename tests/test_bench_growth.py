"""The page of the growth curves is what its figures say, and the bench that makes them works."""

import os
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import growth, growth_clock, growth_make, growth_messages, growth_page, growth_sessions
from bench import lines as chart_lines
from bench.growth_curves import (
    CURVES,
    FLAT,
    LINEAR,
    LOGARITHMIC,
    PANELS,
    is_whole,
    missed,
    points_of,
    shape,
    tenfold,
)
from cortext import open_session_store
from cortext.workspace.workspace import Workspace

pytestmark = pytest.mark.long

FIGURES = growth_page.load(growth_page.FIGURES)
SECONDS = FIGURES["seconds"]
PAGE = Path(growth_page.PAGE).read_text(encoding="utf-8")
SIZE = 60


def test_growth_page_tables_match_figures() -> None:
    """Nobody typed a number."""
    assert growth_page.with_table(PAGE, FIGURES) == PAGE


def test_growth_chart_matches_figures() -> None:
    """To the last point."""
    assert Path(growth_page.CHART).read_text(encoding="utf-8") == growth_page.chart(SECONDS)


def test_growth_page_labels_only_quick_runs() -> None:
    """By the code, from the sizes that were measured."""
    sizes = {"messages": growth.MESSAGES, "sessions": growth.SESSIONS}
    over = {panel.key: panel.over for panel in PANELS}
    whole = {curve.key: {str(size): [1.0] for size in sizes[over[curve.panel]]} for curve in CURVES}
    quick = {
        key: {size: spent for size, spent in each.items() if int(size) <= growth.QUICK}
        for key, each in whole.items()
    }
    told = growth_page.with_table(PAGE, {**FIGURES, "seconds": quick, "rounds": 1})
    assert "figures of a quick run" in told.partition(growth_page.BEGIN)[0]
    assert "stops at 10⁴" in told
    assert "quick run" not in growth_page.with_table(PAGE, {**FIGURES, "seconds": whole})


def test_growth_figures_contain_every_curve() -> None:
    """None is left out, and none is drawn that is not in the tables."""
    assert sorted(SECONDS) == sorted(curve.key for curve in CURVES)
    assert [curve.key for curve in CURVES if len(points_of(SECONDS, curve.key)) < 3] == []
    assert {curve.panel for curve in CURVES} == {panel.key for panel in PANELS}


def test_growth_page_explains_every_linear_curve() -> None:
    """A curve that is linear, by promise or by what was measured, is named in words of a person. A
    quick run is not judged, and the page says that it is one."""
    text = PAGE.partition(growth_page.BEGIN)[0] + PAGE.partition(growth_page.END)[2]
    named = set(re.findall(r"\*\*([^*]+)\*\*", " ".join(text.split()).casefold()))
    grows = [
        curve.name.casefold()
        for curve in CURVES
        if curve.promise == LINEAR
        or (is_whole(SECONDS) and shape(tenfold(points_of(SECONDS, curve.key))) == LINEAR)
    ]
    assert is_whole(SECONDS) == ("figures of a quick run" not in PAGE)
    assert [name for name in grows if name not in named] == []


def test_growth_chart_contains_no_script_and_no_external_content() -> None:
    """No script, nothing from elsewhere, and colours for a dark page."""
    text = growth_page.chart(SECONDS)
    root = ElementTree.fromstring(text)
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "text", "polyline", "circle"}
    assert text.count("http") == 1
    assert "prefers-color-scheme: dark" in text
    for curve in CURVES:
        assert f">{curve.name}</text>" in text


def test_chart_labels_stay_inside_and_do_not_overlap() -> None:
    """Also names of lines that end at one place; text is no markup."""
    points = [(100, 1e-3), (1000, 1e-3)]
    panel = chart_lines.Panel("<&>", "x", [chart_lines.Line(f"<{n}>", points) for n in range(6)])
    root = ElementTree.fromstring(chart_lines.draw("a & b", "c < d", [panel]))
    names = [each for each in root.iter() if (each.text or "").startswith("<") and each.get("y")]
    heights = sorted(float(each.get("y", 0)) for each in names if each.text != "<&>")
    assert len(heights) == 6
    assert all(above + 14 < below for above, below in pairwise(heights))
    assert heights[0] > 0
    assert heights[-1] < float(root.get("height", 0))


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        ([1.0, 1.1, 0.9, 1.05], FLAT),
        ([2.0, 3.0, 4.2, 5.9], LOGARITHMIC),
        ([1.0, 1.1, 2.0, 11.0], LINEAR),
        ([1.0, 10.0, 100.0, 1000.0], LINEAR),
    ],
)
def test_shape_classifies_curve_as_flat_logarithmic_or_linear(
    seconds: list[float], word: str
) -> None:
    """What does not grow may hide what does, at first."""
    sizes = [100, 1_000, 10_000, 100_000]
    assert shape(tenfold(list(zip(sizes, seconds, strict=True)))) == word


def test_missed_reports_only_curves_that_break_their_promise() -> None:
    """One that is linear by nature is not."""
    grows = {"100": [1.0], "1000": [10.0], "10000": [100.0]}
    found = missed({"log append": grows, "log load": grows})
    assert [curve.key for curve in found] == ["log append"]


def test_bulk_bench_data_is_read_by_stores_without_damage(tmp_path: Path) -> None:
    """Every message and every session of it, without damage."""
    growth_make.make_log(str(tmp_path / "log"), 30)
    growth_make.make_conversation(str(tmp_path / "one"), 30)
    growth_make.make_workspace(str(tmp_path / "many"), 45)
    growth_make.make_logs(str(tmp_path / "logs"), 5)
    log = open_session_store(f"log:{tmp_path / 'log'}").load(growth_make.ID)
    one = open_session_store(f"workspace:{tmp_path / 'one'}").load(growth_make.name_of(0))
    assert [message.id for message in log.messages] == [message.id for message in one.messages]
    assert len(log.messages) == 30
    rows = Workspace(tmp_path / "many").list()
    assert sorted(row.title for row in rows) == sorted(f"Topic {n}" for n in range(45))
    assert {row.message_count for row in rows} == {2}
    logs = open_session_store(f"log:{tmp_path / 'logs'}")
    assert [len(logs.load(id).messages) for id in logs.list_session_ids()] == [2] * 5


@pytest.mark.parametrize("work", growth.WORKS, ids=lambda work: work.name)
def test_every_growth_work_measures_its_curves(
    work: growth.Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice over the same sessions: the second round finds what the first one found."""
    monkeypatch.setattr(growth_clock, "_ENOUGH", 0.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")
    monkeypatch.chdir(tmp_path)
    module = {"growth_messages": growth_messages, "growth_sessions": growth_sessions}[work.module]
    folder = str(tmp_path)
    mask = os.umask(0o077)
    try:
        getattr(module, work.make)(folder, SIZE)
        rounds = [
            {
                key: spent
                for name in filter(None, (work.often, work.measure))
                for key, spent in getattr(module, name)(folder, SIZE, number).items()
            }
            for number in range(2)
        ]
    finally:
        os.umask(mask)
    assert rounds[0].keys() - rounds[1].keys() <= {"doctor deep"}
    assert rounds[0].keys() <= {curve.key for curve in CURVES}
    assert all(spent > 0 for each in rounds for spent in each.values())
