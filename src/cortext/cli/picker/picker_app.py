"""The app of the picker: an input line, the list of conversations, and a preview beside it."""

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
from cortext.cli.picker import operations
from cortext.cli.picker.key_actions import Acting
from cortext.cli.picker.key_bindings import QUIT, hints
from cortext.cli.picker.picker_items import Chosen, PickerItems
from cortext.cli.picker.picker_style import CSS, NARROW
from cortext.cli.picker.preview_pane import Side
from cortext.cli.picker.widgets import Field, Item, Rows
from cortext.cli.picker.workers import FinderResult, Latest, PickerQuery, TextFinder
from cortext.model.safe_text import clean

LOOKING = "looking into what was said …"
_PAUSE = 0.15
"""Seconds after the last typed key until the messages are searched."""
_SWITCH = 0.001
"""Python's thread switch interval in seconds, short so that reading does not delay drawing."""


class Picker(Acting):
    """The picker app. Its result is the conversation to continue, or None."""

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
        self._said: FinderResult | None = None
        self._then = ""
        self.rows: Rows = Rows()
        self.side: Side = Side(self.from_thread, self._tell_failure)
        self._field = Field(placeholder="type to filter", compact=True, select_on_focus=False)
        self._field.cursor_blink = False
        self._scope, self._line = Static(id="scope", markup=False), Static(id="line", markup=False)
        contents = TextFinder(self._tell_reading, lambda: self._contents.is_closed)
        self._contents: Latest[PickerQuery, FinderResult] = Latest(
            contents.find, self._was_said, self._was_not_told
        )
        self._said_timer = None
        self._saying: str | None = None
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
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """Do the work that can wait until the list is on the screen."""
        self.shelf.get_ready()
        if told := self.shelf.read_on():
            self.say(told)

    def on_resize(self) -> None:
        self.set_class(self.size.width < NARROW, "narrow")
        self._saying = None
        self.say("")
        self.call_after_refresh(self.side.read)

    def on_unmount(self) -> None:
        self.side.close()
        self._contents.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self._field:
            self._catch_up()

    async def action_press(self, action: str) -> None:
        """Run the action of a key.

        Text that was typed before the key is applied to the list first.
        """
        self._then = ""
        self.say("")
        self._catch_up()
        await self.run_action(action)

    def _catch_up(self) -> None:
        """Filter the list by the text of the input line, if that has changed."""
        text = self._field.value
        if text == self._typed:
            return
        if text == "?":
            # No search begins with a question mark.
            self.type("")
            self.action_help()
            return
        self._typed, self._said, self._then = text, None, ""
        self.say("")
        self._show()
        if self._said_timer:
            self._said_timer.stop()
        if text.strip():
            self._said_timer = self.set_timer(_PAUSE, self._ask_contents)

    @property
    def _is_looking(self) -> bool:
        """Whether a search through the messages is running."""
        return self._said is None and bool(self._typed.strip())

    async def action_to_chosen(self, action: str) -> None:
        """Run an action on the chosen conversation.

        If nothing is chosen yet, wait for the search through the messages, and use its first
        result.
        """
        self._catch_up()
        if self.chosen is not None or not self._is_looking:
            await self.action_press(action)
            return
        self._then = action
        self.say(LOOKING)
        if self._said_timer:
            self._said_timer.stop()
        self._ask_contents()

    def _ask_contents(self) -> None:
        is_titled = bool(self.shelf.titled(self._typed))
        self._contents.ask(PickerQuery(self._typed, self.shelf, is_titled))

    def _was_said(self, asked: PickerQuery, said: FinderResult) -> None:
        async def show() -> None:
            if asked.text != self._typed or asked.shelf is not self.shelf:
                return
            self._said = said
            self._show(keep=True)
            action, self._then = self._then, ""
            if action:
                self.say("")
            # The user has not seen a partial match yet, so the action was not meant for it.
            if action and self.chosen is not None and not said.near:
                await self.run_action(action)

        self.from_thread(show)

    def _show(self, *, keep: bool = False) -> None:
        """Show the list of conversations that match the typed text.

        With `keep`, the chosen conversation stays chosen.
        """
        titled = self.shelf.titled(self._typed)
        said = self._said.below(titled) if self._said else ()
        items: Sequence[Item] = [*titled, *said] if said else titled
        chosen = self.rows.chosen if keep else None
        self.rows.words = self._typed.casefold().split()
        self.rows.with_folders = self.shelf.is_everywhere
        self.rows.note = () if items else self._why_empty()
        self.rows.put(items, chosen.identity if chosen else None)
        shown = len(titled) + sum(isinstance(item, ConversationRow) for item in said)
        self._scope.update(self._told_scope(shown), layout=False)

    def _why_empty(self) -> Sequence[str]:
        if self._is_looking:
            return (LOOKING,)
        if self._said:
            return self._said.instead
        return self.shelf.why_empty()

    def _told_scope(self, shown: int) -> Text:
        of = len(self.shelf.rows)
        more = "+" if self._said and self._said.more else ""
        count = f"{of:,}" if shown == of else f"{shown:,}{more} of {of:,}"
        name = os.path.basename(self.shelf.folder) or self.shelf.folder
        where = "everywhere" if self.shelf.is_everywhere else clean(name, lines=False)
        other = "this project" if self.shelf.is_everywhere else "all"
        return Text.assemble(
            f"{count} ", (where, "bold"), ("   Tab ", "dim"), (other, "dim"), overflow="ellipsis"
        )

    def say(self, text: str) -> None:
        """Show a sentence at the bottom of the screen; "" shows the key hints again."""
        help = "F1" if self._typed else "?"  # after other characters, `?` is part of the search
        if (text or help) == self._saying:
            return
        self._saying = text or help
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
        found = self._said.found if self._said and row else ()
        numbers = (one.number for one in found if row and one.row.identity == row.identity)
        self.side.put(row, self._typed.strip(), next(numbers, 0))

    def _tell_failure(self, error: Exception) -> None:
        self.from_thread(lambda: self.say(operations.told(error)))

    def _was_not_told(self, error: Exception) -> None:
        """Handle a failed search through the messages: stop waiting for it, and show the error."""

        def show() -> None:
            self._said, self._then = FinderResult(), ""
            self._show(keep=True)

        self.from_thread(show)
        self._tell_failure(error)

    def _tell_reading(self, text: str) -> None:
        self.from_thread(lambda: self.say(text))

    def action_move(self, by: int) -> None:
        self.rows.move(by)

    def action_page(self, by: int) -> None:
        self.rows.move(by * max(self.rows.size.height - 1, 1))

    def action_turn(self, by: int) -> None:
        self.side.turn(by)

    def action_next_match(self) -> None:
        self.side.next_place()

    def action_scope(self) -> None:
        """Switch between the conversations of this project and those of all projects."""
        self.load(everywhere=not self.shelf.is_everywhere)

    def load(self, *, everywhere: bool | None = None) -> None:
        """Read the list of conversations again, of all projects or of this one.

        None keeps the choice.
        """
        wanted = self.shelf.is_everywhere if everywhere is None else everywhere
        self.shelf = PickerItems.everywhere() if wanted else PickerItems.here()
        self._said = None
        self._show(keep=True)
        if self._typed.strip():
            self._ask_contents()

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
    """Show the picker until the user leaves. Return the choice, or None if nothing was chosen."""
    # Textual removes NO_COLOR from the environment, but the tool that starts next needs it.
    no_colour = os.environ.get("NO_COLOR")
    sys.setswitchinterval(_SWITCH)
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
