"""The actions that the keys of the picker run on the chosen conversation."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from threading import Thread

from textual.app import App

from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.cli.picker import operations
from cortext.cli.picker.dialogs import ChoiceDialog, Help, LineDialog
from cortext.cli.picker.picker_items import Chosen, is_spawned
from cortext.durability.trash_folder import TrashEntry
from cortext.tools.launch import installed

_KEPT = "It becomes a conversation of yours, as with `cortext import`; what is there stays."


class Acting(App[Chosen | None]):
    """The base class of the picker app, with the actions on the chosen conversation.

    Actions that change a conversation run in a thread. Then the app lists the conversations again.
    """

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self._trash: list[TrashEntry] = []

    @property
    def chosen(self) -> ConversationRow | None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Show a sentence at the bottom of the screen; "" shows the key hints again."""
        raise NotImplementedError

    def load(self, *, everywhere: bool | None = None) -> None:
        """Read the list of conversations again.

        `everywhere` chooses all projects or only this one; None keeps the current choice.
        """
        raise NotImplementedError

    def from_thread(self, work: Callable[[], object]) -> None:
        """Schedule `work` in the app's thread, if the app still runs. Any thread may call this."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.call_later, work)

    def action_resume(self) -> None:
        if self.chosen is not None:
            self.exit(Chosen(self.chosen))

    def action_fork(self) -> None:
        row = self.chosen
        if row is not None and is_spawned(row):
            self.say("Enter goes on with it in `cortext spawn`, ^T in a tool")
        elif row is not None:
            self.exit(Chosen(row, fork=True))

    def action_resume_in(self) -> None:
        row, among = self.chosen, installed()
        if row is None:
            return
        if not among:
            self.say("no AI tool is installed here")
            return

        def answered(tool: str | None) -> None:
            if tool:
                self.exit(Chosen(row, tool=tool))

        self.push_screen(ChoiceDialog(f"Go on with {operations.name_of(row)} in", among), answered)

    def action_rename(self) -> None:
        self._ask("Its title", lambda row: row.title, operations.rename, _KEPT)

    def action_tag(self) -> None:
        question = "Its tags, with spaces between them"
        self._ask(question, lambda row: " ".join(row.tags), operations.tag, _KEPT)

    def action_export(self) -> None:
        def suggested(row: ConversationRow) -> str:
            return os.path.join(os.curdir, f"{row.id[:40]}.md")

        self._ask("Write it to (.md, .html, .json or .jsonl)", suggested, operations.export)

    def action_stop(self) -> None:
        self._stop(completed=False)

    def action_done(self) -> None:
        self._stop(completed=True)

    def _stop(self, *, completed: bool) -> None:
        if self.chosen is not None:
            self._do(partial(operations.stop, self.chosen, completed=completed))

    def action_delete(self) -> None:
        row = self.chosen
        if row is None:
            return
        if row.tool == DOCUMENT and not row.is_log:
            self.say(operations.told(operations.not_deleted(row)))
            return

        def answered(said: str | None) -> None:
            if said == "yes":
                self._do(partial(self._delete, row))

        note = "it can be brought back with ^Z, or from `cortext trash`"
        if row.tool and not row.is_standalone:
            note = "only our copy: what the tool keeps is not touched"
        question = f"Move {operations.name_of(row)} to the trash?"
        self.push_screen(ChoiceDialog(question, ("yes", "no"), note), answered)

    def _delete(self, row: ConversationRow) -> str:
        said, entry = operations.delete(row)
        if entry is None:
            return said
        self._trash.append(entry)
        return f"^Z brings it back: {said}"

    def action_undo(self) -> None:
        if not self._trash:
            self.say("nothing was deleted here; `cortext trash` has what was before")
            return
        self._do(partial(operations.undo, self._trash.pop()))

    def action_help(self) -> None:
        self.push_screen(Help())

    def _ask(
        self,
        question: str,
        value: Callable[[ConversationRow], str],
        work: Callable[[ConversationRow, str], str],
        note: str = "",
    ) -> None:
        """Ask the user for a line of text about the chosen conversation.

        `work` is called with the conversation and the text. `value` returns the initial text.
        `note` is shown only for a session that is not a conversation of a workspace yet.
        """
        row = self.chosen
        if row is None:
            return

        def answered(text: str | None) -> None:
            if text is not None:
                self._do(partial(work, row, text))

        self.push_screen(LineDialog(question, value(row), note if row.tool else ""), answered)

    def _do(self, work: Callable[[], str]) -> None:
        """Run `work` in a thread, and show the sentence that it returns.

        Then list the conversations again.
        """
        self.say("…")

        def run() -> None:
            try:
                said = work()
            except Exception as error:  # noqa: BLE001  every error becomes a sentence on the screen
                said = operations.told(error)
            self.from_thread(partial(self._done, said))

        # Not a daemon thread, so that leaving the picker waits until the write is complete.
        Thread(target=run).start()

    def _done(self, said: str) -> None:
        self.load()
        self.say(said)
