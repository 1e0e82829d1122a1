"""Small charts of text: bars and columns of block characters, or of plain ASCII; and numbers.

Nothing here prints or knows a terminal. A value that is not zero is always to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence

_UP = " ▁▂▃▄▅▆▇█"
_RIGHT = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8


def can_draw(encoding: str | None) -> bool:
    """Whether the block characters can be written."""
    try:
        (_UP + _RIGHT).encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def bar(value: float, most: float, width: int, *, blocks: bool = True) -> str:
    """A bar to the right; the one for `most` fills the width. Spaces fill the rest."""
    eighths = _eighths(value, most, width)
    whole, part = divmod(eighths, _EIGHTHS)
    if not blocks:
        return ("#" * max(whole, int(eighths > 0))).ljust(width)
    return ("█" * whole + (_RIGHT[part] if part else "")).ljust(width)


def columns(
    values: Sequence[float], *, height: int, wide: int = 1, gap: int = 1, blocks: bool = True
) -> list[str]:
    """Bars that go up, one a value, as lines from the top; the highest fills the height."""
    most = max(values, default=0)
    sizes = [_eighths(value, most, height) for value in values]
    space = " " * gap
    lines: list[str] = []
    for row in range(height - 1, -1, -1):
        parts = [min(max(size - row * _EIGHTHS, 0), _EIGHTHS) for size in sizes]
        lines.append(space.join(_cell(part, blocks) * wide for part in parts))
    return lines


def counted(number: int, word: str) -> str:
    """A number of things, as people write it."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def short(number: int) -> str:
    """A large number with as many digits as matter."""
    for size, most, sign in ((10**9, 10**9, "G"), (10**6, 10**6, "M"), (1000, 10_000, "k")):
        if number >= most:
            return f"{number / size:,.1f} {sign}"
    return f"{number:,}"


def size(number: int) -> str:
    """A number of bytes."""
    return f"{short(number)}B" if number >= 10_000 else counted(number, "byte")


def _eighths(value: float, most: float, size: int) -> int:
    if value <= 0 or most <= 0:
        return 0
    return max(round(value / most * size * _EIGHTHS), 1)


def _cell(part: int, blocks: bool) -> str:
    if blocks:
        return _UP[part]
    return "#" if part >= _EIGHTHS // 2 else "." if part else " "
