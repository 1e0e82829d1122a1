"""The REPL of `aur spawn`: a prompt, what is typed there, and the answer."""

from __future__ import annotations

from cortext import clock
from cortext.cli.repl.agent_turn import ask
from cortext.cli.repl.end_signals import Signals
from cortext.cli.repl.prompt_input import Reader, open_reader
from cortext.cli.repl.repl_commands import as_text, banner, is_command, run_command, typed_names
from cortext.cli.repl.repl_state import Repl, has_person, tell, tell_error
from cortext.cli.terminal_text import spawn
from cortext.errors import CortextError
from cortext.features.errors_log import write_error
from cortext.features.spawn.agents import Agent
from cortext.features.spawn.run_agent import Runner
from cortext.features.spawn.spawn_sessions import Spawned
from cortext.features.spawn.spawn_settings import SpawnSettings

_HOW_TO_LEAVE = "/exit or Ctrl+D leaves."


def run(
    session: Spawned,
    runner: Runner,
    agent: Agent,
    settings: SpawnSettings,
    cwd: str,
    tool: str = "",
) -> int:
    """Talk until the person ends it; the exit code. Ended on purpose the session is completed,
    else it is interrupted. It is closed when this returns or raises. `tool` is what the person
    asked for by name."""
    with Signals() as signals:
        repl = Repl(session, runner, agent, settings, cwd, signals)
        repl.asked_tool = tool
        try:
            banner(repl)
            _talk(repl, open_reader(repl, typed_names()))
            with signals.hold(interrupts=False):
                return _end(repl)
        except BaseException:
            _break_off(repl)
            # A terminal that has gone makes more errors than the signal that says so.
            if signals.ended is None:
                raise
            return 128 + signals.ended.number


def _break_off(repl: Repl) -> None:
    """Close it as interrupted, unless it was to end. It would be seen as that in any case: where
    it fails there is no need to say so, and with a terminal that has gone nobody to say it to."""
    try:
        repl.session.close(completed=repl.over and not repl.session.waiting)
    except CortextError as error:
        write_error("aur spawn", error)


def _talk(repl: Repl, reader: Reader) -> None:
    person = has_person()
    while not repl.over:
        try:
            _once(repl, reader)
        except KeyboardInterrupt:
            # The second one, while the first was told.
            if not person:
                raise


def _once(repl: Repl, reader: Reader) -> None:
    stopped = _HOW_TO_LEAVE
    try:
        text = reader.read(repl.session.agent)
        repl.typed_at = clock.now()
        stopped = "Interrupted. Returning to prompt."
        _take(repl, text)
        repl.tell_notes()
    except KeyboardInterrupt:
        if not has_person():
            raise
        tell(stopped)
    except CortextError as error:
        repl.failed = True
        tell_error(error)


def _take(repl: Repl, text: str | None) -> None:
    """A message, a command, or nothing more."""
    if text is None:
        repl.over = True
    elif is_command(text):
        run_command(repl, text.strip())
    elif has_person() and text.strip() in ("exit", "quit"):
        tell(_HOW_TO_LEAVE)
    elif text.strip():
        ask(repl, as_text(text))
    if repl.over:
        repl.over = False  # a Ctrl+C may come before it is known
        repl.over = _may_leave(repl)


def _may_leave(repl: Repl) -> bool:
    """Whether nothing is lost by it; a person who was told so may leave nevertheless."""
    if repl.save_again() or repl.warned or not has_person():
        return True
    repl.warned = True
    tell("/save FILE writes the conversation elsewhere; /exit again leaves without saving.")
    return False


def _end(repl: Repl) -> int:
    session, lost = repl.session, bool(repl.session.waiting)
    session.close(completed=not lost)
    repl.tell_notes()
    tell(f"Session {session.id} is saved in {session.path}")
    again = f"{spawn()} --resume {session.id}{repl.tool_words}"
    tell(f"`{again}` goes on with it.")
    # At a prompt the person has seen what failed; a script has only the code.
    return 1 if lost or (repl.failed and not has_person()) else 0
