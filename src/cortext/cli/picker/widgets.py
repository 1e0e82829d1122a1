"""The input line and the list of the picker. Only the visible lines of the list are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Key as KeyEvent
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.cli.picker.key_bindings import KEYS
from cortext.cli.picker.row_format import MARKS, laid_out

_DIM, _PLAIN, _BOLD = Style(dim=True), Style(), Style(bold=True)
_FOUND = Style(color="yellow", underline=True)
_POINTER = Style(color="cyan", bold=True)
_MARK = {"active": Style(color="green"), "completed": Style(color="blue")}

Item = ConversationRow | str
"""A line of the list: a conversation, or a heading above a group of conversations."""


def without_layout() -> Reactive[Size]:
    """Return a Textual size attribute whose change does not lay out the screen again.

    Use it for a widget that stays in place and has no scroll bar. A new layout takes longer than
    all other work for a key.
    """
    return Reactive(Size(0, 0), layout=False)


class Field(Input):
    """The input line. It handles all keys of the picker, so that keys and text stay in order."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(key.key, key.call, show=False) for key in KEYS]

    virtual_size: Reactive[Size] = without_layout()

    async def _on_key(self, event: KeyEvent) -> None:
        if not self.screen.is_current:
            # The key was typed before the dialog appeared, so it is neither an answer nor a search.
            event.stop().prevent_default()
            return
        # Textual would send the action to the app, and lose the order with typed letters.
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.stop().prevent_default()
            await self.run_action(binding.action)
            return
        await super()._on_key(event)


class Rows(ScrollView, can_focus=False):
    """The list of conversations and headings. `cursor` is the line of the chosen conversation."""

    virtual_size: Reactive[Size] = without_layout()

    class Moved(Message):
        """The message that another conversation, or none, is chosen."""

    class Opened(Message):
        """The message that the user clicked on the chosen conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        self.cursor: int = 0
        self.words: Sequence[str] = ()
        """The typed words, which are marked in titles."""
        self.with_folders = False
        self.note: Sequence[str] = ()
        """The lines to show if the list is empty."""
        self._now = clock.now().timestamp()

    @property
    def chosen(self) -> ConversationRow | None:
        item = self.items[self.cursor] if self.cursor < len(self.items) else None
        return item if isinstance(item, ConversationRow) else None

    def put(self, items: Sequence[Item], keep: tuple[str, str] | None = None) -> None:
        """Show these items.

        Choose the conversation with the identity `keep`, or the first conversation.
        """
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
        """Move the cursor by this many lines, at most to the first or last conversation."""
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
        """Return the line of the conversation nearest to the line `at`.

        `step` is the direction to search first, 1 or -1.
        """
        for direction in (step, -step):
            to = at
            while 0 <= to < len(self.items):
                if isinstance(self.items[to], ConversationRow):
                    return to
                to += direction
        return 0

    def _show_cursor(self, at: int) -> None:
        height, top = self.size.height, round(self.scroll_y)
        if at < top:
            # For the first conversation, also show the line above it.
            self.scroll_to(y=at if at > 1 else 0, animate=False)
        elif height and at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)

    def _measure(self) -> None:
        """Set the height of the scrolled area to the number of items."""
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
            return self._noted(y, width)
        item = self.items[at]
        if isinstance(item, str):
            line = set_cell_size(f"  ── {item} {'─' * width}", width - 1)
            return Strip([Segment(line, _DIM), Segment(" ")], width)
        return Strip(self._segments(item, width, at == self.cursor), width)

    def _noted(self, y: int, width: int) -> Strip:
        """Return line `y` of the note that an empty list shows."""
        if self.items:
            return Strip.blank(width)
        wide = max(width - 5, 1)
        lines = [line for text in self.note for line in wrap(text, wide) or [""]]
        shown = lines[y - 1] if 0 < y <= len(lines) else ""
        return Strip([Segment(set_cell_size(f"    {shown}", width), _DIM)], width)

    def _segments(self, row: ConversationRow, width: int, is_chosen: bool) -> list[Segment]:
        title, tags, right = laid_out(row, width - 5, self._now, with_folder=self.with_folders)
        return [
            Segment("▌ " if is_chosen else "  ", _POINTER),
            Segment(f"{MARKS.get(row.status, ' ')} ", _MARK.get(row.status, _PLAIN)),
            *marked(title, self.words, _BOLD if is_chosen else _PLAIN),
            Segment(tags, _DIM),
            Segment(f"{right} ", _PLAIN if is_chosen else _DIM),
        ]


def marked(text: str, words: Sequence[str], style: Style) -> list[Segment]:
    """Return a title as segments in which the words are marked."""
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
    return item.identity if isinstance(item, ConversationRow) else None
