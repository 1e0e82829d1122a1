"""The input of the REPL: an editable prompt on a terminal, and plain lines otherwise.

Only this module imports prompt_toolkit, and only if there is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from cortext.cli.repl import prompt_history
from cortext.cli.repl.answer_output import is_screen, screen_size
from cortext.cli.repl.repl_state import Repl
from cortext.cli.repl.termination_signals import EndSignal
from cortext.cli.terminal_text import clean
from cortext.features.spawn.agent_definitions import find_agents

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import Output


FILES = ("/save", "/save!", "/export", "/export!", "/import")
"""The slash commands whose argument is a file name, which may contain spaces."""
_MAX_FILES = 200


class Reader(Protocol):
    def read(self, name: str) -> str | None:
        """Read and return the user's next message, or return None at the end of the input.

        `name` is the agent's name, which the prompt shows. Raises KeyboardInterrupt if the user
        presses Ctrl+C.
        """
        ...


def open_reader(repl: Repl, commands: Iterable[str]) -> Reader:
    """Return an editable prompt if stdin and stdout are terminals, and a plain reader otherwise.

    `commands` are the names that the Tab key completes.
    """
    if sys.stdin.isatty() and is_screen():
        return _EditablePrompt(repl, commands)
    return _PlainInput()


def goes_on(text: str) -> bool:
    """Return whether a typed text ends with an unescaped backslash.

    The message then continues on the next line.
    """
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


class _PlainInput:
    """A reader of plain lines, for scripts and for terminals that cannot move the cursor."""

    def read(self, name: str) -> str | None:
        lines: list[str] = []
        while True:
            if sys.stdin.isatty():
                sys.stderr.write("... " if lines else f"{clean(name, lines=False)}> ")
                sys.stderr.flush()
            line = sys.stdin.buffer.readline().decode("utf-8", "replace")
            if not line:
                return "\n".join(lines) if lines else None
            line = line.removesuffix("\n").removesuffix("\r")
            if not goes_on(line):
                return "\n".join((*lines, line))
            lines.append(line[:-1])


class _EditablePrompt:
    """A reader with an editable prompt, for a terminal.

    prompt_toolkit runs its own event loop. A signal such as SIGTERM ends this loop with an
    exception, so that prompt_toolkit can restore the terminal.
    """

    def __init__(self, repl: Repl, commands: Iterable[str]) -> None:
        self._repl = repl
        self._prompt = _prompt_session(repl, [f"/{name}" for name in commands])

    def read(self, name: str) -> str | None:
        signals, app = self._repl.signals, self._prompt.app

        def exit_prompt(error: EndSignal) -> None:
            if app.is_running and not app.is_done:
                app.exit(exception=error)

        def raise_in_loop(error: EndSignal) -> None:
            if app.loop is None or not app.is_running:
                raise error
            app.loop.call_soon_threadsafe(exit_prompt, error)

        signals.tell = raise_in_loop
        try:
            text = self._prompt.prompt(_prompt_text(name))
        except EOFError:
            text = None
        finally:
            signals.tell = None
        if signals.ended is not None:
            raise signals.ended  # the signal came with the last key, or the terminal was closed
        return text


def _prompt_text(name: str) -> Any:
    text = f"{clean(name, lines=False)}> "
    return text if os.environ.get("NO_COLOR") else [("bold", text)]


def _prompt_session(repl: Repl, commands: list[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.shortcuts import CompleteStyle

    return PromptSession(
        history=_history(),
        completer=_completer(repl, commands),
        complete_style=CompleteStyle.READLINE_LIKE,
        complete_while_typing=False,
        reserve_space_for_menu=0,
        key_bindings=_keys(),
        multiline=True,
        # A wrapped line is still one line, so only real new lines get a "... ".
        prompt_continuation=lambda width, number, wraps: "" if wraps else "... ",
        enable_suspend=True,
        output=_output(),
    )


def _output() -> Output:
    """Return an output for prompt_toolkit that never asks the terminal for the cursor position.

    If the terminal replied late, the reply would look like typed text. If it never replied, the
    prompt would wait for seconds.
    """
    from prompt_toolkit.data_structures import Size
    from prompt_toolkit.output.vt100 import Vt100_Output

    def size() -> Size:
        columns, lines = screen_size()
        return Size(rows=lines or 24, columns=columns or 80)

    term = os.environ.get("TERM")
    return Vt100_Output(sys.stdout, size, term=term, enable_cpr=False)


def _keys() -> KeyBindings:
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.keys import Keys

    keys = KeyBindings()

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and goes_on(buffer.text):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    def ignore_mouse(event: KeyPressEvent) -> None:
        """Ignore a mouse event, because prompt_toolkit would fail on it.

        The prompt uses no mouse, but a colour code in pasted text looks like a mouse event.
        """

    keys.add("enter", filter=has_focus(DEFAULT_BUFFER))(enter)
    keys.add("escape", "enter", filter=has_focus(DEFAULT_BUFFER))(newline)
    keys.add(Keys.Vt100MouseEvent)(ignore_mouse)
    return keys


def _history() -> Any:
    from prompt_toolkit.history import History

    class SharedHistory(History):
        def load_history_strings(self) -> Iterable[str]:
            return prompt_history.latest()

        def store_string(self, string: str) -> None:
            prompt_history.add(string)

    return SharedHistory()


def _completer(repl: Repl, commands: list[str]) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    def agents() -> Iterable[str]:
        return find_agents(repl.cwd)

    class ReplCompleter(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterable[Completion]:
            before = document.text_before_cursor
            for text, size in complete(before, commands=commands, agents=agents, cwd=repl.cwd):
                yield Completion(text, start_position=-size)

    return ReplCompleter()


def complete(
    text: str, *, commands: Iterable[str], agents: Callable[[], Iterable[str]], cwd: str
) -> list[tuple[str, int]]:
    """Return the possible completions of the typed text, for the Tab key.

    A completion is a slash command, the name of an agent, or a path relative to `cwd`. Each is
    returned with the number of typed characters that it replaces. `agents` returns the names of all
    agents.
    """
    name, space, rest = text.partition(" ")
    if text.startswith("/") and not space:
        matches = [each for each in commands if each.startswith(text)]
        if matches:
            return [(each, len(text)) for each in matches]
    if name == "/agent" and space:
        return [(each, len(rest)) for each in sorted(agents()) if each.startswith(rest)]
    word = rest if name in FILES and space else text.rpartition(" ")[2].rpartition("\n")[2]
    if not word and name not in FILES:
        return []
    return [(each, len(word)) for each in _files(word, cwd)]


def _files(word: str, cwd: str) -> list[str]:
    """Return the paths that start with `word`, relative to `cwd`.

    Hidden files are included only if the typed file name starts with a dot.
    """
    folder, name = os.path.split(word)
    start = word[: len(word) - len(name)]
    try:
        with os.scandir(os.path.join(cwd, os.path.expanduser(folder))) as entries:
            names = [
                f"{start}{entry.name}{'/' if entry.is_dir() else ''}"
                for entry in entries
                if entry.name.startswith(name)
                and (name or not entry.name.startswith("."))
                and clean(entry.name, lines=False) == entry.name
            ]
    except OSError:
        return []  # the folder does not exist
    return sorted(names)[:_MAX_FILES]
