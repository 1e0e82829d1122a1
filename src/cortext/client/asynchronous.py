"""The client for programs with an event loop: a conversation store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import httpx

from cortext.client import calls
from cortext.client.calls import Answer, Call
from cortext.client.patience import Patience
from cortext.client.stream import SILENCE, Following, headers_of
from cortext.conversations.events import Event, Subscription
from cortext.conversations.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.conversations.references import Reference, resolve


class AsyncClient:
    """Conversations on a server at `url`, those of the owner of `token`.

    Each call takes at most `timeout` seconds, with up to `retries` repetitions of what can be
    repeated: reading, deleting, and adding a message, which has an id. It can be used in one event
    loop after another, and as an async context manager.
    """

    def __init__(
        self, url: str, token: str = "", *, timeout: float = calls.TIMEOUT, retries: int = 2
    ) -> None:
        self._url = calls.base_url(url)
        self._headers = headers_of(token)
        self._timeout = timeout
        self._retries = retries
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None

    async def create(self, *, metadata: Mapping[str, Any] | None = None) -> str:
        """Begin an empty conversation; its id."""
        call = calls.create(metadata)
        return calls.conversation(calls.checked(call, await self._ask(call))).id

    async def get(self, id: str) -> Conversation | None:
        """The conversation with the messages of its window; None if there is none."""
        call = calls.get(id)
        return calls.found(call, await self._ask(call))

    async def get_or_create(self, id: str | None = None) -> Conversation:
        """The conversation, or a new one, which has another id, if there is none."""
        call = calls.get_or_create(id)
        return calls.conversation(calls.checked(call, await self._ask(call)))

    async def add_message(self, id: str, message: Message) -> None:
        """Add a message at the end; SessionNotFoundError if there is no such conversation."""
        call = calls.add_message(id, message)
        calls.checked(call, await self._ask(call))

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """The last messages, oldest first; none if there is no such conversation."""
        call = calls.get_history(id, limit)
        return calls.history(call, await self._ask(call))

    async def summary(self, id: str) -> ConversationSummary | None:
        """What is needed to route the next message; None without a conversation."""
        call = calls.summary(id)
        return calls.in_short(call, await self._ask(call))

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """What "the second one", "it", "the last" or a name in `text` means, by the structured
        data of earlier messages."""
        return resolve(text, await self.get_history(id))

    async def delete(self, id: str) -> None:
        """Remove the conversation for good; nothing happens if there is none."""
        call = calls.delete(id)
        calls.deleted(call, await self._ask(call))

    async def addMessage(self, id: str, message: Message) -> None:
        """`add_message`, under its name in the service's interface."""
        await self.add_message(id, message)

    async def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """`get_history`, under its name in the service's interface."""
        return await self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Subscription:
        """What is added to a conversation after a message, else from now on, until it is gone:
        `async with client.events(id) as events: async for event in events`. A connection that
        breaks is made anew and goes on after the last message; ServiceError if the server cannot
        be reached again for `timeout` seconds."""
        following = Following(self._url, id, after, self._timeout)
        return _Events(self._client(), self._url, following)

    async def aclose(self) -> None:
        """Close the connections. The client can be used again afterwards."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _client(self) -> httpx.AsyncClient:
        """Connections belong to a loop; those of one that has ended are of no use."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._loop = loop
            self._http = httpx.AsyncClient(headers=self._headers, trust_env=False)
        return self._http

    async def _ask(self, call: Call) -> Answer:
        patience = Patience(call, self._timeout, self._retries)
        while True:
            try:
                answer = await self._send(call, patience.seconds)
                pause = patience.pause(answer)
                if pause is None:
                    return answer
            except httpx.TransportError as error:
                pause = patience.pause(was_sent=not isinstance(error, httpx.ConnectError))
                if pause is None:
                    raise self._failure(error) from None
            await asyncio.sleep(pause)

    async def _send(self, call: Call, seconds: float) -> Answer:
        response = await self._client().request(
            call.method,
            self._url + call.path,
            content=call.content,
            params=dict(call.query),
            timeout=seconds,
        )
        return Answer(
            response.status_code, response.content, response.headers.get("retry-after", "")
        )

    def _failure(self, error: httpx.TransportError) -> calls.ServiceError:
        if isinstance(error, httpx.TimeoutException):
            return calls.too_slow(self._url, self._timeout)
        return calls.unreachable(self._url, error)

    async def list(self, *, limit: int | None = 50) -> list[ConversationEntry]:
        """Your conversations, newest first."""
        call = calls.list_conversations(limit)
        return calls.entries(call, await self._ask(call))


class _Events(Subscription):
    """One conversation, over a connection of its own at a time. Who has entered misses nothing:
    by then the server has said where it begins."""

    def __init__(self, http: httpx.AsyncClient, url: str, following: Following) -> None:
        self._http = http
        self._url = url
        self._following = following
        self._events: AsyncGenerator[Event | None] | None = None

    async def start(self) -> None:
        self._events = self._read()
        await anext(self._events)

    async def stop(self) -> None:
        if self._events is not None:
            await self._events.aclose()

    async def __anext__(self) -> Event:
        if self._events is None:
            raise StopAsyncIteration
        while (found := await anext(self._events)) is None:
            pass
        return found

    async def _read(self) -> AsyncGenerator[Event | None]:
        """The events, over one connection after another; None whenever the server said
        something."""
        following = self._following
        while not following.has_ended:
            try:
                async with self._stream(following.call) as response:
                    if response.status_code != 200:
                        again = response.headers.get("retry-after", "")
                        body = await response.aread()
                        found = following.refused(Answer(response.status_code, body, again))
                    else:
                        following.connected()
                        async for data in response.aiter_bytes():
                            events = following.feed(data)
                            yield None
                            for each in events:
                                yield each
                        found = 0.0 if following.has_ended else following.lost()
            except httpx.TransportError as error:
                found = following.lost(error)
            if isinstance(found, Event):
                yield found
                return
            await asyncio.sleep(found)

    def _stream(self, call: Call) -> AbstractAsyncContextManager[httpx.Response]:
        address, query = self._url + call.path, dict(call.query)
        return self._http.stream("GET", address, params=query, timeout=SILENCE)
