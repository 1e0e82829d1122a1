"""Runs of a tool without a terminal, each for one turn: one prompt and its answer.

This module gives the command line of a run and the parser of its output.

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
    """The way to run one tool without a terminal, for one turn (a prompt and its answer)."""

    speech: ClassVar[type[Speech]] = Speech
    """The class that parses the tool's output during a turn."""
    report_words: ClassVar[tuple[str, ...]] = ()
    """The options for `Launcher.ask` that make the tool print its answer and usage as JSON."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        """Return the command that runs one turn: it reads a prompt and writes the answer."""
        raise NotImplementedError

    def notes(self, cwd: str) -> list[str]:
        """Return warnings for the user about turns in `cwd`, for example an untrusted folder."""
        return []

    def explain_failure(self, text: str) -> str:
        """Return advice for the user about an error message of the tool, or ""."""
        return ""

    def read_report(self, said: str) -> Report | None:
        """Return the answer and usage in the tool's JSON output, or None if there is no answer."""
        return None


def headless_of(tool: str) -> Headless:
    """Return the object that runs a tool without a terminal.

    Raises MissingCapabilityError if cortext cannot run the tool without a terminal.
    """
    found = find_tool(tool)
    return found.load("headless", hint="`--tool NAME` takes another tool or a command")(found)


def turn_plan(tool: str, *, cwd: str, model: str = "") -> LaunchPlan:
    """Return the command that runs one turn with a tool: one prompt and its answer.

    The prompt comes on stdin, and the answer goes to stdout. The tool stores no session of the
    turn, if it has an option for that. Raises CortextError if `model` is not a valid name.
    """
    if model and not _MODEL.fullmatch(model):
        raise CortextError(f"{model!r} is no name of a model")
    return headless_of(tool).turn(cwd=cwd, model=model)


def speech_of(tool: str, *, cwd: str, model: str = "") -> Speech:
    """Return a parser for the output of a tool. If `tool` is "", the output is plain text."""
    kind = headless_of(tool).speech if tool else Speech
    return kind(cwd=cwd, model=model)


def turn_notes(tool: str, cwd: str) -> list[str]:
    """Return warnings for the user about runs of a tool in `cwd`, such as an untrusted folder."""
    return headless_of(tool).notes(cwd) if tool else []


def explain_failure(tool: str, text: str) -> str:
    """Return advice for the user about an error message of a tool, or ""."""
    return headless_of(tool).explain_failure(text) if find_tool(tool).headless else ""


def read_report(tool: str, said: str) -> Report:
    """Return the answer, session and usage in the JSON output of a tool.

    If the output has another format, all of it becomes the answer. A later release of the tool may
    change the format, and an answer must not be lost.
    """
    return headless_of(tool).read_report(said) or Report(said)
