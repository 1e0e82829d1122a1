"""The tools, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from cortext.errors import CortextError
from cortext.mcp import conversation_tools, resume_tool, search_tools, tool_arguments
from cortext.mcp.tool_answers import AnswerFacts, ToolAnswer
from cortext.mcp.visibility import Reach

_THEIRS = ("wait_for_previous",)
"""What Gemini CLI adds to the arguments of every tool, and passes on."""


class BadArgumentsError(CortextError, ValueError):
    """Arguments that a tool does not take."""

    def __init__(self, tool: str, why: str, names: list[str]) -> None:
        self.tool = tool
        super().__init__(f"{tool}: {why}", hint=f"its arguments are {', '.join(names)}")


class McpTool(NamedTuple):
    """A tool: what it takes, what its facts are, whether it changes anything, and whether it needs
    the words of all conversations."""

    run: Callable[[Reach, Any], ToolAnswer]
    takes: type[msgspec.Struct]
    gives: type[AnswerFacts]
    title: str
    changes: bool = False
    reads_all: bool = False

    @property
    def about(self) -> str:
        return " ".join((self.run.__doc__ or "").split())

    def call(self, name: str, reach: Reach, arguments: dict[str, Any]) -> ToolAnswer:
        """CortextError says what is wrong with the arguments, or could not be done."""
        meant = {key: value for key, value in arguments.items() if key not in _THEIRS}
        try:
            given = msgspec.convert(meant, self.takes)
        except msgspec.ValidationError as error:
            names = list(schema(self.takes)["properties"])
            raise BadArgumentsError(name, _sentence(error), names) from None
        return self.run(reach, given)


TOOLS = {
    "search_workspace": McpTool(
        search_tools.search_workspace,
        tool_arguments.SearchArguments,
        search_tools.SearchAnswer,
        "Search past conversations",
        reads_all=True,
    ),
    "get_context": McpTool(
        search_tools.get_context,
        tool_arguments.ContextArguments,
        search_tools.ContextAnswer,
        "What is known about a topic",
        reads_all=True,
    ),
    "list_conversations": McpTool(
        search_tools.list_conversations,
        tool_arguments.List,
        search_tools.ListAnswer,
        "List past conversations",
    ),
    "get_conversation": McpTool(
        conversation_tools.get_conversation,
        tool_arguments.Get,
        conversation_tools.MessagesAnswer,
        "Read a past conversation",
    ),
    "get_decisions": McpTool(
        search_tools.get_decisions,
        tool_arguments.DecisionsArguments,
        search_tools.DecisionsAnswer,
        "What was decided",
        reads_all=True,
    ),
    "save_conversation": McpTool(
        conversation_tools.save_conversation,
        tool_arguments.Save,
        conversation_tools.SavedAnswer,
        "Save a conversation",
        changes=True,
    ),
    "resume_conversation": McpTool(
        resume_tool.resume_conversation,
        tool_arguments.Resume,
        resume_tool.Resumed,
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
