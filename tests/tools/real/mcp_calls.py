"""Runs of a real tool whose model calls our MCP server."""

from typing import Any

from tests.tools.real.launch import Done, Tool
from tests.tools.real.wire import Call

SEEN = {"claude": "mcp__cortext__{}", "opencode": "cortext_{}", "gemini": "mcp_cortext_{}"}


def asks(name: str, tool: str, **arguments: Any) -> Call:
    """The model calls one of our tools, by the name that it has there."""
    if name == "codex":
        return Call(tool, arguments, namespace="mcp__cortext")
    return Call(SEEN[name].format(tool), arguments)


def run(tool: Tool, prompt: str) -> Done:
    """One headless turn, in which the person allows our tools."""
    arguments, given = tool.turn(prompt, "")
    if tool.name == "claude":
        arguments += ["--allowedTools", "mcp__cortext"]
    elif tool.name == "gemini":
        arguments += ["--approval-mode", "yolo"]
    elif tool.name == "codex":
        # Else its first request does not wait for the server.
        arguments[1:1] = ["-c", "mcp_servers.cortext.required=true"]
    # Not `run`, which would write OpenCode's settings anew.
    return tool.start(arguments, given=given, timeout=120)
