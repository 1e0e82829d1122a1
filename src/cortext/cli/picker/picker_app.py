"""The Textual app of the picker: an input line, the list of conversations, and a preview."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.input_and_list_widgets import Field, Item, Rows
from cortext.cli.picker.key_actions import PickerActions, error_text
from cortext.cli.picker.key_bindings import QUIT, hints
from cortext.cli.picker.picker_items import Chosen, PickerItems
from cortext.cli.picker.picker_search import FinderResult, Latest, PickerQuery, TextFinder
from cortext.cli.picker.picker_style import CSS, NARROW
from cortext.cli.picker.preview_pane import PreviewPane
from cortext.model.safe_text import clean

SEARCHING = "searching the messages …"
_SEARCH_DELAY = 0.15
"""The delay in seconds between the last typed key and the search through the messages."""
_SWITCH_INTERVAL = 0.001
"""Python's thread switch interval in seconds. It is short, so that reading files in a thread does
not delay the drawing of the screen."""


class Picker(PickerActions):
    """The Textual app of the picker. `shelf` has the conversations to list.

    The result of the app is the conversation that the user chose to continue, or None.
    """

    CSS: ClassVar[str] = CSS
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    ESCAPE_TO_MINIMIZE: ClassVar[bool] = False
    TITLE: str | None = "cortext"
    BINDINGS: ClassVar[list[BindingType]] = [Binding(QUIT, "quit", show=False, priority=True)]

    def __init__(self, shelf: PickerItems) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.shelf: PickerItems = shelf
        self._typed = ""
        self._result: FinderResult | None = None
        self._waiting_action = ""
        self.rows: Rows = Rows()
        self.side: PreviewPane = PreviewPane(self.from_thread, self._say_failure)
        self._field = Field(placeholder="type to filter", compact=True, select_on_focus=False)
        self._field.cursor_blink = False
        self._scope, self._line = Static(id="scope", markup=False), Static(id="line", markup=False)
        finder = TextFinder(self._say_progress, lambda: self._searcher.is_closed)
        self._searcher: Latest[PickerQuery, FinderResult] = Latest(
            finder.find, self._receive_result, self._receive_failure
        )
        self._search_timer = None
        self._bottom_text: str | None = None
        self.failure: Exception | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("❯", id="prompt", markup=False)
            yield self._field
            yield self._scope
        with Horizontal(id="body"):
            yield self.rows
            yield self.side
        yield self._line

    def on_mount(self) -> None:
        self._field.focus()
        self.set_class(self.size.width < NARROW, "narrow")
        self._show()
        self.say("")
        self.call_after_refresh(self._finish_start)

    def _finish_start(self) -> None:
        """Prepare the filter, read older transcripts, and index new messages in the background.

        This work waits until the list is on the screen, so that the picker appears quickly.
        """
        self.shelf.get_ready()
        if note := self.shelf.read_on():
            self.say(note)
        # The empty query finds nothing, but the index is ready when the user types.
        self._searcher.ask(PickerQuery("", self.shelf, is_titled=True))

    def on_resize(self) -> None:
        self.set_class(self.size.width < NARROW, "narrow")
        self._bottom_text = None
        self.say("")
        self.call_after_refresh(self.side.read)

    def on_unmount(self) -> None:
        self.side.close()
        self._searcher.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self._field:
            self._apply_typed_text()

    async def action_press(self, action: str) -> None:
        """Run the action of a key that the user pressed.

        First filter the list by the text that the user typed before this key.
        """
        self._waiting_action = ""
        self.say("")
        self._apply_typed_text()
        await self.run_action(action)

    def _apply_typed_text(self) -> None:
        """Filter the list by the text of the input line, if this text has changed."""
        text = self._field.value
        if text == self._typed:
            return
        if text == "?":
            # A question mark at the start is not a search, but opens the help.
            self.type("")
            self.action_help()
            return
        self._typed, self._result, self._waiting_action = text, None, ""
        self.rows.is_moved = False
        self.say("")
        self._show()
        if self._search_timer:
            self._search_timer.stop()
        if text.strip():
            self._search_timer = self.set_timer(_SEARCH_DELAY, self._search_messages)

    @property
    def _is_searching(self) -> bool:
        """True if the user typed a text, and the search through the messages has no result yet."""
        return self._result is None and bool(self._typed.strip())

    async def action_to_chosen(self, action: str) -> None:
        """Run an action on the chosen conversation.

        If no conversation is chosen yet, first wait for the search through the messages. Its first
        result then becomes the chosen conversation.
        """
        self._apply_typed_text()
        if self.chosen is not None or not self._is_searching:
            await self.action_press(action)
            return
        self._waiting_action = action
        self.say(SEARCHING)
        if self._search_timer:
            self._search_timer.stop()
        self._search_messages()

    def _search_messages(self) -> None:
        is_titled = bool(self.shelf.titled(self._typed))
        self._searcher.ask(PickerQuery(self._typed, self.shelf, is_titled))

    def _receive_result(self, query: PickerQuery, result: FinderResult) -> None:
        async def show() -> None:
            if not query.text or query.text != self._typed or query.shelf is not self.shelf:
                return
            self._result = result
            # The best match becomes the chosen conversation, unless the user chose another.
            self._show(keep=self.rows.is_moved)
            action, self._waiting_action = self._waiting_action, ""
            if action:
                self.say("")
            # Do not run the action on a partial match: the user may mean another conversation.
            if action and self.chosen is not None and not result.near:
                await self.run_action(action)

        self.from_thread(show)

    def _show(self, *, keep: bool = False) -> None:
        """Show the list of conversations that match the typed text.

        With `keep`, the chosen conversation stays chosen.
        """
        titled = self.shelf.titled(self._typed)
        items: Sequence[Item] = self._result.with_titled(titled) if self._result else titled
        chosen = self.rows.chosen if keep else None
        self.rows.words = self._typed.casefold().split()
        self.rows.with_folders = self.shelf.is_everywhere and self.shelf.has_several_folders
        self.rows.with_tools = self.shelf.has_several_tools
        self.rows.note = () if items else self._why_empty()
        self.rows.put(items, chosen.identity if chosen else None)
        shown = sum(isinstance(item, ConversationRow) for item in items)
        self._scope.update(self._scope_text(shown), layout=False)

    def _why_empty(self) -> Sequence[str]:
        if self._is_searching:
            return (SEARCHING,)
        if self._result:
            return self._result.notes
        return self.shelf.empty_list_lines()

    def _scope_text(self, shown: int) -> Text:
        total = len(self.shelf.rows)
        more = "+" if self._result and self._result.more else ""
        count = f"{total:,}" if shown == total else f"{shown:,}{more} of {total:,}"
        name = os.path.basename(self.shelf.folder) or self.shelf.folder
        where = "everywhere" if self.shelf.is_everywhere else clean(name, lines=False)
        other = "this project" if self.shelf.is_everywhere else "all"
        return Text.assemble(
            f"{count} ", (where, "bold"), ("   Tab ", "dim"), (other, "dim"), overflow="ellipsis"
        )

    def say(self, text: str) -> None:
        """Show a sentence at the bottom of the screen. "" shows the hints about keys again."""
        help = "F1" if self._typed else "?"  # after other characters, `?` is part of the search
        if (text or help) == self._bottom_text:
            return
        self._bottom_text = text or help
        if text:
            self._line.update(Text(clean(text, lines=False), style="bold"))
            return
        parts = [
            Text.assemble((key, "bold"), (f" {what}", "dim"))
            for key, what in hints(self.size.width, help)
        ]
        self._line.update(Text("  ").join(parts))

    def on_rows_moved(self) -> None:
        row = self.rows.chosen
        matches = self._result.found if self._result and row else ()
        numbers = (match.number for match in matches if row and match.row.identity == row.identity)
        self.side.put(row, self._typed.strip(), next(numbers, 0))

    def _say_failure(self, error: Exception) -> None:
        self.from_thread(lambda: self.say(error_text(error)))

    def _receive_failure(self, error: Exception) -> None:
        """Handle a failed search through the messages: stop waiting for it, and show the error."""

        def show() -> None:
            self._result, self._waiting_action = FinderResult(), ""
            self._show(keep=True)

        self.from_thread(show)
        self._say_failure(error)

    def _say_progress(self, text: str) -> None:
        self.from_thread(lambda: self.say(text))

    def action_move(self, by: int) -> None:
        self.rows.move(by)

    def action_page(self, by: int) -> None:
        self.rows.move(by * max(self.rows.size.height - 1, 1))

    def action_turn(self, by: int) -> None:
        self.side.turn(by)

    def action_next_match(self) -> None:
        self.side.scroll_to_next_match()

    def action_scope(self) -> None:
        """Switch between the conversations of this project and those of all projects."""
        self.load(everywhere=not self.shelf.is_everywhere)

    def load(self, *, everywhere: bool | None = None) -> None:
        """Load the list of conversations again.

        `everywhere` is True for all projects and False for this project. If it is None, the list
        has the same projects as before.
        """
        is_everywhere = self.shelf.is_everywhere if everywhere is None else everywhere
        self.shelf = PickerItems.everywhere() if is_everywhere else PickerItems.here()
        self._result = None
        self._show(keep=True)
        if self._typed.strip():
            self._search_messages()

    def action_leave(self) -> None:
        if self._field.value:
            self.type("")
        else:
            self.exit(None)

    @property
    def chosen(self) -> ConversationRow | None:
        return self.rows.chosen

    def type(self, text: str) -> None:
        """Replace the text of the input line, as if the user had typed it."""
        self._field.value = text

    def on_rows_opened(self) -> None:
        self.action_resume()

    def _handle_exception(self, error: Exception) -> None:
        """Close the picker after an unexpected error. The function `run` then raises the error."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.failure = self.failure or error
        self.exit(None)


def run(shelf: PickerItems) -> Chosen | None:
    """Show the picker until the user leaves, and return the user's choice.

    `shelf` has the conversations to list. Return None if the user chose nothing.
    """
    # Textual removes NO_COLOR from the environment, but the tool that starts next needs it.
    no_colour = os.environ.get("NO_COLOR")
    sys.setswitchinterval(_SWITCH_INTERVAL)
    picker = Picker(shelf)
    try:
        chosen = picker.run()
    finally:
        if no_colour is not None:
            os.environ["NO_COLOR"] = no_colour
        sys.stderr.flush()
    if picker.failure is not None:
        raise picker.failure
    return chosen
