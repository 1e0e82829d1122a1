"""The two halves of the picker: the list, and the page beside it. Both draw the lines that are in
sight, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from cortext import clock
from cortext.cli.picker.pages import Page
from cortext.cli.picker.rows import MARKS, age, where
from cortext.index.listed import Listed

_DIM, _PLAIN, _BOLD = Style(dim=True), Style(), Style(bold=True)
_FOUND = Style(color="yellow", underline=True)
_POINTER = Style(color="cyan", bold=True)
_MARK = {"active": Style(color="green"), "completed": Style(color="blue")}
_AGE, _TOOL, _FOLDER = 5, 9, 14
_ROOMY = 56
"""Columns of a list that has room for more than title and age."""

Item = Listed | str
"""A conversation, or a line between those that are there for different reasons."""


def _without_layout() -> Reactive[Size]:
    """For what grows and shrinks inside a place that stays as it is, with no scroll bar: to lay out
    all of the screen anew takes longer than everything else that a key asks for."""
    return Reactive(Size(0, 0), layout=False)


class Field(Input):
    """The line to type into."""

    virtual_size: Reactive[Size] = _without_layout()


class Rows(ScrollView, can_focus=False):
    """The list. One line each; `cursor` is the one that is chosen."""

    virtual_size: Reactive[Size] = _without_layout()

    class Moved(Message):
        """Another one is chosen, or none."""

    class Opened(Message):
        """The chosen one was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        self.cursor = 0
        self.words: Sequence[str] = ()
        """What is marked in titles."""
        self.with_folders = False
        self._now = clock.now().timestamp()

    @property
    def chosen(self) -> Listed | None:
        item = self.items[self.cursor] if self.cursor < len(self.items) else None
        return item if isinstance(item, Listed) else None

    def put(self, items: Sequence[Item], keep: tuple[str, str] | None = None) -> None:
        """Show these. The one with the identity `keep` stays chosen, else it is the first."""
        self.items, self._now = items, clock.now().timestamp()
        at = 0
        if keep is not None:
            found = (n for n, row in enumerate(items) if _identity(row) == keep)
            at = next(found, 0)
        self._measure()
        self.cursor = self._landing(at, 1)
        self._show_cursor(at)
        self.refresh()
        self.post_message(self.Moved())

    def move(self, by: int) -> None:
        """Choose another one, so many lines away, or the last on the way there."""
        self._go(min(max(self.cursor + by, 0), len(self.items) - 1), by)

    def _go(self, to: int, by: int) -> None:
        to = self._landing(to, 1 if by > 0 else -1)
        if to == self.cursor:
            return
        self.cursor = to
        self._show_cursor(to)
        self.refresh()
        self.post_message(self.Moved())

    def _landing(self, at: int, step: int) -> int:
        """The nearest line that can be chosen."""
        for direction in (step, -step):
            to = at
            while 0 <= to < len(self.items):
                if isinstance(self.items[to], Listed):
                    return to
                to += direction
        return 0

    def _show_cursor(self, at: int) -> None:
        height, top = self.size.height, round(self.scroll_y)
        if at < top:
            # What stands above the first can be seen as well.
            self.scroll_to(y=at if at > 1 else 0, animate=False)
        elif height and at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)

    def _measure(self) -> None:
        """Let it scroll as far as there are lines."""
        self.virtual_size = Size(self.size.width, len(self.items))

    def on_resize(self) -> None:
        self._measure()
        self._show_cursor(self.cursor)

    def on_click(self, event: object) -> None:
        at = getattr(event, "y", 0) + round(self.scroll_y)
        if at == self.cursor and self.chosen is not None:
            self.post_message(self.Opened())
        elif at < len(self.items):
            self._go(at, 1)

    def render_line(self, y: int) -> Strip:
        at, width = y + round(self.scroll_y), self.size.width
        if at >= len(self.items):
            return Strip.blank(width)
        item = self.items[at]
        if isinstance(item, str):
            line = set_cell_size(f"  ── {item} {'─' * width}", width - 1)
            return Strip([Segment(line, _DIM), Segment(" ")], width)
        return Strip(self._segments(item, width, at == self.cursor), width)

    def _segments(self, row: Listed, width: int, is_chosen: bool) -> list[Segment]:
        mark = MARKS.get(row.status, " ")
        right = age(row.last_active, self._now).rjust(_AGE)
        if width >= _ROOMY:
            right = set_cell_size(",".join(sorted(row.tools)), _TOOL) + right
            if self.with_folders:
                right = _cut(where(row), _FOLDER) + "  " + right
        title = row.title or "(no title)"
        room = max(width - 4 - cell_len(right) - 2, 1)
        shown = _cut(title, min(cell_len(title), room))
        rest = _filled(_tags(row, room - cell_len(shown)), room - cell_len(shown))
        return [
            Segment("▌ " if is_chosen else "  ", _POINTER),
            Segment(f"{mark} ", _MARK.get(row.status, _PLAIN)),
            *marked(shown, self.words, _BOLD if is_chosen else _PLAIN),
            Segment(rest, _DIM),
            Segment(f" {right} ", _PLAIN if is_chosen else _DIM),
        ]


