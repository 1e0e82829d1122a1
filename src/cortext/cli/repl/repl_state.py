"""What a REPL is about: the session that is open, who answers in it, and how they are told."""

from __future__ import annotations

import sys
from datetime import datetime
from shlex import quote

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.cli.error_output import report
from cortext.cli.repl.end_signals import Signals
from cortext.cli.terminal_text import clean, say
from cortext.errors import CortextError, SessionStorageError
from cortext.features.spawn.agents import Agent
from cortext.features.spawn.run_agent import Runner
from cortext.features.spawn.spawn_sessions import Spawned
from cortext.features.spawn.spawn_settings import SpawnSettings


class Repl:
    """One person, or one script, in one session after the other."""

    def __init__(
        self,
        session: Spawned,
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
        """When Enter was pressed on the line that is handled now."""
        self.asked_tool = ""
        """What the person named to answer, a tool or a command; "" if nothing."""
        self.unanswered: tuple[str, str] | None = None
        """What was asked last, if its answer was not had, and the id of the turn it asks again."""
        self.warned: bool = False
        """Whether the person knows that leaving now would lose them."""
        self.failed = False
        self.over = False
        self.listed: list[ConversationRow] = []
        """What the last list showed, by number."""

    @property
    def tool_words(self) -> str:
        """The words that name the tool again, where a person named it."""
        return f" --tool {quote(self.asked_tool)}" if self.asked_tool else ""

    def save_again(self) -> bool:
        """Try once more what could not be saved; whether nothing is left to save."""
        if not self.session.waiting:
            return True
        try:
            with self.signals.hold():
                self.session.take_in([])
        except SessionStorageError as error:
            self.tell_unsaved(error)
        if self.session.waiting:
            return False
        tell("What could not be saved before is saved now.")
        self.warned = False
        return True

    def tell_unsaved(self, error: SessionStorageError) -> None:
        """What failed, and what waits for a disk that takes it."""
        tell_error(error)
        count = sum(turn.role == "user" for turn in self.session.waiting)
        if self.session.waiting:
            what = "exchange is" if count == 1 else "exchanges are"
            tell(f"{count} {what} not saved; that is tried again with the next one.")

    def tell_notes(self) -> None:
        """What the session has to say of its file, once."""
        notes, self.session.notes = self.session.notes, []
        for note in notes:
            tell(f"note: {note}")


def has_person() -> bool:
    """Whether somebody types, and can be told what to do next."""
    return sys.stdin.isatty()


def tell(text: str) -> None:
    """Talk, for the person: one line."""
    sys.stdout.flush()
    say(clean(text, lines=False))


def tell_error(error: CortextError) -> None:
    """What went wrong and what can be done, as any command says it."""
    sys.stdout.flush()
    report(error)
