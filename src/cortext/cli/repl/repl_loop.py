"""The main loop of the REPL: read a line, then send it to the agent or run it as a command."""

from __future__ import annotations

from cortext import clock
from cortext.cli.repl.agent_turn import ask
from cortext.cli.repl.prompt_input import Reader, open_reader
from cortext.cli.repl.repl_commands import (
    as_text,
    banner,
    is_command,
    run_command,
    visible_command_names,
)
from cortext.cli.repl.repl_state import Repl, is_interactive, tell, tell_error
from cortext.cli.repl.termination_signals import Signals
from cortext.cli.terminal_text import spawn
from cortext.errors import CortextError
from cortext.features.errors_log import write_error
from cortext.features.spawn.agent_definitions import Agent
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.run_agent import Runner

_HOW_TO_LEAVE = "/exit or Ctrl+D leaves."


def run(
    session: SpawnSession,
    runner: Runner,
    agent: Agent,
    settings: SpawnSettings,
    cwd: str,
    tool: str = "",
) -> int:
    """Run the REPL (the interactive prompt) until the user leaves, and return the exit code.

    Close the session in every case. The session gets the status `completed` if the user left on
    purpose, and the status `interrupted` otherwise. `runner` is the tool or command that answers.
    `tool` is the tool or command that the user named, or "".
    """
    with Signals() as signals:
        repl = Repl(session, runner, agent, settings, cwd, signals)
        repl.named_tool = tool
        try:
            banner(repl)
            _loop(repl, open_reader(repl, visible_command_names()))
            with signals.hold(interrupts=False):
                return _close_session(repl)
        except BaseException:
            _close_interrupted(repl)
            # A closed terminal causes more errors than the signal; only the signal matters.
            if signals.ended is None:
                raise
            return 128 + signals.ended.number


def _close_interrupted(repl: Repl) -> None:
    """Close the session after an error or a signal.

    Mark the session as interrupted, unless the user had already left and all turns are saved. If
    closing fails, only log the error, because an unclosed session also counts as interrupted.
    """
    try:
        repl.session.close(completed=repl.over and not repl.session.waiting)
    except CortextError as error:
        write_error("aur spawn", error)


def _loop(repl: Repl, reader: Reader) -> None:
    interactive = is_interactive()
    while not repl.over:
        try:
            _handle_next_line(repl, reader)
        except KeyboardInterrupt:
            # The user pressed Ctrl+C again while the first Ctrl+C was handled.
            if not interactive:
                raise


def _handle_next_line(repl: Repl, reader: Reader) -> None:
    interrupt_note = _HOW_TO_LEAVE
    try:
        text = reader.read(repl.session.agent)
        repl.typed_at = clock.now()
        interrupt_note = "Interrupted. Returning to prompt."
        _handle_input(repl, text)
        repl.tell_notes()
    except KeyboardInterrupt:
        if not is_interactive():
            raise
        tell(interrupt_note)
    except CortextError as error:
        repl.failed = True
        tell_error(error)


def _handle_input(repl: Repl, text: str | None) -> None:
    """Send a typed message to the agent, or run a typed slash command.

    If `text` is None, the input has ended, so end the REPL.
    """
    if text is None:
        repl.over = True
    elif is_command(text):
        run_command(repl, text.strip())
    elif is_interactive() and text.strip() in ("exit", "quit"):
        tell(_HOW_TO_LEAVE)
    elif text.strip():
        ask(repl, as_text(text))
    if repl.over:
        repl.over = False  # in case a Ctrl+C comes before `_may_leave` returns
        repl.over = _may_leave(repl)


def _may_leave(repl: Repl) -> bool:
    """Return whether the REPL may end now.

    Return True if all turns are saved, if the user was already warned, or if no person types the
    input. Otherwise warn the user and return False.
    """
    if repl.save_again() or repl.warned or not is_interactive():
        return True
    repl.warned = True
    tell("/save FILE writes the conversation to another file. /exit again leaves without saving.")
    return False


def _close_session(repl: Repl) -> int:
    session, is_unsaved = repl.session, bool(repl.session.waiting)
    session.close(completed=not is_unsaved)
    repl.tell_notes()
    tell(f"Session {session.id} is saved in {session.path}")
    command = f"{spawn()} --resume {session.id}{repl.tool_words}"
    tell(f"To resume it, run `{command}`.")
    # A person has seen the error at the prompt; a script has only the exit code.
    return 1 if is_unsaved or (repl.failed and not is_interactive()) else 0