def marked(text: str, words: Sequence[str], style: Style) -> list[Segment]:
    """A title with the words in it marked."""
    low = text.casefold()
    if len(low) != len(text):
        return [Segment(text, style)]
    hit = [False] * len(text)
    for word in words:
        at = low.find(word)
        while at >= 0:
            hit[at : at + len(word)] = [True] * len(word)
            at = low.find(word, at + len(word))
    found: list[Segment] = []
    for is_hit, run in groupby(zip(hit, text, strict=True), key=lambda pair: pair[0]):
        piece = "".join(character for _, character in run)
        found.append(Segment(piece, style + _FOUND if is_hit else style))
    return found


def _identity(item: Item) -> tuple[str, str] | None:
    return item.identity if isinstance(item, Listed) else None


def _tags(row: Listed, room: int) -> str:
    """As many as there is room for, each of them whole."""
    shown = ""
    for tag in row.tags:
        if cell_len(f"{shown} #{tag}") > room:
            break
        shown += f" #{tag}"
    return shown


def _cut(text: str, width: int) -> str:
    """In exactly so many columns, with a sign where something was cut off."""
    return set_cell_size(text, width - 1) + "…" if cell_len(text) > width else _filled(text, width)


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


class Preview(ScrollView, can_focus=False):
    """The page of what is chosen."""

    virtual_size: Reactive[Size] = _without_layout()

    def __init__(self) -> None:
        super().__init__()
        self._page = Page((), (), from_end=False)
        self._turned = False
        self._strips: dict[int, Strip] = {}
        self._drawn_by = Console(width=200, markup=False, emoji=False, highlight=False)

    def put(self, page: Page) -> None:
        """Show it: where the words are, or else its end."""
        self._page, self._strips, self._turned = page, {}, False
        self._place()
        self.refresh()

    def on_resize(self) -> None:
        """Also when what stands above it took a line more: the end stays in sight."""
        self._place()

    def _place(self) -> None:
        page, count = self._page, len(self._page.lines)
        self.virtual_size = Size(self.size.width, count)
        if self._turned:
            return
        at = count if page.from_end else 0
        if page.matches:
            at = max(page.matches[0] - self.size.height // 3, 0)
        self.scroll_to(y=at, animate=False)

    def next_match(self) -> None:
        """The next place that has the words; after the last, the first."""
        top = round(self.scroll_y) + self.size.height // 3
        found = [at for at in self._page.matches if at > top] or self._page.matches
        if found:
            self._turned = True
            self.scroll_to(y=max(found[0] - self.size.height // 3, 0), animate=False)

    def turn(self, by: int) -> None:
        self._turned = True
        self.scroll_to(y=self.scroll_y + by, animate=False)

    def render_line(self, y: int) -> Strip:
        at, width = y + round(self.scroll_y), self.size.width
        if at >= len(self._page.lines):
            return Strip.blank(width)
        if at not in self._strips:
            segments = self._page.lines[at].render(self._drawn_by)
            self._strips[at] = Strip(segments).adjust_cell_length(width)
        return self._strips[at]
