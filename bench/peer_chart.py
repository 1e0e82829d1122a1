"""The comparison as a picture: bars for each row, ours against the others, on a logarithmic scale.
Plain SVG: no script, and readable in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import floor, log10
from typing import NamedTuple

from bench.peer_rows import Found, Row, figure, rows

_CHARTED = ("append", "append at long", "append at longer", "last", "load", "list", "search")
_CHARTED += ("rate", "disk", "import", "memory")
_COLUMNS, _WIDTH, _LABEL, _BARS = 2, 490, 230, 190
_LINE, _HEAD, _GAP = 14, 22, 18
_STYLE = """
text { font: 10.5px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600; font-size: 12px }
.ours { fill: #1a7f5a }
.theirs { fill: #8c959f }
.loose { fill: none; stroke: #8c959f; stroke-dasharray: 2 2 }
.bold { font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #d7dde4 }
.ours { fill: #3fb98a }
.theirs { fill: #6e7781 }
.loose { stroke: #8c959f }
}
"""


class Bar(NamedTuple):
    """One contestant in a panel."""

    name: str
    value: float
    ours: bool
    syncs: bool


def svg(found: Found) -> str:
    """All panels, the shorter column next."""
    heights, parts = [_HEAD] * _COLUMNS, list[str]()
    for row in rows(found):
        bars = list(_bars(found, row)) if row.key in _CHARTED else []
        if not any(bar.ours for bar in bars):
            continue
        column = heights.index(min(heights))
        place = f"translate({10 + column * _WIDTH} {heights[column]})"
        parts.append(f'<g transform="{place}">\n{_panel(row, bars)}</g>\n')
        heights[column] += _HEAD + _LINE * len(bars) + _GAP
    width, height = _COLUMNS * _WIDTH, max(heights)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="cortext beside other stores">\n<style>{_STYLE}</style>\n'
        f"{''.join(parts)}</svg>\n"
    )


def _bars(found: Found, row: Row) -> Iterator[Bar]:
    made = [
        Bar(one["name"], one["cells"][row.key], one["ours"], one["syncs"])
        for one in found["contestants"].values()
        if one["cells"].get(row.key)
    ]
    yield from sorted(made, key=lambda bar: bar.value, reverse=row.more_is_better)


def _panel(row: Row, bars: list[Bar]) -> str:
    lowest = floor(log10(min(bar.value for bar in bars)))
    span = max(log10(max(bar.value for bar in bars)) - lowest, 1)
    better = "more is better" if row.more_is_better else "less is better"
    title = escape(f"{row.title}, {row.unit} ({better}, logarithmic)")
    lines = [f'<text class="head" y="-6">{title}</text>\n']
    for number, bar in enumerate(bars):
        y = _LINE * number
        long = max(_BARS * (log10(bar.value) - lowest) / span, 2)
        kind = "ours" if bar.ours else "theirs" if bar.syncs else "loose"
        bold = ' class="bold"' if bar.ours else ""
        shown = figure(row, bar.value)
        lines.append(
            f'<text{bold} x="{_LABEL - 6}" y="{y + 10}" text-anchor="end">{escape(bar.name)}</text>'
            f'<rect class="{kind}" x="{_LABEL}" y="{y + 2}" width="{long:.1f}" height="9"/>'
            f'<text{bold} x="{_LABEL + long + 4:.1f}" y="{y + 10}">{shown}</text>\n'
        )
    return "".join(lines)
