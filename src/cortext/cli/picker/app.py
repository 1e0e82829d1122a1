"""The picker itself: a line to type into, the list, the page beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key as KeyEvent
from textual.widgets import Input, Static

from cortext import clock
from cortext.cli.picker import doing, pages
from cortext.cli.picker.actions import Acting
from cortext.cli.picker.background import Asked, Contents, Latest
from cortext.cli.picker.keys import KEYS, hints
from cortext.cli.picker.rows import facts
from cortext.cli.picker.shelf import Chosen, Found, Shelf
from cortext.cli.picker.style import CSS, NARROW
from cortext.cli.picker.widgets import Field, Item, Preview, Rows
from cortext.index.listed import Listed
from cortext.model.text import clean

SAID = "said in these"
_PAUSE = 0.15
"""Seconds without a key before it is looked for in what was said."""
_SOON = 0.06
"""Seconds without a move before a page is read."""
_SWITCH = 0.001
"""Seconds that a thread which reads may hold up the one that draws."""


class Picker(Acting):
    """Shows a shelf; its result is what to go on with, or None."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False
    TITLE = "cortext"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.key, key.action, key.said, show=False, priority=True) for key in KEYS
    ]

    def __init__(self, shelf: Shelf) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.shelf = shelf
        self._typed = ""
        self._said: list[Found] = []
        self.rows, self._preview = Rows(), Preview()
        self._field = Field(placeholder="type to filter", compact=True, select_on_focus=False)
        self._field.cursor_blink = False
        self._scope, self._line = Static(id="scope", markup=False), Static(id="line", markup=False)
        self._facts = Static(id="facts", markup=False)
        self._pages = Latest(pages.make, self._page_made, self._tell_failure)
        contents = Contents(self._tell_reading, lambda: self._contents.is_closed)
        self._contents: Latest[Asked, list[Found]] = Latest(
            contents.find, self._was_said, self._tell_failure
        )
        self._page_timer = self._said_timer = None
        self._is_saying: bool | None = None
        self.failure: Exception | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("❯", id="prompt", markup=False)
            yield self._field
            yield self._scope
        with Horizontal(id="body"):
            yield self.rows
            with Vertical(id="side"):
                yield self._facts
                yield self._preview
        yield self._line

    def on_mount(self) -> None:
        self._field.focus()
        self.set_class(self.size.width < NARROW, "narrow")
        self._show()
        self.say("")
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """What has time until the list is on the screen."""
        self.shelf.get_ready()
        if told := self.shelf.read_on():
            self.say(told)

    def on_resize(self) -> None:
        self.set_class(self.size.width < NARROW, "narrow")
        self._is_saying = None
        self.say("")
        self.call_after_refresh(self._read_page)

    def on_unmount(self) -> None:
        self._pages.close()
        self._contents.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is not self._field:
            return
        if event.value == "?":
            # Nothing that is looked for begins with it.
            self.type("")
            self.action_help()
            return
        self._typed, self._said = event.value, []
        self.say("")
        self._show()
        if self._said_timer:
            self._said_timer.stop()
        if event.value.strip():
            self._said_timer = self.set_timer(_PAUSE, self._ask_contents)

    def on_key(self, event: KeyEvent) -> None:
        self.say("")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are the picker's while nothing is asked."""
        return len(self.screen_stack) == 1

    def _ask_contents(self) -> None:
        self._contents.ask(Asked(self._typed, self.shelf))

    def _was_said(self, asked: Asked, found: list[Found]) -> None:
        def show() -> None:
            if asked.text == self._typed and asked.shelf is self.shelf:
                self._said = found
                self._show(keep=True)

        self.from_thread(show)

    def _show(self, *, keep: bool = False) -> None:
        """The list, for what was typed. `keep`: what is chosen stays so."""
        titled = self.shelf.titled(self._typed)
        items: Sequence[Item] = titled
        if self._said:
            known = {row.identity for row in titled}
            said = [found.row for found in self._said if found.row.identity not in known]
            items = [*titled, SAID, *said] if said else titled
        chosen = self.rows.chosen if keep else None
        self.rows.words = self._typed.casefold().split()
        self.rows.with_folders = self.shelf.is_everywhere
        self.rows.put(items, chosen.identity if chosen else None)
        shown = len(items) - (len(items) > len(titled))
        self._scope.update(self._told_scope(shown), layout=False)

    def _told_scope(self, shown: int) -> Text:
        of = len(self.shelf.rows)
        count = f"{of:,}" if shown == of else f"{shown:,} of {of:,}"
        name = os.path.basename(self.shelf.folder) or self.shelf.folder
        where = "everywhere" if self.shelf.is_everywhere else clean(name, lines=False)
        other = "this project" if self.shelf.is_everywhere else "all"
        return Text.assemble(
            f"{count} ", (where, "bold"), ("   Tab ", "dim"), (other, "dim"), overflow="ellipsis"
        )

    def say(self, text: str) -> None:
        """A sentence on the last line; "" for the keys."""
        if text:
            self._line.update(Text(clean(text, lines=False), style="bold", overflow="ellipsis"))
            return
        parts = [
            Text.assemble((key, "bold"), (f" {what}", "dim"))
            for key, what in hints(self.size.width)
        ]
        self._line.update(Text("  ").join(parts))

    def on_rows_moved(self) -> None:
        """Nothing else is drawn at once: a page takes longer than a key."""
        if self._page_timer:
            self._page_timer.stop()
        self._page_timer = self.set_timer(_SOON, self._show_page)

    def _show_page(self) -> None:
        row = self.rows.chosen
        if row is None:
            nothing = "nothing has these words" if self._typed.strip() else "no conversations"
            self._facts.update(Text(nothing, style="dim"))
            self._preview.put(pages.Page((), (), from_end=False))
            return
        told = facts(row, clock.now().timestamp())
        lines = [Text(row.title or "(no title)", style="bold"), Text(told, style="dim")]
        if row.summary:
            lines.append(Text(row.summary, style="italic"))
        self._facts.update(Text("\n").join(lines))
        self._read_page()

    def _read_page(self) -> None:
        row, width = self.rows.chosen, self._preview.size.width
        if row is not None and width > 1:
            self._pages.ask(pages.Wanted(row, width - 1, self._typed.strip(), self._number(row)))

    def _number(self, row: Listed) -> int:
        """The message in which it was said, if that is known."""
        found = (one.number for one in self._said if one.row.identity == row.identity)
        return next(found, 0)

    def _page_made(self, wanted: pages.Wanted, page: pages.Page) -> None:
        def show() -> None:
            chosen = self.rows.chosen
            if chosen is not None and chosen.identity == wanted.row.identity:
                self._preview.put(page)

        self.from_thread(show)

    def _tell_failure(self, error: Exception) -> None:
        self.from_thread(lambda: self.say(doing.told(error)))

    def _tell_reading(self, text: str) -> None:
        self.from_thread(lambda: self.say(text))

    def action_move(self, by: int) -> None:
        self.rows.move(by)

    def action_page(self, by: int) -> None:
        self.rows.move(by * max(self.rows.size.height - 1, 1))

    def action_turn(self, by: int) -> None:
        self._preview.turn(by * max(self._preview.size.height // 2, 1))

    def action_next_match(self) -> None:
        self._preview.next_match()

    def action_scope(self) -> None:
        """This project, or all."""
        self.load(everywhere=not self.shelf.is_everywhere)

    def load(self, *, everywhere: bool | None = None) -> None:
        """List anew."""
        wanted = self.shelf.is_everywhere if everywhere is None else everywhere
        self.shelf = Shelf.everywhere() if wanted else Shelf.here()
        self._said = []
        self._show(keep=True)
        if self._typed.strip():
            self._ask_contents()

    def action_leave(self) -> None:
        if self._field.value:
            self.type("")
        else:
            self.exit(None)

    @property
    def chosen(self) -> Listed | None:
        return self.rows.chosen

    def type(self, text: str) -> None:
        """As if a person had typed it, and nothing else."""
        self._field.value = text

    def on_rows_opened(self) -> None:
        self.action_resume()

    def _handle_exception(self, error: Exception) -> None:
        """What nobody thought of ends the picker, and is reported as with any command."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.failure = self.failure or error
        self.exit(None)


def run(shelf: Shelf) -> Chosen | None:
    """Show the picker until something is chosen, or nothing."""
    # Textual takes it out of the environment, and the tool is to have it.
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
