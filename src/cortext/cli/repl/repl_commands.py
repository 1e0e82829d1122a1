"""The slash commands that the user can type in the REPL, such as `/help`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

import msgspec

from cortext.catalog.row import ConversationRow
from cortext.cli.repl import repl_file_commands
from cortext.cli.repl.agent_turn import ask_again
from cortext.cli.repl.answer_output import screen_size
from cortext.cli.repl.repl_state import Repl, is_interactive, tell
from cortext.cli.terminal_text import cells, clean, cut_to_terminal, fit, local, show
from cortext.cli.views.bar_chart import bar, can_draw, counted
from cortext.clock import ago
from cortext.errors import CortextError
from cortext.features.spawn.agent_definitions import Agent, agent_of, find_agents, get_agent
from cortext.features.spawn.find_spawned import find_spawned
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.run_agent import Runner, choose_runner
from cortext.features.spawn.spawn_list import list_spawned
from cortext.model.message import SessionMessage

_COMMAND = re.compile(r"/(\?|[A-Za-z][A-Za-z0-9_-]*!?)(?:\s+(.*))?", re.DOTALL)
_DEFAULT_TURNS = 10
_MAX_LISTED = 10
_MAX_ROWS = 12
_BAR_WIDTH = 30
_ALIASES = {"quit": "exit", "q": "exit", "?": "help"}
"""Alternative names of slash commands. Each value is the name in `COMMANDS`."""


class ReplCommand(msgspec.Struct, frozen=True):
    """A slash command of the REPL.

    `given` is the name of the command's argument in `/help`, such as `FILE`, or "" if the command
    takes no argument. `help` is the help text. `run` is called with the REPL and the typed
    argument.
    """

    given: str
    help: str
    run: Callable[[Repl, str], None]


def is_command(text: str) -> bool:
    """Return whether a typed text looks like a slash command, known or unknown.

    A path such as /usr/bin does not look like a slash command.
    """
    return _COMMAND.fullmatch(text.strip()) is not None


def as_text(text: str) -> str:
    """Return the message to send for a typed text: `//help` becomes `/help`.

    The user types two slashes to send a text that looks like a slash command.
    """
    start = len(text) - len(text.lstrip())
    shorter = text[:start] + text[start + 1 :]
    return shorter if text[start : start + 2] == "//" and is_command(shorter) else text


def visible_command_names() -> list[str]:
    """Return the command names that `/help` shows and the Tab key completes.

    Names that end with `!` are left out.
    """
    return [name for name in COMMANDS if not name.endswith("!")]


def run_command(repl: Repl, text: str) -> None:
    """Run the slash command that the user typed as `text`.

    If the command is unknown, print a hint and set `repl.failed`. Raises CortextError if the
    argument is wrong.
    """
    match = _COMMAND.fullmatch(text)
    name, given = (match[1], (match[2] or "").strip()) if match else ("", "")
    name = name.lower()
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        tell(f"Unknown command: /{name}")
        tell(f"hint: {_suggest(name)}/help lists the commands")
        repl.failed = True
        return
    if given and not command.given:
        raise CortextError(f"/{name} takes no argument")
    if name.endswith("!") and not is_interactive():
        # Piped input is often not written by the user, so it must not overwrite files.
        raise CortextError(
            f"/{name} works only in a terminal", hint=f"/{name[:-1]} FILE writes a new file"
        )
    command.run(repl, given)


def _suggest(name: str) -> str:
    from difflib import get_close_matches

    return "".join(f"did you mean /{each}? " for each in get_close_matches(name, COMMANDS, n=1))


def banner(repl: Repl) -> None:
    """Print the agent, the session and the tool when the REPL opens a session.

    On a terminal, also print the last two messages and how to get help.
    """
    session = repl.session
    if session.was == "completed":
        tell("Resuming completed session")
    turns = f" · {counted(session.count, 'turn')} so far" if session.was else ""
    tell(f"agent {session.agent} · session {session.id} · {repl.runner.name}{turns}")
    repl.tell_notes()
    for note in repl.runner.notes(repl.cwd):
        tell(f"note: {note}")
    if is_interactive():
        _show_turns(repl, session.last(2))
        tell("/help lists the commands; /exit or Ctrl+D leaves")


def _help(repl: Repl, given: str) -> None:
    for name in visible_command_names():
        command = COMMANDS[name]
        show(f"  {f'/{name} {command.given}':<18}{command.help}")
    show("\nTo write several lines, end a line with a backslash or press Alt+Enter.")
    show("Ctrl+C stops the agent. /save! and /export! overwrite an existing file.")
    show("To send a message that starts with a slash, type two: //help sends /help.")


def _exit(repl: Repl, given: str) -> None:
    repl.over = True


def _history(repl: Repl, given: str) -> None:
    if given and not re.fullmatch(r"[1-9][0-9]{0,8}", given):
        raise CortextError(f"not a number: {given}", hint="/history 3 shows the last 3 turns")
    turns = repl.session.last(int(given or _DEFAULT_TURNS))
    if not turns:
        tell("There are no turns yet.")
    _show_turns(repl, turns)


def _show_turns(repl: Repl, turns: Sequence[tuple[int, SessionMessage]]) -> None:
    for number, turn in turns:
        who = repl.session.agent if turn.role == "assistant" else turn.role
        show(f"{number}. {clean(who, lines=False)} · {local(turn.timestamp)}")
        for line in _shorten(clean(turn.content).split("\n")):
            show(f"   {line}")


def _shorten(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a message, cut after `_MAX_ROWS` screen rows if stdout is a terminal."""
    if not sys.stdout.isatty():
        return lines
    width = max(screen_size()[0] - len("   "), 1)
    shown: list[str] = []
    room = _MAX_ROWS
    for line in lines:
        needed = max(1, -(-cells(line) // width))
        # The note about the cut needs one row. A short last line can use that row instead.
        if needed > room and not (needed == 1 and line is lines[-1]):
            if room > 0:
                shown.append(fit(line, room * width))
            return [*shown, "… (cut; /save FILE writes the full text)"]
        shown.append(line)
        room -= needed
    return shown


def _clear(repl: Repl, given: str) -> None:
    repl.session.context.clear()
    tell("The agent no longer sees the turns so far. They stay in the session.")


def _stats(repl: Repl, given: str) -> None:
    session, context = repl.session, repl.session.context
    blocks = can_draw(sys.stdout.encoding)
    used = min(context.used, context.max_tokens)
    drawn = bar(used, context.max_tokens, _BAR_WIDTH, blocks=blocks)
    show(f"session   {session.id}")
    show(f"agent     {clean(session.agent, lines=False)} ({repl.runner.name})")
    show(f"turns     {session.count}")
    show(f"tokens    about {session.tokens:,}")
    show(f"context   [{drawn}] {context.percent} % of {context.max_tokens:,} tokens")
    if context.trimmed:
        show(f"          {context.trimmed} turns do not fit and are left out")


def _agent(repl: Repl, given: str) -> None:
    if not given:
        for name, agent in find_agents(repl.cwd).items():
            show(cut_to_terminal(clean(f"  {name:<18}{agent.description}".rstrip())))
        return
    agent = get_agent(given, repl.cwd)
    runner = _runner_for(repl, agent)
    repl.session.set_agent(agent.name)
    repl.agent, repl.runner = agent, runner
    tell(f"The agent is now {agent.name}, run by {runner.name}.")
    for note in runner.notes(repl.cwd):
        tell(f"note: {note}")


def _runner_for(repl: Repl, agent: Agent) -> Runner:
    """Return the runner (the tool or command that answers) for an agent.

    If the user named a tool on the command line, use that tool. Otherwise use the agent's tool.
    """
    return choose_runner(repl.named_tool, agent, repl.settings)


def _title(repl: Repl, given: str) -> None:
    if not given:
        show(clean(repl.session.title, lines=False) or "(no title)")
        return
    repl.session.rename(given)
    tell(f"Title: {repl.session.title}")


def _fork(repl: Repl, given: str) -> None:
    _save_pending(repl)
    original = repl.session
    with repl.signals.hold():
        repl.session = original.fork()
        tell(f"Now in session {repl.session.id}, a copy of {original.id}.")
        original.close(completed=False)


def _retry(repl: Repl, given: str) -> None:
    ask_again(repl)


def _resume(repl: Repl, given: str) -> None:
    if not given:
        _show_rows(repl, list_spawned()[:_MAX_LISTED])
        return
    if re.fullmatch(r"[1-9][0-9]{0,2}", given) and int(given) <= len(repl.listed):
        _reopen(repl, repl.listed[int(given) - 1].key)
        return
    matches, note = find_spawned(given)
    if note:
        tell(note)
    if not matches:
        raise CortextError(
            f"Session not found: {given}", hint="/resume without words lists the latest sessions"
        )
    if len(matches) == 1:
        _reopen(repl, matches[0].key)
        return
    tell(f"{len(matches)} sessions match {given}. To choose one, type /resume NUMBER:")
    _show_rows(repl, matches[: 2 * _MAX_LISTED])


def _show_rows(repl: Repl, rows: Sequence[ConversationRow]) -> None:
    repl.listed = list(rows)
    for number, row in enumerate(rows, 1):
        facts = [row.agent, counted(row.messages, "turn"), ago(row.last_active), row.status]
        if row.key == repl.session.id:
            facts.insert(0, "open here")
        # The title comes first, because a narrow terminal cuts off the end of the line.
        title = f"{row.title}  " if row.title else ""
        show(cut_to_terminal(clean(f"{number:3}. {row.key}  {title}({', '.join(facts)})")))


def _reopen(repl: Repl, id: str) -> None:
    if id == repl.session.id:
        raise CortextError(f"session {id} is already open here")
    _save_pending(repl)
    with repl.signals.hold():
        session = SpawnSession.reopen(id, max_tokens=repl.settings.max_tokens)
        try:
            agent, warning = agent_of(session.agent, repl.cwd)
            runner = _runner_for(repl, agent)
            session.set_tool(runner.name)
        except BaseException:
            session.close(completed=session.was == "completed")
            raise
        previous, repl.session = repl.session, session
        repl.agent, repl.runner, repl.unanswered = agent, runner, None
        if warning:
            tell(f"warning: {warning}")
        banner(repl)
        previous.close(completed=False)


def _save_pending(repl: Repl) -> None:
    """Save unsaved turns before the REPL changes to another session.

    Raises CortextError if that fails.
    """
    if not repl.save_again():
        raise CortextError(
            "the session is not saved, so it stays open", hint="/save FILE writes a copy of it"
        )


COMMANDS = {
    "help": ReplCommand("", "list the commands", _help),
    "exit": ReplCommand("", "save, mark the session as completed, and leave (or Ctrl+D)", _exit),
    "save": ReplCommand(
        "FILE",
        "write the conversation as .md, .html, .json or .jsonl",
        repl_file_commands.save,
    ),
    "history": ReplCommand("[N]", f"show the last N turns (default {_DEFAULT_TURNS})", _history),
    "clear": ReplCommand("", "start with an empty context; the session keeps all turns", _clear),
    "stats": ReplCommand("", "show turns, tokens and how full the context is", _stats),
    "agent": ReplCommand("[NAME]", "switch to another agent; without NAME, list them", _agent),
    "export": ReplCommand("FILE", "copy the session file to FILE", repl_file_commands.export),
    "import": ReplCommand(
        "FILE", "add the turns of a saved or exported file", repl_file_commands.import_turns
    ),
    "title": ReplCommand("[TEXT]", "set the title; without TEXT, show it", _title),
    "fork": ReplCommand("", "continue in a new session with the same turns", _fork),
    "retry": ReplCommand("", "send the last message again, without its old answer", _retry),
    "resume": ReplCommand(
        "[WORDS]", "switch to another session; without WORDS, list them", _resume
    ),
    "save!": ReplCommand("FILE", "", repl_file_commands.save_overwriting),
    "export!": ReplCommand("FILE", "", repl_file_commands.export_overwriting),
}
