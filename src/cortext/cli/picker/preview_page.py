"""The widget that shows the preview. It draws only the visible lines."""

from __future__ import annotations

from rich.console import Console
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cortext.cli.picker.preview_content import PreviewPage
from cortext.cli.picker.widgets import without_layout

NOTHING = PreviewPage(())


class Preview(ScrollView, can_focus=False):
    """The scrollable preview of the chosen conversation."""

    virtual_size: Reactive[Size] = without_layout()

    def __init__(self) -> None:
        super().__init__()
        self._page = NOTHING
        self._turned = False
        self._strips: dict[int, Strip] = {}
        self._drawn_by = Console(width=200, markup=False, emoji=False, highlight=False)

    @property
    def told(self) -> str:
        """A text such as `place 2 of 5`, if several messages have the typed words; or ""."""
        places, number = self._page.places, self._page.number
        if len(places) < 2 or number not in places:
            return ""
        return f"place {places.index(number) + 1} of {len(places)} · ^N for the next"

    def put(self, page: PreviewPage) -> None:
        """Show a page, scrolled to the message with the typed words or to its end."""
        self._page, self._strips, self._turned = page, {}, False
        self._settle()
        self.refresh()

    def on_resize(self) -> None:
        """Scroll to the same message again after the size of the widget changed."""
        self._settle()

    def _settle(self) -> None:
        page, count = self._page, len(self._page.lines)
        self.virtual_size = Size(self.size.width, count)
        if self._turned:
            return
        at = page.line_of(page.number)
        if at is None:
            self.scroll_to(y=count if page.from_end else 0, animate=False)
        else:
            self._show_line(at)

    def _show_line(self, at: int) -> None:
        """Scroll so that a line is visible, with some lines above it."""
        self.scroll_to(y=max(at - self.size.height // 3, 0), animate=False)

    def next_place(self) -> int:
        """Scroll to the next marked word of this message, or to the next message with a mark.

        After the last such message, continue with the first. Return the number of the message if it
        is not on this page, so that the caller loads it; otherwise 0.
        """
        page, bottom = self._page, round(self.scroll_y) + self.size.height
        below = [at for at in page.matches if at >= bottom and page.numbers[at] == page.number]
        if below:
            self._turned = True
            self._show_line(below[0])
            return 0
        if not page.places:
            return 0
        at = page.places.index(page.number) + 1 if page.number in page.places else 0
        number = page.places[at % len(page.places)]
        if page.line_of(number) is None:
            return number
        self.put(page._replace(number=number))
        return 0

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
