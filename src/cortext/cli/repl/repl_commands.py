"""The slash commands that the user can type in the REPL, such as `/help`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.cli.repl import conversation_files
from cortext.cli.repl.agent_turn import ask_again
from cortext.cli.repl.answer_output import screen_size
from cortext.cli.repl.repl_state import Repl, has_person, tell
from cortext.cli.terminal_text import cells, clean, fit, local, show, to_edge
from cortext.cli.views.bar_chart import bar, can_draw, counted
from cortext.clock import ago
from cortext.errors import CortextError
from cortext.features.spawn.agents import Agent, agent_of, find_agents, get_agent
from cortext.features.spawn.run_agent import Runner, choose_runner
from cortext.features.spawn.spawn_list import find_spawned, list_spawned
from cortext.features.spawn.spawn_sessions import Spawned
from cortext.model.message import SessionMessage

_WORD = re.compile(r"/(\?|[A-Za-z][A-Za-z0-9_-]*!?)(?:\s+(.*))?", re.DOTALL)
_HISTORY = 10
_LISTED = 10
_MOST_LINES = 12
_BAR = 30
_SAME = {"quit": "exit", "q": "exit", "?": "help"}
"""Other names of slash commands, each with the name in `COMMANDS`."""


class ReplCommand(NamedTuple):
    """A slash command of the REPL.

    `given` is its argument as `/help` shows it, or "" if the command takes none. `run` gets the
    REPL and the typed argument.
    """

    given: str
    help: str
    run: Callable[[Repl, str], None]


def is_command(text: str) -> bool:
    """Return whether a typed text has the form of a slash command, which need not exist.

    A path such as /usr/bin does not have that form.
    """
    return _WORD.fullmatch(text.strip()) is not None


def as_text(text: str) -> str:
    """Remove the extra slash of a message that starts like a command: `//help` becomes `/help`."""
    start = len(text) - len(text.lstrip())
    shorter = text[:start] + text[start + 1 :]
    return shorter if text[start : start + 2] == "//" and is_command(shorter) else text


def typed_names() -> list[str]:
    """Return the command names that `/help` shows and the Tab key completes.

    Names that end with `!` are left out.
    """
    return [name for name in COMMANDS if not name.endswith("!")]


def run_command(repl: Repl, text: str) -> None:
    """Run the slash command of a typed line for which `is_command` is true.

    An unknown command prints a hint and sets `repl.failed`. Raises CortextError for wrong
    arguments.
    """
    found = _WORD.fullmatch(text)
    name, given = (found[1], (found[2] or "").strip()) if found else ("", "")
    name = name.lower()
    command = COMMANDS.get(_SAME.get(name, name))
    if command is None:
        tell(f"Unknown command: /{name}")
        tell(f"hint: {_nearest(name)}/help lists them")
        repl.failed = True
        return
    if given and not command.given:
        raise CortextError(f"/{name} takes nothing after it")
    if name.endswith("!") and not has_person():
        # Piped input is often not written by the user, so it must not overwrite files.
        raise CortextError(
            f"/{name} works at a terminal only", hint=f"/{name[:-1]} FILE writes a new file"
        )
    command.run(repl, given)


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    return "".join(f"did you mean /{each}? " for each in get_close_matches(name, COMMANDS, n=1))


def banner(repl: Repl) -> None:
    """Print the session, agent and tool that are open.

    On a terminal, also print the last two turns and how to get help.
    """
    session = repl.session
    if session.was == "completed":
        tell("Resuming completed session")
    turns = f" · {counted(session.count, 'turn')} so far" if session.was else ""
    tell(f"agent {session.agent} · session {session.id} · {repl.runner.name}{turns}")
    repl.tell_notes()
    for note in repl.runner.notes(repl.cwd):
        tell(f"note: {note}")
    if has_person():
        _show_turns(repl, session.last(2))
        tell("/help lists the commands; /exit or Ctrl+D ends")


def _help(repl: Repl, given: str) -> None:
    for name in typed_names():
        command = COMMANDS[name]
        show(f"  {f'/{name} {command.given}':<18}{command.help}")
    show("\nA line that ends in a backslash goes on in the next, and so does Alt+Enter.")
    show("Ctrl+C stops the agent; /save! and /export! write over a file that is there.")
    show("A message that looks like a command has a slash more: //help sends /help.")


def _exit(repl: Repl, given: str) -> None:
    repl.over = True


def _history(repl: Repl, given: str) -> None:
    if given and not re.fullmatch(r"[1-9][0-9]{0,8}", given):
        raise CortextError(f"not a number: {given}", hint="/history 3 shows the last 3 turns")
    turns = repl.session.last(int(given or _HISTORY))
    if not turns:
        tell("nothing was said yet")
    _show_turns(repl, turns)


def _show_turns(repl: Repl, turns: Sequence[tuple[int, SessionMessage]]) -> None:
    for number, turn in turns:
        who = repl.session.agent if turn.role == "assistant" else turn.role
        show(f"{number}. {clean(who, lines=False)} · {local(turn.timestamp)}")
        for line in _shortened(clean(turn.content).split("\n")):
            show(f"   {line}")


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a turn, cut after `_MOST_LINES` rows if stdout is a terminal."""
    if not sys.stdout.isatty():
        return lines
    width = max(screen_size()[0] - len("   "), 1)
    shown: list[str] = []
    room = _MOST_LINES
    for line in lines:
        taken = max(1, -(-cells(line) // width))
        # A last short line takes no more room than the note that replaces it.
        if taken > room and not (taken == 1 and line is lines[-1]):
            if room > 0:
                shown.append(fit(line, room * width))
            return [*shown, "… there is more; /save FILE has it all"]
        shown.append(line)
        room -= taken
    return shown


def _clear(repl: Repl, given: str) -> None:
    repl.session.context.clear()
    tell("The agent gets nothing of what was said so far; the session keeps it.")


def _stats(repl: Repl, given: str) -> None:
    session, context = repl.session, repl.session.context
    blocks = can_draw(sys.stdout.encoding)
    used = min(context.used, context.max_tokens)
    drawn = bar(used, context.max_tokens, _BAR, blocks=blocks)
    show(f"session   {session.id}")
    show(f"agent     {clean(session.agent, lines=False)} ({repl.runner.name})")
    show(f"turns     {session.count}")
    show(f"tokens    about {session.tokens:,}")
    show(f"context   [{drawn}] {context.percent} % of {context.max_tokens:,} tokens")
    if context.trimmed:
        show(f"          {context.trimmed} turns are left out of it")


def _agent(repl: Repl, given: str) -> None:
    if not given:
        for name, agent in find_agents(repl.cwd).items():
            show(to_edge(clean(f"  {name:<18}{agent.description}".rstrip())))
        return
    agent = get_agent(given, repl.cwd)
    runner = _runner_for(repl, agent)
    repl.session.set_agent(agent.name)
    repl.agent, repl.runner = agent, runner
    tell(f"The agent is {agent.name} now, run by {runner.name}.")
    for note in runner.notes(repl.cwd):
        tell(f"note: {note}")


def _runner_for(repl: Repl, agent: Agent) -> Runner:
    """Return the runner, which is the tool or command that answers, for another agent.

    A tool that the user named takes precedence over the agent's tool.
    """
    return choose_runner(repl.asked_tool, agent, repl.settings)


def _title(repl: Repl, given: str) -> None:
    if not given:
        show(clean(repl.session.title, lines=False) or "(no title)")
        return
    repl.session.rename(given)
    tell(f"The title is: {repl.session.title}")


def _fork(repl: Repl, given: str) -> None:
    _settle(repl)
    before = repl.session
    with repl.signals.hold():
        repl.session = before.fork()
        tell(f"Session {repl.session.id} goes on with what was said in {before.id}.")
        before.close(completed=False)


def _retry(repl: Repl, given: str) -> None:
    ask_again(repl)


def _resume(repl: Repl, given: str) -> None:
    if not given:
        _show_rows(repl, list_spawned()[:_LISTED])
        return
    if re.fullmatch(r"[1-9][0-9]{0,2}", given) and int(given) <= len(repl.listed):
        _reopen(repl, repl.listed[int(given) - 1].key)
        return
    found, note = find_spawned(given)
    if note:
        tell(note)
    if not found:
        raise CortextError(
            f"Session not found: {given}", hint="/resume alone lists the latest, by number"
        )
    if len(found) == 1:
        _reopen(repl, found[0].key)
        return
    tell(f"{len(found)} sessions match {given}; /resume NUMBER takes one:")
    _show_rows(repl, found[: 2 * _LISTED])


def _show_rows(repl: Repl, rows: Sequence[ConversationRow]) -> None:
    repl.listed = list(rows)
    for number, row in enumerate(rows, 1):
        facts = [row.agent, counted(row.messages, "turn"), ago(row.last_active), row.status]
        if row.key == repl.session.id:
            facts.insert(0, "this one")
        # The title comes first, because a narrow terminal cuts off the end of the line.
        title = f"{row.title}  " if row.title else ""
        show(to_edge(clean(f"{number:3}. {row.key}  {title}({', '.join(facts)})")))


def _reopen(repl: Repl, id: str) -> None:
    if id == repl.session.id:
        raise CortextError(f"{id} is the session that is open here")
    _settle(repl)
    with repl.signals.hold():
        session = Spawned.reopen(id, max_tokens=repl.settings.max_tokens)
        try:
            agent, warning = agent_of(session.agent, repl.cwd)
            runner = _runner_for(repl, agent)
            session.set_tool(runner.name)
        except BaseException:
            session.close(completed=session.was == "completed")
            raise
        before, repl.session = repl.session, session
        repl.agent, repl.runner, repl.unanswered = agent, runner, None
        if warning:
            tell(f"warning: {warning}")
        banner(repl)
        before.close(completed=False)


def _settle(repl: Repl) -> None:
    """Save pending turns before the REPL changes to another session.

    Raises CortextError if that fails.
    """
    if not repl.save_again():
        raise CortextError("the session is not saved, and stays open", hint="/save FILE elsewhere")


COMMANDS = {
    "help": ReplCommand("", "this list", _help),
    "exit": ReplCommand("", "save, mark the session as completed, and leave; as Ctrl+D", _exit),
    "save": ReplCommand(
        "FILE", "write the conversation: FILE.md, .html, .json, .jsonl", conversation_files.save
    ),
    "history": ReplCommand("[N]", f"show the last N turns ({_HISTORY})", _history),
    "clear": ReplCommand("", "let the agent forget what was said; the session keeps it", _clear),
    "stats": ReplCommand("", "turns, tokens, and how full the context is", _stats),
    "agent": ReplCommand("[NAME]", "go on with another agent; without NAME, list them", _agent),
    "export": ReplCommand("FILE", "copy the session's own file to FILE", conversation_files.export),
    "import": ReplCommand(
        "FILE", "add the turns of a file that was saved or exported", conversation_files.take_in
    ),
    "title": ReplCommand("[TEXT]", "give the session a title, or show it", _title),
    "fork": ReplCommand("", "go on in a new session with the same turns", _fork),
    "retry": ReplCommand("", "ask the last message again, without the last answer", _retry),
    "resume": ReplCommand(
        "[WORDS]", "go on with another session; without WORDS, list them", _resume
    ),
    "save!": ReplCommand("FILE", "", conversation_files.save_over),
    "export!": ReplCommand("FILE", "", conversation_files.export_over),
}
