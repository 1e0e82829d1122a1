"""The actions that the keys of the picker run on the chosen conversation."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from threading import Thread

from textual.app import App

from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.cli.picker.dialogs import ChoiceDialog, Help, LineDialog
from cortext.cli.picker.picker_items import Chosen, is_spawned
from cortext.cli.picker.row_format import name_of
from cortext.durability.trash_folder import TrashEntry
from cortext.errors import CortextError
from cortext.tools.launch_plans import installed

_IMPORT_NOTE = "cortext imports this session first. The original session does not change."


def error_text(error: Exception) -> str:
    """Return the message of an error with its hint, as one sentence for the user."""
    if not isinstance(error, (CortextError, OSError)):
        return f"unexpected error: {type(error).__name__}: {error}"
    hint = getattr(error, "hint", "")
    return f"{error}; {hint}" if hint else str(error)


class PickerActions(App[Chosen | None]):
    """The base class of the picker app. It has the actions on the chosen conversation.

    Actions that change a conversation run in a thread. After such an action, the app loads the list
    of conversations again.
    """

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self._trash: list[TrashEntry] = []

    @property
    def chosen(self) -> ConversationRow | None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Show a sentence at the bottom of the screen. "" shows the hints about keys again."""
        raise NotImplementedError

    def load(self, *, everywhere: bool | None = None) -> None:
        """Load the list of conversations again.

        `everywhere` is True for all projects and False for this project. If it is None, the list
        has the same projects as before.
        """
        raise NotImplementedError

    def from_thread(self, work: Callable[[], object]) -> None:
        """Run `work` later in the app's own thread, if the app still runs.

        Any thread may call this method.
        """
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.call_later, work)

    def action_resume(self) -> None:
        if self.chosen is not None:
            self.exit(Chosen(self.chosen))

    def action_fork(self) -> None:
        row = self.chosen
        if row is not None and is_spawned(row):
            self.say(
                "A `cortext spawn` session cannot be forked. Enter resumes it; ^T chooses a tool."
            )
        elif row is not None:
            self.exit(Chosen(row, fork=True))

    def action_resume_in(self) -> None:
        row, tools = self.chosen, installed()
        if row is None:
            return
        if not tools:
            self.say("No supported AI tool is installed.")
            return

        def resume_in(tool: str | None) -> None:
            if tool:
                self.exit(Chosen(row, tool=tool))

        self.push_screen(ChoiceDialog(f"Resume {name_of(row)} in:", tools), resume_in)

    def action_rename(self) -> None:
        from cortext.cli.picker import picker_operations

        self._ask("Title", lambda row: row.title, picker_operations.rename, _IMPORT_NOTE)

    def action_tag(self) -> None:
        from cortext.cli.picker import picker_operations

        question = "Tags, separated by spaces"
        self._ask(question, lambda row: " ".join(row.tags), picker_operations.tag, _IMPORT_NOTE)

    def action_export(self) -> None:
        from cortext.cli.picker import picker_operations

        def suggest_file(row: ConversationRow) -> str:
            return os.path.join(os.curdir, f"{row.id[:40]}.md")

        self._ask(
            "Export to this file (.md, .html, .json or .jsonl)",
            suggest_file,
            picker_operations.export,
        )

    def action_stop(self) -> None:
        self._stop(completed=False)

    def action_done(self) -> None:
        self._stop(completed=True)

    def _stop(self, *, completed: bool) -> None:
        from cortext.cli.picker import picker_operations

        if self.chosen is not None:
            self._run_in_thread(partial(picker_operations.stop, self.chosen, completed=completed))

    def action_delete(self) -> None:
        from cortext.cli.picker import picker_operations

        row = self.chosen
        if row is None:
            return
        if row.tool == DOCUMENT and not row.is_log:
            self.say(error_text(picker_operations.cannot_delete_error(row)))
            return

        def delete_if_yes(answer: str | None) -> None:
            if answer == "yes":
                self._run_in_thread(partial(self._delete, row))

        note = "^Z or `cortext trash restore` restores it."
        if row.tool and not row.is_standalone:
            note = "Only cortext's copy is moved. The tool's own session does not change."
        question = f"Move {name_of(row)} to the trash?"
        self.push_screen(ChoiceDialog(question, ("yes", "no"), note), delete_if_yes)

    def _delete(self, row: ConversationRow) -> str:
        from cortext.cli.picker import picker_operations

        sentence, entry = picker_operations.delete(row)
        if entry is None:
            return sentence
        self._trash.append(entry)
        return f"{sentence}; ^Z restores it"

    def action_undo(self) -> None:
        from cortext.cli.picker import picker_operations

        if not self._trash:
            self.say("Nothing to restore. `cortext trash` lists earlier deletions.")
            return
        self._run_in_thread(partial(picker_operations.undo, self._trash.pop()))

    def action_help(self) -> None:
        self.push_screen(Help())

    def _ask(
        self,
        question: str,
        value: Callable[[ConversationRow], str],
        work: Callable[[ConversationRow, str], str],
        note: str = "",
    ) -> None:
        """Ask the user for a text, and run `work` with the chosen conversation and this text.

        Do nothing if no conversation is chosen. `value` returns the text that the dialog shows
        first. `work` returns a sentence for the user. The dialog shows `note` only for a session
        that is not a conversation of a workspace yet.
        """
        row = self.chosen
        if row is None:
            return

        def run_work(text: str | None) -> None:
            if text is not None:
                self._run_in_thread(partial(work, row, text))

        self.push_screen(LineDialog(question, value(row), note if row.tool else ""), run_work)

    def _run_in_thread(self, work: Callable[[], str]) -> None:
        """Run `work` in a thread, then load the list again.

        Show the sentence that `work` returns, or the message of its error.
        """
        self.say("…")

        def run() -> None:
            try:
                sentence = work()
            except Exception as error:  # noqa: BLE001  every error becomes a sentence on the screen
                sentence = error_text(error)
            self.from_thread(partial(self._show_outcome, sentence))

        # This is not a daemon thread, so that the program waits until the write is complete.
        Thread(target=run).start()

    def _show_outcome(self, sentence: str) -> None:
        self.load()
        self.say(sentence)
