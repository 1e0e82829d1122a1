"""A bad network: a TCP proxy on loopback that loses answers, is slow, or goes quiet."""

import asyncio
from typing import Self


class Proxy:
    """Stands before a server. `lose_answers` passes that many requests on and then cuts the
    connection instead of giving the answer; `delay` is added to every answer; with `quiet`
    nothing gets through any more, either way, and no connection is closed."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.port = 0
        self.lose_answers = 0
        self.delay = 0.0
        self.quiet = False
        self.requests = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        # Let those begin that were just accepted: who is cancelled before that closes nothing.
        await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", self.server_port)
            try:
                await self._both_ways(reader, writer, there, to_there)
            finally:
                to_there.close()
        except asyncio.CancelledError:
            return
        finally:
            writer.close()

    async def _both_ways(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        to_there: asyncio.StreamWriter,
    ) -> None:
        ways = [
            asyncio.ensure_future(self._ask(reader, to_there)),
            asyncio.ensure_future(self._answer(there, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _ask(self, reader: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        while request := await reader.read(1 << 20):
            self.requests += 1
            await self._while_quiet()
            there.write(request)
            await there.drain()

    async def _answer(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answer := await there.read(1 << 20):
            if self.lose_answers:
                self.lose_answers -= 1
                return
            await asyncio.sleep(self.delay)
            await self._while_quiet()
            writer.write(answer)
            await writer.drain()

    async def _while_quiet(self) -> None:
        while self.quiet:  # noqa: ASYNC110  a test sets it at any moment
            await asyncio.sleep(0.01)
