"""The widget that shows the preview. It draws only the visible lines."""

from __future__ import annotations

from msgspec.structs import replace
from rich.console import Console
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cortext.cli.picker.input_and_list_widgets import without_layout
from cortext.cli.picker.preview_content import PreviewPage

NOTHING = PreviewPage(())


class Preview(ScrollView, can_focus=False):
    """The scrollable preview of the chosen conversation."""

    virtual_size: Reactive[Size] = without_layout()

    def __init__(self) -> None:
        super().__init__()
        self._page = NOTHING
        self._was_scrolled = False
        self._strips: dict[int, Strip] = {}
        self._line_console = Console(width=200, markup=False, emoji=False, highlight=False)

    @property
    def told(self) -> str:
        """A text such as `match 2 of 5 · ^N next`, or "" if fewer than two messages match."""
        places, number = self._page.places, self._page.number
        if len(places) < 2 or number not in places:
            return ""
        return f"match {places.index(number) + 1} of {len(places)} · ^N next"

    def put(self, page: PreviewPage) -> None:
        """Show a page, and scroll to its message `number`.

        If the page has no such message, scroll to the start or to the end of the page.
        """
        self._page, self._strips, self._was_scrolled = page, {}, False
        self._scroll_to_match()
        self.refresh()

    def on_resize(self) -> None:
        """Scroll again to the message that `put` scrolled to, because the widget has a new size.

        If the user has scrolled since the page appeared, keep the position.
        """
        self._scroll_to_match()

    def _scroll_to_match(self) -> None:
        page, count = self._page, len(self._page.lines)
        self.virtual_size = Size(self.size.width, count)
        if self._was_scrolled:
            return
        at = page.line_of(page.number)
        if at is None:
            self.scroll_to(y=count if page.from_end else 0, animate=False)
        else:
            self._show_line(at)

    def _show_line(self, at: int) -> None:
        """Scroll so that a line is visible, with some lines above it."""
        self.scroll_to(y=max(at - self.size.height // 3, 0), animate=False)

    def scroll_to_next_match(self) -> int:
        """Scroll to the next marked word. Return 0, or the number of a message to load first.

        Look first below the visible lines of the current message, then in the next message with a
        marked word. After the last such message, continue with the first. If the next message is
        not on the loaded page, return its number and do not scroll. The caller must then load that
        message.
        """
        page, bottom = self._page, round(self.scroll_y) + self.size.height
        below = [at for at in page.matches if at >= bottom and page.numbers[at] == page.number]
        if below:
            self._was_scrolled = True
            self._show_line(below[0])
            return 0
        if not page.places:
            return 0
        at = page.places.index(page.number) + 1 if page.number in page.places else 0
        number = page.places[at % len(page.places)]
        if page.line_of(number) is None:
            return number
        self.put(replace(page, number=number))
        return 0

    def turn(self, by: int) -> None:
        self._was_scrolled = True
        self.scroll_to(y=self.scroll_y + by, animate=False)

    def render_line(self, y: int) -> Strip:
        at, width = y + round(self.scroll_y), self.size.width
        if at >= len(self._page.lines):
            return Strip.blank(width)
        if at not in self._strips:
            segments = self._page.lines[at].render(self._line_console)
            self._strips[at] = Strip(segments).adjust_cell_length(width)
        return self._strips[at]
