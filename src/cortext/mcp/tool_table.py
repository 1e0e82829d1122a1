"""The table of all tools that the MCP server offers to agents, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from cortext.errors import CortextError
from cortext.mcp import read_and_save_tools, resume_tool, search_and_list_tools, tool_arguments
from cortext.mcp.tool_answers import AnswerFacts, ToolAnswer
from cortext.mcp.visibility import Reach

_IGNORED = ("wait_for_previous",)
"""Arguments that Gemini CLI adds to the calls of all tools. They are ignored."""


class BadArgumentsError(CortextError, ValueError):
    """A tool was called with arguments that are not valid. The hint lists its arguments."""

    def __init__(self, tool: str, why: str, names: list[str]) -> None:
        self.tool = tool
        super().__init__(f"{tool}: {why}", hint=f"its arguments are {', '.join(names)}")


class McpTool(NamedTuple):
    """A tool that agents can call.

    `run` is the function of the tool. `takes` is the struct of its arguments, and `gives` is the
    struct of the facts in its answer. `changes` is True if the tool changes files. `reads_all` is
    True if the tool searches the texts of all conversations, so new messages must be read first.
    """

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
        """Check the arguments, run the tool called `name`, and return its answer.

        `reach` says which conversations the agent may see. Raise BadArgumentsError if the arguments
        are not valid. Raise CortextError if the tool fails.
        """
        known = {key: value for key, value in arguments.items() if key not in _IGNORED}
        try:
            given = msgspec.convert(known, self.takes)
        except msgspec.ValidationError as error:
            names = list(schema(self.takes)["properties"])
            raise BadArgumentsError(name, _sentence(error), names) from None
        return self.run(reach, given)


TOOLS = {
    "search_workspace": McpTool(
        search_and_list_tools.search_workspace,
        tool_arguments.SearchArguments,
        search_and_list_tools.SearchAnswer,
        "Search past conversations",
        reads_all=True,
    ),
    "get_context": McpTool(
        search_and_list_tools.get_context,
        tool_arguments.ContextArguments,
        search_and_list_tools.ContextAnswer,
        "Collect context about a topic",
        reads_all=True,
    ),
    "list_conversations": McpTool(
        search_and_list_tools.list_conversations,
        tool_arguments.List,
        search_and_list_tools.ListAnswer,
        "List past conversations",
    ),
    "get_conversation": McpTool(
        read_and_save_tools.get_conversation,
        tool_arguments.Get,
        read_and_save_tools.MessagesAnswer,
        "Read a past conversation",
    ),
    "get_decisions": McpTool(
        search_and_list_tools.get_decisions,
        tool_arguments.DecisionsArguments,
        search_and_list_tools.DecisionsAnswer,
        "Find decisions",
        reads_all=True,
    ),
    "save_conversation": McpTool(
        read_and_save_tools.save_conversation,
        tool_arguments.Save,
        read_and_save_tools.SavedAnswer,
        "Save a conversation",
        changes=True,
    ),
    "resume_conversation": McpTool(
        resume_tool.resume_conversation,
        tool_arguments.Resume,
        resume_tool.Resumed,
        "Resume a conversation",
        changes=True,
    ),
}


@cache
def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct. Its root is an object, as MCP clients require."""
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root = cast("dict[str, Any]", parts.pop(kind.__name__))
    return {**root, "$defs": parts} if parts else root


def _sentence(error: msgspec.ValidationError) -> str:
    text = str(error)
    return text[:1].lower() + text[1:400]
