"""What other programs send: requests to the MCP server and to the HTTP service."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.stdio import stdio_server

from cortext import MemoryConversationStore
from cortext.asgi import create_app
from cortext.mcp.malformed_requests import answered
from cortext.mcp.mcp_server import Face
from tests.command import begin, ok
from tests.fuzz.target import Feed, Target

_HELLO = b"""\
{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",\
"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}"""
_PATIENCE = 60.0
_LINES = 20


class _Surprises(logging.Handler):
    """What a server logs when it did not foresee something."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))

    def none(self) -> None:
        found, self.found = self.found, []
        assert not found, "\n".join(found)


class _Lines:
    """Both ends of stdio, in this process."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self.sent.get():
            yield line

    async def write(self, text: str) -> None:
        await self.answers.put(text)

    async def flush(self) -> None:
        pass

    async def ask(self, number: int, data: bytes) -> None:
        """Send lines and then a ping: its answer is proof that the server lives."""
        for line in data.split(b"\n")[:_LINES]:
            await self.sent.put(line.decode("utf-8", "replace") + "\n")
        ping = f"ping-{number}"
        await self.sent.put(f'{{"jsonrpc":"2.0","id":"{ping}","method":"ping"}}\n')
        while True:
            answer = await asyncio.wait_for(self.answers.get(), _PATIENCE)
            found = types.jsonrpc_message_adapter.validate_json(answer)
            if getattr(found, "id", None) == ping:
                return


def _mcp(folder: Path) -> Iterator[Feed]:
    """The server, as stdio runs it, in a workspace."""
    ok(folder, "init")
    begin(folder, "plan", "Paging", "How do we page the orders?", "With opaque cursors.")
    lines, count = _Lines(), 0
    surprises = _Surprises()
    logging.getLogger().addHandler(surprises)

    async def serve() -> None:
        server = Face().server
        given: Any = lines
        async with (
            stdio_server(given, given) as (incoming, outgoing),
            answered(incoming, outgoing) as messages,
        ):
            await server.run(messages, outgoing, server.create_initialization_options())

    with chdir(folder), asyncio.Runner() as runner:
        task = runner.get_loop().create_task(serve())
        runner.run(lines.ask(0, _HELLO))

        def feed(data: bytes) -> None:
            nonlocal count
            count += 1
            runner.run(lines.ask(count, data))
            assert not task.done(), "the server ended"
            surprises.none()

        try:
            yield feed
        finally:
            logging.getLogger().removeHandler(surprises)
            lines.sent.put_nowait("")
            runner.run(asyncio.wait_for(task, _PATIENCE))


def _http(folder: Path) -> Iterator[Feed]:
    """The service. An input is `METHOD PATH`, a newline, and the body."""
    surprises = _Surprises()
    logging.getLogger().addHandler(surprises)

    async def ask(app: Any, data: bytes) -> int:
        line, _, body = data.partition(b"\n")
        method, _, target = line.decode("latin-1").partition(" ")
        path, _, query = target.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "root_path": "", "scheme": "http",
            "raw_path": path.encode("latin-1"), "query_string": query.encode("latin-1"),
            "http_version": "1.1", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        }  # fmt: skip
        left = [{"type": "http.request", "body": body, "more_body": False}]
        answers: list[Any] = []

        async def receive() -> Any:
            return left.pop() if left else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            answers.append(message)

        await asyncio.wait_for(app(scope, receive, send), _PATIENCE)
        return answers[0]["status"]

    with asyncio.Runner() as runner:
        store = MemoryConversationStore()
        app = create_app(store)
        id = runner.run(store.create())

        def feed(data: bytes) -> None:
            status = runner.run(ask(app, data.replace(b"{id}", id.encode())))
            assert 200 <= status < 500, f"status {status}"
            surprises.none()

        try:
            yield feed
        finally:
            logging.getLogger().removeHandler(surprises)
            runner.run(store.aclose())


TARGETS = (Target("mcp", _mcp, most=8 << 20, threads=True), Target("http", _http, most=4 << 20))
