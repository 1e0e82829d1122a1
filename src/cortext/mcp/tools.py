"""The tools, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from cortext.errors import CortextError
from cortext.mcp import asked, finding, reading, resuming
from cortext.mcp.answers import Answer, Facts
from cortext.mcp.reach import Reach

_THEIRS = ("wait_for_previous",)
"""What Gemini CLI adds to the arguments of every tool, and passes on."""


class BadArgumentsError(CortextError, ValueError):
    """Arguments that a tool does not take."""

    def __init__(self, tool: str, why: str, names: list[str]) -> None:
        self.tool = tool
        super().__init__(f"{tool}: {why}", hint=f"its arguments are {', '.join(names)}")


class Tool(NamedTuple):
    """A tool: what it takes, what its facts are, whether it changes anything, and whether it needs
    the words of all conversations."""

    run: Callable[[Reach, Any], Answer]
    takes: type[msgspec.Struct]
    gives: type[Facts]
    title: str
    changes: bool = False
    reads_all: bool = False

    @property
    def about(self) -> str:
        return " ".join((self.run.__doc__ or "").split())

    def call(self, name: str, reach: Reach, arguments: dict[str, Any]) -> Answer:
        """CortextError says what is wrong with the arguments, or could not be done."""
        meant = {key: value for key, value in arguments.items() if key not in _THEIRS}
        try:
            given = msgspec.convert(meant, self.takes)
        except msgspec.ValidationError as error:
            names = list(schema(self.takes)["properties"])
            raise BadArgumentsError(name, _sentence(error), names) from None
        return self.run(reach, given)


TOOLS = {
    "search_workspace": Tool(
        finding.search_workspace,
        asked.Search,
        finding.Found,
        "Search past conversations",
        reads_all=True,
    ),
    "get_context": Tool(
        finding.get_context,
        asked.Context,
        finding.Context,
        "What is known about a topic",
        reads_all=True,
    ),
    "list_conversations": Tool(
        finding.list_conversations,
        asked.List,
        finding.Listing,
        "List past conversations",
    ),
    "get_conversation": Tool(
        reading.get_conversation, asked.Get, reading.Page, "Read a past conversation"
    ),
    "get_decisions": Tool(
        finding.get_decisions,
        asked.Decisions,
        finding.Decisions,
        "What was decided",
        reads_all=True,
    ),
    "save_conversation": Tool(
        reading.save_conversation, asked.Save, reading.Saved, "Save a conversation", changes=True
    ),
    "resume_conversation": Tool(
        resuming.resume_conversation,
        asked.Resume,
        resuming.Resumed,
        "Go on with a conversation",
        changes=True,
    ),
}


@cache
def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, with an object at its root as clients want it."""
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root = cast("dict[str, Any]", parts.pop(kind.__name__))
    return {**root, "$defs": parts} if parts else root


def _sentence(error: msgspec.ValidationError) -> str:
    text = str(error)
    return text[:1].lower() + text[1:400]
