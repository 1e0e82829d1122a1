"""Write the page and the chart of the growth curves from the measured figures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bench import lines
from bench.growth_curves import (
    CURVES,
    PANELS,
    Curve,
    Panel,
    Seconds,
    is_whole,
    points_of,
    shape,
    tenfold,
)

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "docs", "explanation")
FIGURES = os.path.join(_FOLDER, "growth.json")
CHART = os.path.join(_FOLDER, "growth.svg")
PAGE = os.path.join(_FOLDER, "growth.md")
BEGIN, END = "<!-- growth: made by `make bench-growth` -->\n", "<!-- growth: end -->"
TOP, TOP_END = "<!-- growth: which run -->\n", "<!-- growth: which run, end -->"
_QUICK = (
    "> **These are figures of a quick run** of {date}, which stops at {most} and measures each "
    "size in {rounds}. They show the layout of the page. On a busy machine, the last column of a "
    "quick run means little, and may contradict the text. A full run (`make bench-growth`) will "
    "replace them."
)
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def write() -> None:
    """Write the page and the chart again. Handwritten parts of the page stay unchanged."""
    figures = load(FIGURES)
    with open(PAGE, encoding="utf-8") as file:
        text = with_table(file.read(), figures)
    for path, made in ((PAGE, text), (CHART, chart(figures["seconds"]))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)


def load(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path: str, figures: Mapping[str, Any]) -> None:
    """Write the figures with four digits, because more digits are noise."""
    seconds = {
        key: {size: [float(f"{each:.4g}") for each in spent] for size, spent in sizes.items()}
        for key, sizes in figures["seconds"].items()
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**figures, "seconds": seconds}, file, indent=1)
        file.write("\n")


def with_table(page: str, figures: Mapping[str, Any]) -> str:
    """Return the page with the tables of these figures between its marks.

    Raises ValueError if the page has no marks.
    """
    page = _between(page, TOP, TOP_END, warning(figures))
    return _between(page, BEGIN, END, f"\n{_tables(figures)}\n")


def _between(page: str, first: str, last: str, made: str) -> str:
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"{PAGE} has no marks for the generated parts: {first.strip()} … {last}")
    return f"{before}{first}{made}{last}{after}"


def warning(figures: Mapping[str, Any]) -> str:
    """Return a warning for the figures of a quick run, or "" for a full run."""
    seconds = figures["seconds"]
    if is_whole(seconds):
        return ""
    most = max(int(size) for sizes in seconds.values() for size in sizes)
    return _QUICK.format(date=figures["date"], most=_power(most), rounds=_rounds(figures)) + "\n"


def chart(seconds: Seconds) -> str:
    """Return all curves as an SVG picture, with a panel for each group."""
    panels = [
        lines.Panel(
            panel.title,
            f"{panel.over} of a session" if panel.over == "messages" else panel.over,
            [lines.Line(curve.name, points_of(seconds, curve.key)) for curve in _in(panel)],
        )
        for panel in PANELS
    ]
    return lines.draw(
        "How cortext grows",
        "Median seconds of every operation, on axes that are logarithmic both; "
        "the tables beside this picture have the same figures.",
        panels,
    )


def text_table(seconds: Seconds) -> str:
    """Return the tables as text for a terminal."""
    found: list[str] = []
    for panel in PANELS:
        found.append(f"\n{panel.title}, over {panel.over}")
        for curve in _in(panel):
            if points := points_of(seconds, curve.key):
                told = "  ".join(f"{size:>9,}: {time_of(spent):>7}" for size, spent in points)
                factor = tenfold(points)
                found.append(f"  {curve.name:38} {told}  {shape(factor)}, x {factor:.2f}")
    return "\n".join(found)


def _in(panel: Panel) -> list[Curve]:
    return [curve for curve in CURVES if curve.panel == panel.key]


def _tables(figures: Mapping[str, Any]) -> str:
    rounds, seconds = figures["rounds"], figures["seconds"]
    first = (
        f"Measured on {figures['date']} with Python {figures['python']} and SQLite "
        f"{figures['sqlite']} on {figures['cpus']} processors; "
    )
    first += _rounds(figures) if rounds == 1 else f"medians of {_rounds(figures)}"
    if rounds > 1:
        first += f", half of which are within {_noise(seconds):.0%} of their median"
    first += ".\n"
    return "\n".join([first, *(_table(panel, figures["seconds"]) for panel in PANELS)])


def _rounds(figures: Mapping[str, Any]) -> str:
    return "one round" if figures["rounds"] == 1 else f"{figures['rounds']} rounds"


def _power(size: int) -> str:
    return f"10{str(len(str(size)) - 1).translate(_POWERS)}"


def _table(panel: Panel, seconds: Seconds) -> str:
    curves = [curve for curve in _in(panel) if points_of(seconds, curve.key)]
    sizes = sorted({size for curve in curves for size, _ in points_of(seconds, curve.key)})
    heads = [_power(size) for size in sizes]
    cells = [[f"{panel.title}, by {panel.over}", *heads, "with ten times as much"]]
    cells += [["---", *("--:" for _ in sizes), "---"]]
    for curve in curves:
        cells += _rows(curve, points_of(seconds, curve.key), sizes)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _rows(
    curve: Curve, points: Sequence[tuple[int, float]], sizes: Sequence[int]
) -> list[list[str]]:
    spent, factor = dict(points), tenfold(points)
    told = [time_of(spent[size]) if size in spent else "" for size in sizes]
    rows = [[curve.name, *told, f"{shape(factor)}, × {factor:.2f}"]]
    if curve.each:
        told = [time_of(spent[size] / size) if size in spent else "" for size in sizes]
        rows.append([f"… for each {curve.each}", *told, ""])
    return rows


def time_of(seconds: float) -> str:
    """Return a time with three digits, in a readable unit."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (float("inf"), 1, "s")):
        if seconds < limit:
            found = seconds * scale
            return f"{found:.3g} {unit}" if found < 1000 else f"{found:.0f} {unit}"
    raise ValueError(f"not a time: {seconds}")


def _noise(seconds: Seconds) -> float:
    """Return the median distance of a round from the median of its point."""
    import statistics

    found = [
        abs(each / statistics.median(spent) - 1)
        for sizes in seconds.values()
        for spent in sizes.values()
        if len(spent) > 1
        for each in spent
    ]
    return statistics.median(found) if found else 0.0
