"""A chart of lines as SVG: both axes logarithmic, panels side by side, no script. Its colours are
read on a dark page as on a light one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

_COLUMNS = 2
_WIDTH, _HEIGHT = 640, 330
"""Of a panel, with its names."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 252, 34, 46
"""Around what is drawn in a panel; the names of the lines are at its right."""
_HEAD = 64
_NAME = 15
"""From one name to the next, at least."""
_COLOURS = ("#0f83c2", "#d1660a", "#1a9a6c", "#c2578f", "#8f7bd6", "#a08500")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4")
_UNITS = ((1e-6, "1 µs"), (1e-5, "10 µs"), (1e-4, "100 µs"), (1e-3, "1 ms"), (1e-2, "10 ms"))
_UNITS += ((0.1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"), (100.0, "100 s"), (1000.0, "1000 s"))
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-size: 17px; font-weight: 600; fill: #1f2328 }
.panel { font-size: 14px; font-weight: 600; fill: #1f2328 }
.grid { stroke: #8c959f; stroke-opacity: .28 }
.linear { stroke: #8c959f; stroke-dasharray: 1 4; fill: none }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.lead { fill: none; stroke-opacity: .5 }
@media (prefers-color-scheme: dark) {
  text { fill: #9da7b3 } .title, .panel { fill: #f0f6fc }
}
"""


class Line(NamedTuple):
    """One operation: the seconds at each size, the smallest first."""

    name: str
    points: Sequence[tuple[int, float]]


class Panel(NamedTuple):
    """Lines that are drawn over the same axis."""

    title: str
    over: str
    lines: Sequence[Line]


class _Axes(NamedTuple):
    """What part of the numbers a panel shows, as powers of ten, and where it stands."""

    x: float
    y: float
    sizes: tuple[int, int]
    times: tuple[int, int]

    @property
    def width(self) -> float:
        return _WIDTH - _LEFT - _RIGHT

    @property
    def height(self) -> float:
        return _HEIGHT - _TOP - _BOTTOM

    def at(self, size: float, seconds: float) -> tuple[float, float]:
        (first, last), (least, most) = self.sizes, self.times
        across = (math.log10(size) - first) / (last - first)
        up = (math.log10(seconds) - least) / (most - least)
        return self.x + _LEFT + across * self.width, self.y + _TOP + (1 - up) * self.height


def draw(title: str, description: str, panels: Sequence[Panel]) -> str:
    """The picture of panels that have any points."""
    shown = [panel for panel in panels if any(line.points for line in panel.lines)]
    rows = -(-len(shown) // _COLUMNS)
    width, height = _COLUMNS * _WIDTH, _HEAD + rows * _HEIGHT
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title about">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="about">{escape(description)}</desc>',
        f"<style>{_STYLE}</style>",
        _text(_LEFT, 26, title, "title"),
        _text(_LEFT, 46, "Dotted: ten times as long for ten times as much. Level: no longer."),
    ]
    for number, panel in enumerate(shown):
        x, y = number % _COLUMNS * _WIDTH, _HEAD + number // _COLUMNS * _HEIGHT
        parts += _panel(panel, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, x: float, y: float) -> Iterator[str]:
    points = [point for line in panel.lines for point in line.points]
    axes = _Axes(x, y, _decades(size for size, _ in points), _decades(took for _, took in points))
    yield _text(x + _LEFT, y + 20, panel.title, "panel")
    yield from _grid(axes)
    yield _text(x + _LEFT + axes.width / 2, y + _HEIGHT - 8, panel.over, anchor="middle")
    lines = [line for line in panel.lines if line.points]
    ends = [axes.at(*line.points[-1])[1] for line in lines]
    for number, (line, name_y) in enumerate(zip(lines, _apart(ends, axes), strict=True)):
        yield from _line(line, axes, number, name_y)


def _decades(values: Iterable[float]) -> tuple[int, int]:
    """The powers of ten around some numbers, at least two."""
    logs = [math.log10(value) for value in values]
    least, most = math.floor(min(logs) + 1e-9), math.ceil(max(logs) - 1e-9)
    return least, max(most, least + 2)


def _grid(axes: _Axes) -> Iterator[str]:
    (first, last), (least, most) = axes.sizes, axes.times
    for power in range(first, last + 1):
        x, y = axes.at(10**power, 10**least)
        yield _stroke([(x, y), (x, y - axes.height)], "grid")
        yield _text(x, y + 17, f"10{str(power).translate(_POWERS)}", anchor="middle")
    names = {round(math.log10(value)): name for value, name in _UNITS}
    for power in range(least, most + 1):
        x, y = axes.at(10**first, 10.0**power)
        yield _stroke([(x, y), (x + axes.width, y)], "grid")
        yield _text(x - 8, y + 4, names.get(power, f"10^{power} s"), anchor="end")
    steps = min(last - first, most - least)
    corner, far = (
        axes.at(10**first, 10.0**least),
        axes.at(10 ** (first + steps), 10.0 ** (least + steps)),
    )
    yield _stroke([corner, far], "linear")


def _line(line: Line, axes: _Axes, number: int, name_y: float) -> Iterator[str]:
    colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
    places = [axes.at(*point) for point in line.points]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield _stroke(places, "line", f' stroke="{colour}"{dashed}')
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    x, y = places[-1]
    name_x = axes.x + _LEFT + axes.width + 24
    yield _stroke([(x + 5, y), (name_x - 5, name_y)], "lead", f' stroke="{colour}"')
    yield f'<circle cx="{name_x:.1f}" cy="{name_y:.1f}" r="4" fill="{colour}"/>'
    yield _text(name_x + 9, name_y + 4, line.name)


def _apart(ends: Sequence[float], axes: _Axes) -> list[float]:
    """Where the names stand: beside the ends of their lines, and none on another."""
    order = sorted(range(len(ends)), key=ends.__getitem__)
    found = list(ends)
    top, bottom = axes.y + _TOP, axes.y + _TOP + axes.height
    last = top - _NAME
    for place in order:
        last = found[place] = max(ends[place], last + _NAME)
    last = bottom + _NAME
    for place in reversed(order):
        last = found[place] = min(found[place], last - _NAME)
    return found


def _stroke(points: Sequence[tuple[float, float]], kind: str, more: str = "") -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="{kind}"{more} points="{places}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'
