"""Running an agent for one turn: with a known tool, with any command, or as an echo.

The echo only repeats the message. It answers if no tool is installed.
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
from typing import Any, NamedTuple, Self

from cortext.errors import CortextError, reason_of
from cortext.features.archive.archive_sync import skip_session
from cortext.features.errors_log import write_error
from cortext.features.spawn.agent_process import Talk
from cortext.features.spawn.agents import Agent
from cortext.features.spawn.spawn_settings import SpawnSettings
from cortext.model import json_codec
from cortext.tools.headless import explain_failure, speech_of, turn_notes, turn_plan
from cortext.tools.launch import LaunchPlan, installed, require
from cortext.tools.registry import BUILT_IN, is_tool, tool_names
from cortext.tools.stream_events import LONGEST, Speech

ECHO = "echo"
VARIABLE = "AURORA_SPAWN_TOOL"
_LINGERING = 5.0
"""Seconds to wait for a tool to exit after it has reported the end of its answer."""
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class AgentFailedError(CortextError):
    """An agent gave no answer.

    `code` is the exit code or None, and `why` the reason that the agent gave.
    """

    def __init__(self, name: str, why: str, *, code: int | None = None) -> None:
        self.name = name
        self.code = code
        self.why = why
        how = f" (exit code {code})" if code else ""
        super().__init__(f"{name} failed{how}: {why}", hint=_hint(why))


class Held:
    """Signal handlers that delay Ctrl+C, SIGTERM and SIGHUP while the agent's program runs.

    A signal must not stop cortext before it has ended that program. After `release`, the first
    signal calls its old handler at once. Later signals call theirs in `end`. Signals without a
    Python handler are not delayed: they end the process at once.
    """

    def __init__(self) -> None:
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._came: set[int] = set()
        self._free = False

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread gets signals
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._take)

    def release(self) -> None:
        self._free = True
        if self._came:
            self._free = False
            self._raise()

    def hold(self) -> None:
        self._free = False

    def hurried(self) -> bool:
        """Return whether a delayed signal is waiting, so that the caller should finish quickly."""
        return bool(self._came)

    def end(self, *, interrupted: bool = False) -> None:
        """Restore the old handlers, and call them for the signals that came meanwhile.

        With `interrupted` a Ctrl+C is dropped, because another exception is already being raised.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if interrupted:
            self._came.discard(signal.SIGINT)
        self._raise()

    def _raise(self) -> None:
        for number in _ENDING:
            if number in self._came:
                self._came.discard(number)
                self._before[number](number, None)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if not self._free:
            self._came.add(number)
            return
        self._free = False
        self._before[number](number, frame)
        self._free = True


