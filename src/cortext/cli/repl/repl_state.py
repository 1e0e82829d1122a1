"""The state of the REPL, and functions that print messages."""

from __future__ import annotations

import sys
from datetime import datetime
from shlex import quote

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.cli.error_output import report
from cortext.cli.repl.termination_signals import Signals
from cortext.cli.terminal_text import clean, say
from cortext.errors import CortextError, SessionStorageError
from cortext.features.spawn.agent_definitions import Agent
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.run_agent import Runner


class Repl:
    """The state of a running REPL, which has one open session at a time."""

    def __init__(
        self,
        session: SpawnSession,
        runner: Runner,
        agent: Agent,
        settings: SpawnSettings,
        cwd: str,
        signals: Signals,
    ) -> None:
        self.session = session
        self.runner = runner
        self.agent = agent
        self.settings = settings
        self.cwd = cwd
        self.signals = signals
        self.typed_at: datetime = clock.now()
        """The time at which the user entered the current line."""
        self.named_tool = ""
        """The tool or command that the user named on the command line, or ""."""
        self.unanswered: tuple[str, str] | None = None
        """The last message if it has no answer yet, together with an id; None otherwise. The id is
        the id of the earlier turn that this message sends again, or ""."""
        self.warned: bool = False
        """True if the user was warned that leaving now loses unsaved turns."""
        self.failed = False
        self.over = False
        self.listed: list[ConversationRow] = []
        """The sessions that `/resume` listed last, so that the user can choose one by number."""

    @property
    def tool_words(self) -> str:
        """The text ` --tool NAME` for a printed command line, or "" if the user named no tool."""
        return f" --tool {quote(self.named_tool)}" if self.named_tool else ""

    def save_again(self) -> bool:
        """Try again to save the turns that could not be saved.

        Return whether everything is saved now.
        """
        if not self.session.waiting:
            return True
        try:
            with self.signals.hold():
                self.session.take_in([])
        except SessionStorageError as error:
            self.tell_unsaved(error)
        if self.session.waiting:
            return False
        tell("All turns are saved now.")
        self.warned = False
        return True

    def tell_unsaved(self, error: SessionStorageError) -> None:
        """Print the error of a failed save, and the number of unsaved exchanges.

        An exchange is a message of the user and its answer.
        """
        tell_error(error)
        count = sum(turn.role == "user" for turn in self.session.waiting)
        if self.session.waiting:
            what = "exchange is" if count == 1 else "exchanges are"
            tell(f"{count} {what} not saved yet. The next message tries again.")

    def tell_notes(self) -> None:
        """Print the notes that the session collected about its file, and clear them."""
        notes, self.session.notes = self.session.notes, []
        for note in notes:
            tell(f"note: {note}")


def is_interactive() -> bool:
    """Return whether a person types the input: stdin is a terminal, and not a file or a pipe."""
    return sys.stdin.isatty()


def tell(text: str) -> None:
    """Print one line for the user on stderr."""
    sys.stdout.flush()
    say(clean(text, lines=False))


def tell_error(error: CortextError) -> None:
    """Print an error and its hint, in the form that all commands use."""
    sys.stdout.flush()
    report(error)
