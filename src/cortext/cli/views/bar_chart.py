"""Draw small bar charts with block characters or plain ASCII, and format numbers.

All functions return text. In a chart, a value above zero always has a visible mark.
"""

from __future__ import annotations

from collections.abc import Sequence

_RISING_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDENING_BLOCKS = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8


def can_draw(encoding: str | None) -> bool:
    """Return whether a text encoding contains the block characters of the charts."""
    try:
        (_RISING_BLOCKS + _WIDENING_BLOCKS).encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def bar(value: float, most: float, width: int, *, blocks: bool = True) -> str:
    """Return a horizontal bar for `value`, padded with spaces to `width` columns.

    The bar for the value `most` fills the whole width. Without `blocks`, draw the bar in ASCII.
    """
    eighths = _eighths(value, most, width)
    whole, part = divmod(eighths, _EIGHTHS)
    if not blocks:
        return ("#" * max(whole, int(eighths > 0))).ljust(width)
    return ("█" * whole + (_WIDENING_BLOCKS[part] if part else "")).ljust(width)


def columns(
    values: Sequence[float], *, height: int, wide: int = 1, gap: int = 1, blocks: bool = True
) -> list[str]:
    """Return a chart with a vertical bar for each value, as lines from top to bottom.

    The highest value fills all `height` lines. `wide` is the width of a bar, and `gap` is the space
    between two bars, both in terminal columns. Without `blocks`, draw in ASCII.
    """
    most = max(values, default=0)
    sizes = [_eighths(value, most, height) for value in values]
    space = " " * gap
    lines: list[str] = []
    for row in range(height - 1, -1, -1):
        parts = [min(max(size - row * _EIGHTHS, 0), _EIGHTHS) for size in sizes]
        lines.append(space.join(_cell(part, blocks) * wide for part in parts))
    return lines


def counted(number: int, word: str) -> str:
    """Return a number with its noun in the singular or plural, such as `2 messages`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def short(number: int) -> str:
    """Return a number for display, with a unit if it is large: 12,345 becomes `12.3 k`."""
    for size, most, sign in ((10**9, 10**9, "G"), (10**6, 10**6, "M"), (1000, 10_000, "k")):
        if number >= most:
            return f"{number / size:,.1f} {sign}"
    return f"{number:,}"


def dollars(usd: float, *, is_part: bool) -> str:
    """Return a cost for display. A `+` at the end means that a part of the cost is unknown."""
    return f"${usd:,.2f}{'+' if is_part else ''}"


def size(number: int) -> str:
    """Return a number of bytes for display, such as `12.3 kB`."""
    return f"{short(number)}B" if number >= 10_000 else counted(number, "byte")


def _eighths(value: float, most: float, size: int) -> int:
    if value <= 0 or most <= 0:
        return 0
    return max(round(value / most * size * _EIGHTHS), 1)


def _cell(part: int, blocks: bool) -> str:
    if blocks:
        return _RISING_BLOCKS[part]
    return "#" if part >= _EIGHTHS // 2 else "." if part else " "
