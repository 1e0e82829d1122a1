"""The commands that run a tool without a terminal, and the parsers for their output.

Each run has one turn: the tool reads one prompt and writes the answer.

A command line contains no part of the prompt. No argument makes a tool skip its own permission
questions. Cortext declines permission questions, because no user can answer them.
"""

from __future__ import annotations

import re
from typing import ClassVar

from cortext.errors import CortextError
from cortext.tools.descriptor import Tool
from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.registry import find_tool
from cortext.tools.tool_output_parsers import Report, Speech

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}")


class Headless:
    """The description of how one tool runs without a terminal: its command and its output format.

    Each run has one turn: a prompt and its answer.
    """

    speech: ClassVar[type[Speech]] = Speech
    """The class that parses the tool's output during a turn."""
    report_words: ClassVar[tuple[str, ...]] = ()
    """The options that make the tool print its answer and its token usage as JSON.

    They are passed to `Launcher.ask` as `extra`.
    """

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        """Return the command that runs one turn: it reads a prompt and writes the answer."""
        raise NotImplementedError

    def notes(self, cwd: str) -> list[str]:
        """Return warnings for the user about runs in `cwd`, such as an untrusted folder."""
        return []

    def explain_failure(self, text: str) -> str:
        """Return advice for the user about the tool's error message `text`, or ""."""
        return ""

    def read_report(self, output: str) -> Report | None:
        """Return the answer and the token usage in the tool's JSON output.

        The result is None if the output contains no answer.
        """
        return None


def headless_of(tool: str) -> Headless:
    """Return the `Headless` object of a tool, which describes its runs without a terminal.

    Raises MissingCapabilityError if cortext cannot run the tool without a terminal.
    """
    descriptor = find_tool(tool)
    return descriptor.load("headless", hint="choose another tool or a command with `--tool NAME`")(
        descriptor
    )


def turn_plan(tool: str, *, cwd: str, model: str = "") -> LaunchPlan:
    """Return the command that runs one turn with a tool: one prompt and its answer.

    The prompt comes on stdin, and the answer goes to stdout. If the tool has an option to store no
    session, the command uses it. Raises CortextError if `model` is not a valid name.
    """
    if model and not _MODEL.fullmatch(model):
        raise CortextError(f"{model!r} is not a valid model name")
    return headless_of(tool).turn(cwd=cwd, model=model)


def speech_of(tool: str, *, cwd: str, model: str = "") -> Speech:
    """Return a parser for the output of a tool, or for plain text if `tool` is ""."""
    kind = headless_of(tool).speech if tool else Speech
    return kind(cwd=cwd, model=model)


def turn_notes(tool: str, cwd: str) -> list[str]:
    """Return warnings for the user about runs of a tool in `cwd`, such as an untrusted folder.

    The result is [] if `tool` is "".
    """
    return headless_of(tool).notes(cwd) if tool else []


def explain_failure(tool: str, text: str) -> str:
    """Return advice for the user about a tool's error message `text`, or ""."""
    return headless_of(tool).explain_failure(text) if find_tool(tool).headless else ""


def read_report(tool: str, output: str) -> Report:
    """Return the answer, the session id and the token usage in the JSON output of a tool.

    If the output has another format, the whole output becomes the answer. So no answer is lost if a
    later release of the tool changes the format.
    """
    return headless_of(tool).read_report(output) or Report(output)
