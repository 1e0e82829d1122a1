"""Turns with a tool that runs without a terminal: its command line, and how its output is read.

The command line contains no part of the prompt. No argument tells a tool to skip its own permission
questions. Permission questions are declined, because no user can answer them.
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
    """The way in which one tool takes a turn without a terminal."""

    speech: ClassVar[type[Speech]] = Speech
    """The class that reads the output of a turn."""
    report_words: ClassVar[tuple[str, ...]] = ()
    """The options for `Launcher.ask` that make the tool print a report in JSON."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        """Return the plan of one turn. The prompt comes on stdin, and the answer goes to stdout."""
        raise NotImplementedError

    def notes(self, cwd: str) -> list[str]:
        """Return notes for the user about turns in a folder."""
        return []

    def explain_failure(self, text: str) -> str:
        """Return advice about an error message of the tool, or "" if there is none."""
        return ""

    def read_report(self, said: str) -> Report | None:
        """Return the report in the tool's output, or None if the output is no report."""
        return None


def headless_of(tool: str) -> Headless:
    """Return how a tool takes turns. Raises MissingCapabilityError if the tool cannot do that."""
    found = find_tool(tool)
    return found.load("headless", hint="`--tool NAME` takes another tool or a command")(found)


def turn_plan(tool: str, *, cwd: str, model: str = "") -> LaunchPlan:
    """Return the plan of one turn with a tool.

    The prompt comes on stdin, the answer goes to stdout. The tool stores no session of the turn, if
    it has an option for that. Raises CortextError if `model` is not a valid name.
    """
    if model and not _MODEL.fullmatch(model):
        raise CortextError(f"{model!r} is no name of a model")
    return headless_of(tool).turn(cwd=cwd, model=model)


def speech_of(tool: str, *, cwd: str, model: str = "") -> Speech:
    """Return the reader for the output of a tool. If `tool` is "", the output is plain text."""
    kind = headless_of(tool).speech if tool else Speech
    return kind(cwd=cwd, model=model)


def turn_notes(tool: str, cwd: str) -> list[str]:
    """Return notes for the user about turns with a tool in a folder."""
    return headless_of(tool).notes(cwd) if tool else []


def explain_failure(tool: str, text: str) -> str:
    """Return advice about an error message of a tool, or "" if there is none."""
    return headless_of(tool).explain_failure(text) if find_tool(tool).headless else ""


def read_report(tool: str, said: str) -> Report:
    """Return a tool's report. Output that is no report becomes the answer itself.

    A later release of the tool may print reports in another format, and an answer must not be lost.
    """
    return headless_of(tool).read_report(said) or Report(said)
