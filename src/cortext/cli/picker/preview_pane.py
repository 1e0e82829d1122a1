"""The right half of the picker: facts about the chosen conversation, and its preview."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Static

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.cli.picker import preview_content
from cortext.cli.picker.preview_page import NOTHING, Preview
from cortext.cli.picker.row_format import facts
from cortext.cli.picker.workers import Latest

_SOON = 0.06
"""Seconds after the last cursor move until a preview is read."""


class Side(Vertical):
    """The right pane of the picker, for the chosen conversation.

    `in_app` runs a function in the app's thread, and `fail` reports an error. Both can be called
    from any thread.
    """

    def __init__(
        self, in_app: Callable[[Callable[[], object]], None], fail: Callable[[Exception], None]
    ) -> None:
        super().__init__(id="side")
        self._in_app = in_app
        self._facts, self._preview = Static(id="facts", markup=False), Preview()
        self._pages = Latest(preview_content.make, self._page_made, fail)
        self._timer: Timer | None = None
        self._row: ConversationRow | None = None
        self._text, self._number = "", 0
        self._drawn_by = Console(markup=False, emoji=False, highlight=False)

    def compose(self) -> ComposeResult:
        yield self._facts
        yield self._preview

    def close(self) -> None:
        self._pages.close()

    def put(self, row: ConversationRow | None, text: str, number: int) -> None:
        """Show a conversation after a short delay.

        The preview starts at the message `number`, or at the words of `text`. The delay avoids
        reading a preview for every key press.
        """
        self._row, self._text, self._number = row, text, number
        if self._timer:
            self._timer.stop()
        self._timer = self.set_timer(_SOON, self._show)

    def _show(self) -> None:
        self._tell()
        if self._row is None:
            self._preview.put(NOTHING)
        self.read(self._number)

    def _tell(self, place: str = "") -> None:
        row = self._row
        if row is None:
            self._facts.update("")
            return
        lines = [
            self._cut(Text(row.title or "(no title)", style="bold"), 2),
            self._cut(Text(facts(row, clock.now().timestamp()), style="dim"), 3),
            self._cut(Text(row.summary, style="italic"), 2),
            Text(place, style="yellow"),
        ]
        self._facts.update(Text("\n").join(filter(None, lines)))

    def _cut(self, text: Text, most: int) -> Text:
        """Cut a text after `most` lines, to leave room for the preview."""
        width = max(self.content_size.width - 1, 1)
        lines = text.wrap(self._drawn_by, width)
        if len(lines) <= most:
            return text
        # Wrapped lines still end with the space at which they were broken.
        for line in lines:
            line.rstrip()
        last = Text(" ").join(lines[most - 1 :])
        last.truncate(width, overflow="ellipsis")
        return Text("\n").join([*lines[: most - 1], last])

    def read(self, number: int = 0) -> None:
        """Request a preview that fits the current width.

        The preview shows the message `number`, or the message given to `put` if `number` is 0.
        """
        width = self._preview.size.width
        if self._row is not None and width > 1:
            number = number or self._number
            self._pages.ask(
                preview_content.PreviewRequest(self._row, width - 1, self._text, number)
            )

    def _page_made(
        self, wanted: preview_content.PreviewRequest, page: preview_content.PreviewPage
    ) -> None:
        def show() -> None:
            if self._row is not None and self._row.identity == wanted.row.identity:
                self._preview.put(page)
                self._tell(self._preview.told)

        self._in_app(show)

    def next_place(self) -> None:
        if number := self._preview.next_place():
            self.read(number)
        self._tell(self._preview.told)

    def turn(self, by: int) -> None:
        self._preview.turn(by * max(self._preview.size.height // 2, 1))
