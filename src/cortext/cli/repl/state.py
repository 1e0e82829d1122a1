"""What a REPL is about: the session that is open, who answers in it, and how they are told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cortext.cli.repl.signals import Signals
from cortext.cli.text import clean, say
from cortext.errors import CortextError, SessionStorageError

if TYPE_CHECKING:
    from cortext.app.spawn.agents import Agent
    from cortext.app.spawn.running import Runner
    from cortext.app.spawn.sessions import Spawned
    from cortext.app.spawn.settings import SpawnSettings
    from cortext.index.listed import Listed


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
        self.session, self.runner, self.agent = session, runner, agent
        self.settings, self.cwd, self.signals = settings, cwd, signals
        self.unsaved: list[tuple[str, str]] = []
        """Exchanges that wait for a disk that takes them: what was asked, and the answer."""
        self.warned = False
        """Whether the person knows that leaving now would lose them."""
        self.failed = False
        self.over = False
        self.listed: list[Listed] = []
        """What the last list showed, by number."""

    def save_again(self) -> bool:
        """Try once more what could not be saved; whether nothing is left to save."""
        if not self.unsaved:
            return True
        try:
            with self.signals.hold():
                self.session.take_in([])
        except SessionStorageError as error:
            self.tell_unsaved(error)
            return False
        tell("What could not be saved before is saved now.")
        self.saved()
        return True

    def saved(self) -> None:
        self.unsaved.clear()
        self.warned = False

    def tell_unsaved(self, error: SessionStorageError) -> None:
        tell_error(error)
        what = "exchange is" if len(self.unsaved) == 1 else "exchanges are"
        tell(f"{len(self.unsaved)} {what} not saved; that is tried again with the next one.")


def has_person() -> bool:
    """Whether somebody types, and can be told what to do next."""
    return sys.stdin.isatty()


def tell(text: str) -> None:
    """Talk, for the person: one line."""
    sys.stdout.flush()
    say(clean(text, lines=False))


def tell_error(error: CortextError) -> None:
    """What went wrong and what can be done, as any command says it."""
    from cortext.cli.errors import report

    sys.stdout.flush()
    report(error)
