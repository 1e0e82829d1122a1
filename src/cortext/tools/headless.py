"""Turns with a tool that has no terminal: how it is started, and how its output is read.

Nothing of the prompt is among the words. No word asks a tool to skip a question of its own: what
it would ask a person is declined, for there is none.
"""

from __future__ import annotations

import re
from typing import ClassVar

from cortext.errors import CortextError
from cortext.tools.descriptor import Tool
from cortext.tools.json_answers import Report
from cortext.tools.launch import LaunchPlan
from cortext.tools.registry import find_tool
from cortext.tools.stream_events import Speech

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}")


class Headless:
    """How one tool takes a turn without a terminal."""

    speech: ClassVar[type[Speech]] = Speech
    """What reads the output of a turn."""
    report_words: ClassVar[tuple[str, ...]] = ()
    """The options that ask the tool for a report in JSON, in `Launcher.ask`."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        """Plan one turn. The prompt and the answer use stdin and stdout."""
        raise NotImplementedError

    def notes(self, cwd: str) -> list[str]:
        """Return what a person should know before turns take place in a folder."""
        return []

    def explain_failure(self, text: str) -> str:
        """Return what a person can do about a complaint of the tool; "" if that is not known."""
        return ""

    def read_report(self, said: str) -> Report | None:
        """Return the report in the tool's words; None if they are none."""
        return None


def headless_of(tool: str) -> Headless:
    """Return how a tool takes turns. MissingCapabilityError if it cannot."""
    found = find_tool(tool)
    return found.load("headless", hint="`--tool NAME` takes another tool or a command")(found)


def turn_plan(tool: str, *, cwd: str, model: str = "") -> LaunchPlan:
    """Plan one turn with a tool, whose prompt and answer use stdin and stdout. The tool keeps no
    session of it where it can do without."""
    if model and not _MODEL.fullmatch(model):
        raise CortextError(f"{model!r} is no name of a model")
    return headless_of(tool).turn(cwd=cwd, model=model)


def speech_of(tool: str, *, cwd: str, model: str = "") -> Speech:
    """Return what reads a tool's output; for the tool "", that of any program."""
    kind = headless_of(tool).speech if tool else Speech
    return kind(cwd=cwd, model=model)


def turn_notes(tool: str, cwd: str) -> list[str]:
    """Return what a person should know before turns take place in a folder."""
    return headless_of(tool).notes(cwd) if tool else []


def explain_failure(tool: str, text: str) -> str:
    """Return what a person can do about a complaint of a tool; "" if that is not known."""
    return headless_of(tool).explain_failure(text) if find_tool(tool).headless else ""


def read_report(tool: str, said: str) -> Report:
    """Return a tool's report. A text that is no report is the answer itself: a release may have
    another form of it, and an answer is never lost."""
    return headless_of(tool).read_report(said) or Report(said)
