"""Run an agent for one turn: with a known AI tool, with any command, or as an echo.

The echo only repeats the message. It is used if no tool is installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self

import msgspec

from cortext.errors import CortextError, reason_of
from cortext.features.archive.archive_sync import skip_session
from cortext.features.errors_log import write_error
from cortext.features.spawn.agent_definitions import Agent
from cortext.features.spawn.agent_process import Talk
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.model import json_codec
from cortext.tools.headless_runs import explain_failure, speech_of, turn_notes, turn_plan
from cortext.tools.launch_plans import LaunchPlan, installed, require
from cortext.tools.registry import BUILT_IN, is_tool, tool_names
from cortext.tools.tool_output_parsers import LONGEST, Speech

ECHO = "echo"
VARIABLE = "AURORA_SPAWN_TOOL"
_EXIT_SECONDS = 5.0
"""Seconds to wait for a tool to exit after it has reported the end of its answer."""
_END_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class AgentFailedError(CortextError):
    """Raised if an agent gives no answer.

    `code` is the exit code of its program, or None. `why` is the reason that the agent gave.
    """

    def __init__(self, name: str, why: str, *, code: int | None = None) -> None:
        self.name = name
        self.code = code
        self.why = why
        how = f" (exit code {code})" if code else ""
        super().__init__(f"{name} failed{how}: {why}", hint=_hint(why))


class Held:
    """Delays Ctrl+C, SIGTERM and SIGHUP while the agent's program runs.

    cortext must end the agent's program before a signal may end cortext. Therefore `begin` replaces
    the signal handlers, so that each signal waits. `release` lets signals pass: each signal calls
    its original handler at once, which usually raises an exception. After `hold`, signals wait
    again. `end` restores the original handlers, and calls them for the signals that wait. If the
    original handler of a signal is not a Python function, the signal is not delayed.
    """

    def __init__(self) -> None:
        self._old_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._pending: set[int] = set()
        self._delivers = False

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread gets signals
        for number in _END_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._old_handlers[number] = handler
                signal.signal(number, self._handle)

    def release(self) -> None:
        self._delivers = True
        if self._pending:
            self._delivers = False
            self._deliver()

    def hold(self) -> None:
        self._delivers = False

    def hurried(self) -> bool:
        """Return whether a signal waits. If so, the caller should finish quickly."""
        return bool(self._pending)

    def end(self, *, interrupted: bool = False) -> None:
        """Restore the old handlers, and call them for the signals that came meanwhile.

        If `interrupted` is true, Ctrl+C is ignored, because another exception is already raised.
        """
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        if interrupted:
            self._pending.discard(signal.SIGINT)
        self._deliver()

    def _deliver(self) -> None:
        for number in _END_SIGNALS:
            if number in self._pending:
                self._pending.discard(number)
                self._old_handlers[number](number, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._delivers:
            self._pending.add(number)
            return
        self._delivers = False
        self._old_handlers[number](number, frame)
        self._delivers = True


class AgentTurn:
    """One answer of an agent, as a context manager and an iterator.

    The agent's program runs inside the `with` block. Iterate over the turn to get the text of the
    answer. The iteration raises AgentFailedError if there is no answer, or if the answer is too
    long.

    Leaving the block ends the program and everything that it started, also after Ctrl+C. A second
    Ctrl+C only makes that faster.

    After the answer, `tokens` is its number of tokens, or None if the tool does not count them.
    `session` is the id of the session that the tool stores for this turn, or "". `remark` is a
    further message of the tool, for example about a missing permission, or "".
    """

    def __init__(self, name: str, plan: LaunchPlan, speech: Speech, prompt: str) -> None:
        self.name = name
        self._plan, self._speech, self._prompt = plan, speech, prompt
        self._talk: Talk | None = None
        self._signals = Held()

    @property
    def tokens(self) -> int | None:
        return self._speech.tokens

    @property
    def remark(self) -> str:
        return self._speech.remark

    @property
    def session(self) -> str:
        return self._speech.session

    def __enter__(self) -> Self:
        self._signals.begin()
        try:
            self._talk = Talk(self._plan, by_file=self._speech.by_file)
        except OSError as error:
            self._signals.end()
            why = reason_of(error)
            raise AgentFailedError(self.name, f"it could not be started: {why}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signals.hold()
        try:
            if self._talk:
                self._talk.stop(self._signals.hurried)
            if self.session:
                _hide_session(self._plan.tool, self.session)
        finally:
            self._signals.end(interrupted=kind is not None)

    def __iter__(self) -> Iterator[str]:
        talk, speech = self._talk, self._speech
        if talk is None:
            raise CortextError("read the turn inside its `with` block")
        has_text, size = False, 0
        self._signals.release()
        talk.write(speech.opening(self._prompt))
        if not speech.stays:
            talk.end_input()
        for text in self._read_answer(talk, speech):
            has_text = has_text or not text.isspace()
            size += len(json_codec.encode(text)) - 2
            if size > LONGEST:
                why = f"its answer is longer than {LONGEST >> 20} MB"
                raise AgentFailedError(self.name, why)
            yield text
        talk.end_input()
        code = talk.wait(time.monotonic() + _EXIT_SECONDS if speech.over else None)
        self._check(talk, code, has_text)

    def _read_answer(self, talk: Talk, speech: Speech) -> Iterator[str]:
        for data in talk.read():
            try:
                event = speech.hear(data)
            except CortextError as error:
                raise AgentFailedError(self.name, str(error)) from None
            if event.reply:
                talk.write(event.reply)
            if event.text:
                yield event.text
            if speech.over:
                return
        if rest := speech.hear(b"").text:
            yield rest

    def _check(self, talk: Talk, code: int | None, has_text: bool) -> None:
        speech = self._speech
        if speech.problem:
            raise AgentFailedError(self.name, speech.problem.strip(), code=code)
        if code and not speech.over:
            raise AgentFailedError(self.name, talk.complaints() or "it did not answer", code=code)
        if not has_text:
            more = speech.remark or talk.complaints()
            raise AgentFailedError(self.name, f"it did not answer{more and f': {more}'}")


class EchoTurn(AgentTurn):
    """A turn without a program. The answer says how to install a tool, and repeats the message."""

    def __init__(self, message: str) -> None:
        super().__init__(ECHO, LaunchPlan("", (), ""), Speech(), message)

    def __enter__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[str]:
        yield (
            "This is an echo, because no AI tool answers here. To talk to a tool, install it, for "
            f"example with `{BUILT_IN[0].install_command}`, or name a command that reads a prompt: "
            "`--tool COMMAND`.\n\n"
        )
        yield f"You said: {self._prompt}"


class Runner(msgspec.Struct, frozen=True):
    """The program that answers: an AI tool, a command or the echo.

    `tool` is the name of an AI tool, or "". `words` are the words of a command, or (). If both are
    empty, the echo answers: it runs no program, and only repeats the user's message. `name` is the
    name to display. `model` is the default model of the turns.
    """

    name: str
    tool: str = ""
    words: tuple[str, ...] = ()
    model: str = ""

    def start(self, prompt: str, *, cwd: str, model: str = "", message: str = "") -> AgentTurn:
        """Return a turn: a context manager that gets one answer to the prompt.

        No program runs yet. The AI tool or command starts when the caller enters the `with` block
        of the turn. It runs in the folder `cwd`. `model`, if given, replaces the default model.
        `message` is only the user's message, and `prompt` may contain more text around it. If no
        tool or command is set, the answer repeats `message`.
        """
        if self.tool:
            model = model or self.model
            plan = turn_plan(self.tool, cwd=cwd, model=model)
            return AgentTurn(self.name, plan, speech_of(self.tool, cwd=cwd, model=model), prompt)
        if self.words:
            return AgentTurn(self.name, LaunchPlan("", self.words, cwd), Speech(), prompt)
        return EchoTurn(message or prompt)

    def notes(self, cwd: str) -> list[str]:
        """Return notes that the user should read before the agent works in the folder `cwd`."""
        return turn_notes(self.tool, cwd)


def choose_runner(given: str | None, agent: Agent | None, settings: SpawnSettings) -> Runner:
    """Return the runner for an agent: a tool, a command or the echo.

    The first of these values that is set is used:

    - `given`, the option of the command
    - the environment variable AURORA_SPAWN_TOOL
    - the setting `settings.tool`
    - the agent's tool
    - the first installed tool

    If none of them is set, the echo is used. Raises ToolMissingError for a tool that is not
    installed, and CortextError for a command that does not exist.
    """
    named = given or os.environ.get(VARIABLE, "") or settings.tool or (agent.tool if agent else "")
    named = named.strip()
    if not named:
        available = installed()
        named = available[0] if available else ECHO
    if named == ECHO:
        return Runner(ECHO)
    if is_tool(named):
        require(named)
        return Runner(named, named, model=_model_for(agent, named))
    return _command_runner(named)


def _hide_session(tool: str, id: str) -> None:
    """Exclude the tool session `id`, which the tool stored for one turn, from lists.

    A failure is only logged.
    """
    try:
        skip_session(tool, id, wait=1.0)
    except CortextError as error:
        write_error("aur spawn", error)


def _model_for(agent: Agent | None, tool: str) -> str:
    """Return the agent's model if it belongs to this tool, otherwise ""."""
    return agent.model if agent and agent.model_of == tool else ""


def _command_runner(text: str) -> Runner:
    try:
        first, *rest = shlex.split(text)
    except ValueError as error:
        wrong = f"invalid command {text!r}: {str(error).lower()}"
        raise CortextError(wrong, hint="close the quotes") from None
    program = shutil.which(first)
    if program is None:
        tools = ", ".join(tool_names())
        raise CortextError(
            f"program not found: {first}", hint=f"--tool is one of {tools}, or a command"
        )
    return Runner(_display_name(first, rest), words=(os.path.abspath(program), *rest))


def _display_name(program: str, rest: list[str]) -> str:
    """Return a short name of a command for display.

    `rest` are the arguments. The name is the program, followed by its first argument if that is not
    an option.
    """
    names = [os.path.basename(word) for word in (program, *rest[:1]) if not word.startswith("-")]
    return " ".join(names)[:40]


def _hint(why: str) -> str:
    """Return advice for the user about an agent's error message, or "" if the error is unknown."""
    lowered = why.lower()
    for name in tool_names():
        if name in lowered and (hint := explain_failure(name, why)):
            return hint
    if any(
        word in lowered for word in ("log in", "login", "unauthorized", "api key", "auth method")
    ):
        return "start the tool itself once, and log in"
    return ""
