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
from cortext.cli.picker.picker_search import Latest
from cortext.cli.picker.row_format import facts
from cortext.cli.picker.scrolling_preview import NOTHING, Preview

_READ_DELAY = 0.06
"""The delay in seconds between the last move of the cursor and the reading of a preview."""


class PreviewPane(Vertical):
    """The right half of the picker, which shows the chosen conversation.

    The pane reads previews in a worker thread. This thread calls `in_app` to run a function in the
    app's thread, and `fail` to show an error to the user.
    """

    def __init__(
        self, in_app: Callable[[Callable[[], object]], None], fail: Callable[[Exception], None]
    ) -> None:
        super().__init__(id="side")
        self._run_in_app = in_app
        self._facts, self._preview = Static(id="facts", markup=False), Preview()
        self._pages = Latest(preview_content.make, self._show_page, fail)
        self._timer: Timer | None = None
        self._row: ConversationRow | None = None
        self._text, self._number = "", 0
        self._page: preview_content.PreviewPage = NOTHING
        self._wrap_console = Console(markup=False, emoji=False, highlight=False)

    def compose(self) -> ComposeResult:
        yield self._facts
        yield self._preview

    def close(self) -> None:
        self._pages.close()

    def put(self, row: ConversationRow | None, text: str, number: int) -> None:
        """Show the facts and the preview of a conversation after a short delay.

        The preview starts at message `number`, or at the words of `text` if `number` is 0. Because
        of the delay, no preview is read while the user moves quickly through the list.
        """
        self._row, self._text, self._number = row, text, number
        self._page = NOTHING
        if self._timer:
            self._timer.stop()
        self._timer = self.set_timer(_READ_DELAY, self._show)

    def _show(self) -> None:
        self._show_facts()
        if self._row is None:
            self._preview.put(NOTHING)
        self.read(self._number)

    def _show_facts(self, match_note: str = "") -> None:
        row = self._row
        if row is None:
            self._facts.update("")
            return
        about = facts(row, clock.now().timestamp(), self._page.count)
        request = self._page.request
        is_title = request.startswith(row.title.rstrip("….")) if row.title else False
        lines = [
            self._cut_lines(Text(row.title or "(no title)", style="bold"), 2),
            self._cut_lines(Text(about, style="dim"), 3),
            self._cut_lines(Text(row.summary, style="italic"), 2),
            self._cut_lines(Text("" if is_title else f"❯ {request}" if request else ""), 2),
            Text(match_note, style="yellow"),
        ]
        self._facts.update(Text("\n").join(filter(None, lines)))

    def _cut_lines(self, text: Text, most: int) -> Text:
        """Return a text, cut after `most` lines, so that the preview below has enough room."""
        width = max(self.content_size.width - 1, 1)
        lines = text.wrap(self._wrap_console, width)
        if len(lines) <= most:
            return text
        # Wrapped lines still end with the space at which they were broken.
        for line in lines:
            line.rstrip()
        last = Text(" ").join(lines[most - 1 :])
        last.truncate(width, overflow="ellipsis")
        return Text("\n").join([*lines[: most - 1], last])

    def read(self, number: int = 0) -> None:
        """Ask the worker thread for a preview that fits the current width.

        The preview shows message `number`. If `number` is 0, show the message that was passed to
        `put`.
        """
        width = self._preview.size.width
        if self._row is not None and width > 1:
            number = number or self._number
            self._pages.ask(
                preview_content.PreviewRequest(self._row, width - 1, self._text, number)
            )

    def _show_page(
        self, request: preview_content.PreviewRequest, page: preview_content.PreviewPage
    ) -> None:
        def show() -> None:
            if self._row is not None and self._row.identity == request.row.identity:
                self._page = page
                self._preview.put(page)
                self._show_facts(self._preview.told)

        self._run_in_app(show)

    def scroll_to_next_match(self) -> None:
        if number := self._preview.scroll_to_next_match():
            self.read(number)
        self._show_facts(self._preview.told)

    def turn(self, by: int) -> None:
        self._preview.turn(by * max(self._preview.size.height // 2, 1))
