"""The official MCP client, asking our server."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from cortext.mcp.mcp_server import Face
from tests.command import SCRIPT

T = TypeVar("T")


def ask(work: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """What a client of a server in this process finds."""

    async def run() -> T:
        async with Client(Face().server, **options) as client:
            return await work(client)

    return anyio.run(run)


def ask_process(work: Callable[[Client], Awaitable[T]], cwd: Path, **options: Any) -> T:
    """The same of the real `cortext mcp`, which was started in a folder."""

    async def run() -> T:
        server = StdioServerParameters(
            command=SCRIPT, args=["mcp"], env={**os.environ}, cwd=str(cwd)
        )
        async with Client(server, **options) as client:
            return await work(client)

    return anyio.run(run)


def call(name: str, **arguments: Any) -> types.CallToolResult:
    """One call of one tool. `from` and `all` are words of Python: `from_`, `all_`."""
    given = {key.rstrip("_"): value for key, value in arguments.items()}

    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool(name, given)

    return ask(work)


def facts(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    return result.structured_content


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def refused(result: types.CallToolResult) -> str:
    """The sentence and the hint of a call that failed."""
    assert (result.is_error, result.structured_content) == (True, None)
    return text(result)
