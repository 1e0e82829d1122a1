"""Running an agent for one turn: a tool, any command that reads a prompt, or our own echo."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

from cortext.app.spawn.agents import Agent
from cortext.app.spawn.process import Talk
from cortext.app.spawn.settings import SpawnSettings
from cortext.bridges.launch import PACKAGES, Plan, installed, require
from cortext.bridges.places import TOOLS
from cortext.bridges.speech import Speech
from cortext.bridges.turns import speech_of, turn_notes, turn_plan
from cortext.errors import CortextError

ECHO = "echo"
VARIABLE = "AURORA_SPAWN_TOOL"
_LINGERING = 5.0
"""Seconds that a tool has to end after it said that it has answered."""


class AgentFailedError(CortextError):
    """A turn that has no answer. `code` is the exit code, `why` what the agent said about it."""

    def __init__(self, name: str, why: str, *, code: int | None = None) -> None:
        self.name, self.code, self.why = name, code, why
        how = f" (exit code {code})" if code else ""
        super().__init__(f"{name} failed{how}: {why}", hint=_hint(why))


class Turn:
    """One answer, in pieces as they come; the program runs while the block does.

    Leaving the block, also by Ctrl+C, ends the program and all that it started. `tokens` are those
    of the answer, after its end, where the tool counts them; `session` is the id of the session
    that the tool keeps of the turn, "" if it keeps none; `remark` is what it had to say besides,
    of a permission that it did not get, or "". AgentFailedError if there is no answer.
    """

    def __init__(self, name: str, plan: Plan, speech: Speech, prompt: str) -> None:
        self.name = name
        self._plan, self._speech, self._prompt = plan, speech, prompt
        self._talk: Talk | None = None

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
        try:
            self._talk = Talk(self._plan, by_file=self._speech.by_file)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise AgentFailedError(self.name, f"it cannot be started: {why}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._talk:
            self._talk.stop()
        if self.session:
            _pass_over(self._plan.tool, self.session)

    def __iter__(self) -> Iterator[str]:
        talk, speech = self._talk, self._speech
        if talk is None:
            raise CortextError("a turn is had inside its `with` block")
        said = False
        talk.write(speech.opening(self._prompt))
        if not speech.stays:
            talk.end_input()
        for text in self._heard(talk, speech):
            said = said or not text.isspace()
            yield text
        talk.end_input()
        code = talk.wait(time.monotonic() + _LINGERING if speech.over else None)
        self._check(talk, code, said)

    def _heard(self, talk: Talk, speech: Speech) -> Iterator[str]:
        for data in talk.read():
            heard = speech.hear(data)
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


class EchoTurn(Turn):
    """An answer without any program: what to install, and what the person said."""

    def __init__(self, message: str) -> None:
        super().__init__(ECHO, Plan("", (), ""), Speech(), message)

    def __enter__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[str]:
        yield (
            "No AI tool answers here, this is an echo. To talk to one, install it, for example "
            f"with `npm install -g {PACKAGES['claude']}`, or name a command that reads a prompt: "
            "`--tool COMMAND`.\n\n"
        )
        yield f"You said: {self._prompt}"


class Runner(NamedTuple):
    """What answers. `name` is for people; `tool` is one of ours, else `words` are a command; with
    neither it is the echo. `model` is used unless a turn names another."""

    name: str
    tool: str = ""
    words: tuple[str, ...] = ()
    model: str = ""

    def start(self, prompt: str, *, cwd: str, model: str = "", message: str = "") -> Turn:
        """A turn that begins when its block is entered. `message` is what the person said, at the
        end of the prompt: the echo repeats no more than that."""
        if self.tool:
            model = model or self.model
            plan = turn_plan(self.tool, cwd=cwd, model=model)
            return Turn(self.name, plan, speech_of(self.tool, cwd=cwd, model=model), prompt)
        if self.words:
            return Turn(self.name, Plan("", self.words, cwd), Speech(), prompt)
        return EchoTurn(message or prompt)

    def notes(self, cwd: str) -> list[str]:
        """What a person should know before turns are had in a folder."""
        return turn_notes(self.tool, cwd)


def choose_runner(given: str | None, agent: Agent | None, settings: SpawnSettings) -> Runner:
    """What was given, else the environment's, else the person's setting, else the agent's own,
    else the first tool that is installed, else the echo. ToolMissingError, or CortextError for a
    command that is not there."""
    named = given or os.environ.get(VARIABLE, "") or settings.tool or (agent.tool if agent else "")
    named = named.strip()
    if not named:
        there = installed()
        named = there[0] if there else ECHO
    if named == ECHO:
        return Runner(ECHO)
    if named in TOOLS:
        require(named)
        return Runner(named, named, model=_model(agent, named))
    return _command(named)


def _pass_over(tool: str, id: str) -> None:
    """A tool that keeps a session of every turn would fill lists with them."""
    from cortext.app.sync import pass_over

    try:
        pass_over(tool, id, wait=1.0)
    except CortextError as error:
        from cortext.app.errors_log import write_error

        write_error("aur spawn", error)


def _model(agent: Agent | None, tool: str) -> str:
    """The agent's model, if it is one of this tool's."""
    return agent.model if agent and agent.model_of == tool else ""


def _command(text: str) -> Runner:
    try:
        first, *rest = shlex.split(text)
    except ValueError as error:
        said = f"the command {text!r} cannot be read: {str(error).lower()}"
        raise CortextError(said, hint="close its quotes") from None
    program = shutil.which(first)
    if program is None:
        tools = ", ".join(TOOLS)
        raise CortextError(
            f"there is no program {first}", hint=f"--tool is one of {tools}, or a command"
        )
    return Runner(os.path.basename(first), words=(os.path.abspath(program), *rest))


def _hint(why: str) -> str:
    """What a person can do about a complaint that we know."""
    low = why.lower()
    if "trusted" in low and "gemini" in low:
        return "run `gemini` in this folder once, and tell it whether you trust the folder"
    if any(word in low for word in ("log in", "login", "unauthorized", "api key", "auth method")):
        return "start the tool by itself once, and log in"
    return ""
