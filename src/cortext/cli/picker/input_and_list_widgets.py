"""The widgets of the picker: the input line, and the list, which draws only its visible lines."""

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
from cortext.cli.picker.row_format import MARKS, layout_row
from cortext.features.listing.project_names import project_names

_DIM, _PLAIN, _BOLD = Style(dim=True), Style(), Style(bold=True)
_MATCH = Style(color="yellow", underline=True)
_POINTER = Style(color="cyan", bold=True)
_STATUS_STYLES = {"active": Style(color="green"), "completed": Style(color="blue")}

Item = ConversationRow | str
"""A line of the list: a conversation, or a heading above a group of conversations."""


def without_layout() -> Reactive[Size]:
    """Return a Textual attribute that stores the size of a widget.

    When this size changes, Textual does not lay out the screen again. This saves time, because a
    layout takes longer than all other work after a key press. Use the attribute only for a widget
    that never moves and has no scroll bar.
    """
    return Reactive(Size(0, 0), layout=False)


class Field(Input):
    """The input line. It handles all keys of the picker.

    This way, the keys and the typed text are handled in the order in which the user typed them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding(key.key, key.call, show=False) for key in KEYS]

    virtual_size: Reactive[Size] = without_layout()

    async def _on_key(self, event: KeyEvent) -> None:
        if not self.screen.is_current:
            # The user pressed the key before the dialog appeared. It is not an answer to the
            # dialog, and not part of the search either.
            event.stop().prevent_default()
            return
        # Run the action here. Textual would send it to the app, and letters typed later could be
        # handled first.
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.stop().prevent_default()
            await self.run_action(binding.action)
            return
        await super()._on_key(event)


class Rows(ScrollView, can_focus=False):
    """The list of conversations and headings. `cursor` is the chosen line, counted from 0."""

    virtual_size: Reactive[Size] = without_layout()

    class Moved(Message):
        """A Textual message: another conversation is chosen, or none can be chosen."""

    class Opened(Message):
        """A Textual message: the user clicked on the conversation that is already chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        self.cursor: int = 0
        self.is_moved: bool = False
        """Whether the user has moved the cursor since the last typed character."""
        self.words: Sequence[str] = ()
        """The typed words, which are marked in titles."""
        self.with_folders = False
        self.with_tools = True
        self.note: Sequence[str] = ()
        """The lines to show if the list is empty."""
        self._now = clock.now().timestamp()
        self._projects: dict[str, str] = {}
        """A dict that maps each folder to its shortest name that no other folder has."""

    @property
    def chosen(self) -> ConversationRow | None:
        item = self.items[self.cursor] if self.cursor < len(self.items) else None
        return item if isinstance(item, ConversationRow) else None

    def put(self, items: Sequence[Item], keep: tuple[str, str] | None = None) -> None:
        """Show items in the list, and choose the conversation whose `identity` is `keep`.

        If `keep` is None or is not in the list, choose the first conversation.
        """
        self.items, self._now = items, clock.now().timestamp()
        self._projects = project_names(
            item.folder for item in items if isinstance(item, ConversationRow)
        )
        at = 0
        if keep is not None:
            lines = (n for n, row in enumerate(items) if _identity(row) == keep)
            at = next(lines, 0)
        self._update_virtual_size()
        self.cursor = self._nearest_conversation(at, 1)
        self._scroll_to_line(at)
        self.refresh()
        self.post_message(self.Moved())

    def move(self, by: int) -> None:
        """Move the cursor by `by` lines. It stops at the first and at the last conversation."""
        self._move_cursor(min(max(self.cursor + by, 0), len(self.items) - 1), by)

    def _move_cursor(self, to: int, by: int) -> None:
        to = self._nearest_conversation(to, 1 if by > 0 else -1)
        if to == self.cursor:
            return
        self.cursor, self.is_moved = to, True
        self._scroll_to_line(to)
        self.refresh()
        self.post_message(self.Moved())

    def _nearest_conversation(self, at: int, step: int) -> int:
        """Return the number of the line with the conversation that is nearest to the line `at`.

        `step` is the direction to search first: 1 for down, -1 for up.
        """
        for direction in (step, -step):
            to = at
            while 0 <= to < len(self.items):
                if isinstance(self.items[to], ConversationRow):
                    return to
                to += direction
        return 0

    def _scroll_to_line(self, at: int) -> None:
        height, top = self.size.height, round(self.scroll_y)
        if at < top:
            # For the first conversation, also show the heading above it.
            self.scroll_to(y=at if at > 1 else 0, animate=False)
        elif height and at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)

    def _update_virtual_size(self) -> None:
        """Set the height of the scrolled area to the number of items."""
        self.virtual_size = Size(self.size.width, len(self.items))

    def on_resize(self) -> None:
        self._update_virtual_size()
        self._scroll_to_line(self.cursor)

    def on_click(self, event: object) -> None:
        at = getattr(event, "y", 0) + round(self.scroll_y)
        if at == self.cursor and self.chosen is not None:
            self.post_message(self.Opened())
        elif at < len(self.items):
            self._move_cursor(at, 1)

    def render_line(self, y: int) -> Strip:
        at, width = y + round(self.scroll_y), self.size.width
        if at >= len(self.items):
            return self._note_line(y, width)
        item = self.items[at]
        if isinstance(item, str):
            line = set_cell_size(f"  ── {item} {'─' * width}", width - 1)
            return Strip([Segment(line, _DIM), Segment(" ")], width)
        return Strip(self._row_segments(item, width, at == self.cursor), width)

    def _note_line(self, y: int, width: int) -> Strip:
        """Return line `y` of the note that is shown if the list is empty."""
        if self.items:
            return Strip.blank(width)
        text_width = max(width - 5, 1)
        lines = [line for text in self.note for line in wrap(text, text_width) or [""]]
        shown = lines[y - 1] if 0 < y <= len(lines) else ""
        return Strip([Segment(set_cell_size(f"    {shown}", width), _DIM)], width)

    def _row_segments(self, row: ConversationRow, width: int, is_chosen: bool) -> list[Segment]:
        title, tags, right = layout_row(
            row,
            width - 5,
            self._now,
            with_folder=self.with_folders,
            folder=self._projects.get(row.folder, ""),
            with_tool=self.with_tools,
        )
        return [
            Segment("▌ " if is_chosen else "  ", _POINTER),
            Segment(f"{MARKS.get(row.status, ' ')} ", _STATUS_STYLES.get(row.status, _PLAIN)),
            *marked(title, self.words, _BOLD if is_chosen else _PLAIN),
            Segment(tags, _DIM),
            Segment(f"{right} ", _PLAIN if is_chosen else _DIM),
        ]


def marked(text: str, words: Sequence[str], style: Style) -> list[Segment]:
    """Split a title into segments (pieces of styled text), and highlight the given words.

    `style` is the style of the text that is not highlighted.
    """
    folded = text.casefold()
    if len(folded) != len(text):
        return [Segment(text, style)]
    hit = [False] * len(text)
    for word in words:
        at = folded.find(word)
        while at >= 0:
            hit[at : at + len(word)] = [True] * len(word)
            at = folded.find(word, at + len(word))
    segments: list[Segment] = []
    for is_hit, run in groupby(zip(hit, text, strict=True), key=lambda pair: pair[0]):
        piece = "".join(character for _, character in run)
        segments.append(Segment(piece, style + _MATCH if is_hit else style))
    return segments


def _identity(item: Item) -> tuple[str, str] | None:
    return item.identity if isinstance(item, ConversationRow) else None
