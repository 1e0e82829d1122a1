"""The main loop of the REPL: read a line, then send it to the agent or run it as a command."""

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
    """Run the REPL until the user leaves, and return the exit code.

    The session is closed when this function returns or raises. Its status is completed if the user
    left on purpose, and interrupted otherwise. `tool` is the tool or command that the user named,
    or "".
    """
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
            # A closed terminal causes more errors than the signal; only the signal matters.
            if signals.ended is None:
                raise
            return 128 + signals.ended.number


def _break_off(repl: Repl) -> None:
    """Close the session after an error or a signal.

    The session is marked as interrupted, unless the user had already left. An error is only logged,
    because an unclosed session counts as interrupted anyway.
    """
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
            # A second Ctrl+C came while the first one was reported.
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
    """Handle what the user typed: a message or a slash command. None is the end of the input."""
    if text is None:
        repl.over = True
    elif is_command(text):
        run_command(repl, text.strip())
    elif has_person() and text.strip() in ("exit", "quit"):
        tell(_HOW_TO_LEAVE)
    elif text.strip():
        ask(repl, as_text(text))
    if repl.over:
        repl.over = False  # in case a Ctrl+C comes before `_may_leave` returns
        repl.over = _may_leave(repl)


def _may_leave(repl: Repl) -> bool:
    """Return whether the REPL may end now.

    The REPL may end if all turns are saved. Otherwise the user is warned once, and may leave with
    the next try.
    """
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
    # A person has seen the error at the prompt; a script has only the exit code.
    return 1 if lost or (repl.failed and not has_person()) else 0