class AgentTurn:
    """One answer of an agent.

    The program runs inside the `with` block; iterating yields the text.

    Leaving the block ends the program and everything that it started, also after Ctrl+C. A second
    Ctrl+C only makes that faster. Iterating raises AgentFailedError if there is no answer, or if
    the answer is too long.

    After the answer, `tokens` is its number of tokens, or None if the tool does not count them.
    `session` is the id of the session that the tool stores for this turn, or "". `remark` is a
    further message of the tool, for example about a missing permission, or "".
    """

    def __init__(self, name: str, plan: LaunchPlan, speech: Speech, prompt: str) -> None:
        self.name = name
        self._plan, self._speech, self._prompt = plan, speech, prompt
        self._talk: Talk | None = None
        self._held = Held()

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
        self._held.begin()
        try:
            self._talk = Talk(self._plan, by_file=self._speech.by_file)
        except OSError as error:
            self._held.end()
            why = reason_of(error)
            raise AgentFailedError(self.name, f"it cannot be started: {why}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.hold()
        try:
            if self._talk:
                self._talk.stop(self._held.hurried)
            if self.session:
                _pass_over(self._plan.tool, self.session)
        finally:
            self._held.end(interrupted=kind is not None)

    def __iter__(self) -> Iterator[str]:
        talk, speech = self._talk, self._speech
        if talk is None:
            raise CortextError("a turn is had inside its `with` block")
        said, size = False, 0
        self._held.release()
        talk.write(speech.opening(self._prompt))
        if not speech.stays:
            talk.end_input()
        for text in self._heard(talk, speech):
            said = said or not text.isspace()
            size += len(json_codec.encode(text)) - 2
            if size > LONGEST:
                why = f"its answer is longer than {LONGEST >> 20} MB"
                raise AgentFailedError(self.name, why)
            yield text
        talk.end_input()
        code = talk.wait(time.monotonic() + _LINGERING if speech.over else None)
        self._check(talk, code, said)

    def _heard(self, talk: Talk, speech: Speech) -> Iterator[str]:
        for data in talk.read():
            try:
                heard = speech.hear(data)
            except CortextError as error:
                raise AgentFailedError(self.name, str(error)) from None
            if heard.reply:
                talk.write(heard.reply)
            if heard.text:
                yield heard.text
            if speech.over:
                return
        if rest := speech.hear(b"").text:
            yield rest

    def _check(self, talk: Talk, code: int | None, said: bool) -> None:
        speech = self._speech
        if speech.problem:
            raise AgentFailedError(self.name, speech.problem.strip(), code=code)
        if code and not speech.over:
            raise AgentFailedError(self.name, talk.complaints() or "it said nothing", code=code)
        if not said:
            more = speech.remark or talk.complaints()
            raise AgentFailedError(self.name, f"it said nothing{more and f': {more}'}")


class EchoTurn(AgentTurn):
    """A turn without a program. The answer says how to install a tool, and repeats the message."""

    def __init__(self, message: str) -> None:
        super().__init__(ECHO, LaunchPlan("", (), ""), Speech(), message)

    def __enter__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[str]:
        yield (
            "No AI tool answers here, this is an echo. To talk to one, install it, for example "
            f"with `{BUILT_IN[0].install_command}`, or name a command that reads a prompt: "
            "`--tool COMMAND`.\n\n"
        )
        yield f"You said: {self._prompt}"


class Runner(NamedTuple):
    """The program that answers: a tool, a command or the echo.

    `name` is for display. `tool` is the name of a known tool. Without `tool`, `words` are a
    command. Without both, the echo answers. `model` is the default model of the turns.
    """

    name: str
    tool: str = ""
    words: tuple[str, ...] = ()
    model: str = ""

    def start(self, prompt: str, *, cwd: str, model: str = "", message: str = "") -> AgentTurn:
        """Return a turn for this prompt.

        Its program starts when the `with` block is entered. `message` is the user's message without
        the rest of the prompt; the echo repeats only this.
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

    The first of these that is set decides: `given`, the environment variable, the setting, the
    agent's tool, the first installed tool. Otherwise the echo answers. Raises ToolMissingError for
    a tool that is not installed, and CortextError for a command that does not exist.
    """
    named = given or os.environ.get(VARIABLE, "") or settings.tool or (agent.tool if agent else "")
    named = named.strip()
    if not named:
        there = installed()
        named = there[0] if there else ECHO
    if named == ECHO:
        return Runner(ECHO)
    if is_tool(named):
        require(named)
        return Runner(named, named, model=_model(agent, named))
    return _command(named)


def _pass_over(tool: str, id: str) -> None:
    """Hide the session that the tool stored for this turn, so that it does not appear in lists.

    A failure is only logged.
    """
    try:
        skip_session(tool, id, wait=1.0)
    except CortextError as error:
        write_error("aur spawn", error)


def _model(agent: Agent | None, tool: str) -> str:
    """Return the agent's model if it belongs to this tool, otherwise ""."""
    return agent.model if agent and agent.model_of == tool else ""


def _command(text: str) -> Runner:
    try:
        first, *rest = shlex.split(text)
    except ValueError as error:
        said = f"the command {text!r} cannot be read: {str(error).lower()}"
        raise CortextError(said, hint="close its quotes") from None
    program = shutil.which(first)
    if program is None:
        tools = ", ".join(tool_names())
        raise CortextError(
            f"there is no program {first}", hint=f"--tool is one of {tools}, or a command"
        )
    return Runner(_shown(first, rest), words=(os.path.abspath(program), *rest))


def _shown(program: str, rest: list[str]) -> str:
    """Return a short name of a command for display.

    The name has the program, and its first argument unless that is an option.
    """
    names = [os.path.basename(word) for word in (program, *rest[:1]) if not word.startswith("-")]
    return " ".join(names)[:40]


def _hint(why: str) -> str:
    """Return what the user can do about an agent's error message, or "" if it is unknown."""
    low = why.lower()
    for name in tool_names():
        if name in low and (said := explain_failure(name, why)):
            return said
    if any(word in low for word in ("log in", "login", "unauthorized", "api key", "auth method")):
        return "start the tool by itself once, and log in"
    return ""
