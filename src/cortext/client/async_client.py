"""The client for programs with an event loop: a conversation store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Never, Self
from weakref import WeakSet

import httpx

from cortext.client import client_errors, client_options, requests
from cortext.client.deadlines import Patience
from cortext.client.event_follower import EventFollower
from cortext.client.event_stream import FollowedConversation
from cortext.client.http_connections import LIMITS, tls_of
from cortext.client.requests import Request
from cortext.client.responses import ServerResponse, answer_of
from cortext.errors import CortextError
from cortext.service.stores.conversation_events import Subscription
from cortext.service.stores.ordinal_references import Reference, resolve
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)


class AsyncClient:
    """Conversations on a server at `url`, those of the owner of `token`.

    Each call takes at most `timeout` seconds. In these, what can be repeated is: reading, deleting,
    and adding a message, which has an id; as often as there is time for, or `retries` times. It can
    be used in one event loop after another, and as an async context manager.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = client_options.TIMEOUT,
        retries: int | None = None,
        **others: Never,
    ) -> None:
        client_options.no_others("AsyncClient", others)
        self._url = client_options.base_url(url)
        self._headers = client_options.headers_of(token)
        self._timeout = client_options.seconds(timeout)
        self._retries = client_options.repetitions(retries)
        self._tls = tls_of(self._url)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None
        self._followers: WeakSet[EventFollower] = WeakSet()

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"

    async def create(
        self, *, owner: str = "", metadata: Mapping[str, Any] | None = None, **others: Never
    ) -> str:
        """Begin an empty conversation; its id. `owner` is whose it is, among those that you divide
        yours among."""
        client_options.no_others("create", others)
        call = requests.create(metadata, owner)
        return requests.conversation(call, await self._ask(call)).id

    async def get(self, id: str) -> Conversation | None:
        """The conversation with the messages of its window; None if there is none."""
        call = requests.get(id)
        return requests.found(call, await self._ask(call))

    async def get_or_create(
        self,
        id: str | None = None,
        *,
        owner: str | None = "",
        metadata: Mapping[str, Any] | None = None,
        **others: Never,
    ) -> Conversation:
        """The conversation, if it is this owner's; else a new one of theirs, under another id, with
        this metadata. None is any owner of yours; a new conversation is nobody's then."""
        client_options.no_others("get_or_create", others)
        call = requests.create(metadata, owner, id)
        return requests.conversation(call, await self._ask(call))

    async def add_message(self, id: str, message: Message) -> None:
        """Add a message at the end; SessionNotFoundError if there is no such conversation."""
        await self.add_if_new(id, message)

    async def add_if_new(self, id: str, message: Message) -> bool:
        """As `add_message`, and whether it was added: False if it was there, which it also is when
        an answer was lost and the call repeated."""
        call = requests.add_message(id, message)
        return requests.added(call, await self._ask(call))

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """The last messages, oldest first; none if there is no such conversation."""
        call = requests.get_history(id, limit)
        return requests.history(call, await self._ask(call), limit)

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change these keys of the metadata, and no others; one whose value is None goes. All of
        the metadata as it is then."""
        call = requests.set_metadata(id, changes)
        return requests.conversation(call, await self._ask(call)).metadata

    async def summary(self, id: str) -> ConversationSummary | None:
        """What is needed to route the next message; None without a conversation."""
        call = requests.summary(id)
        return requests.in_short(call, await self._ask(call))

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """What "the second one", "it", "the last" or a name in `text` means, by the structured
        data of earlier messages."""
        return resolve(text, await self.get_history(id))

    async def delete(self, id: str) -> None:
        """Remove the conversation for good; nothing happens if there is none."""
        call = requests.delete(id)
        requests.deleted(call, await self._ask(call))

    async def addMessage(self, id: str, message: Message) -> None:
        """`add_message`, under its name in the service's interface."""
        await self.add_message(id, message)

    async def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """`get_history`, under its name in the service's interface."""
        return await self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Subscription:
        """What is added to a conversation after a message, else from now on, until it is gone or
        the client is closed: `async with client.events(id) as events: async for event in events`.
        A connection that breaks is made anew and goes on after the last message; ServiceError if
        the server cannot be reached for `timeout` seconds, SessionNotFoundError for an id that is
        unknown."""
        following = FollowedConversation(self._url, id, after, self._timeout, self._retries)
        found = EventFollower(self._stream, self._url, following)
        self._followers.add(found)
        return found

    async def aclose(self) -> None:
        """Close the connections, and let those who follow end. The client can be used again
        afterwards."""
        for each in [*self._followers]:
            await each.end()
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
            if self._http is not None and self._loop is not None and self._loop.is_running():
                raise CortextError(
                    "this client is in use in another running event loop",
                    hint="make one client for each loop",
                )
            self._loop = loop
            transport = httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=LIMITS)
            self._http = httpx.AsyncClient(
                transport=transport, headers=self._headers, trust_env=False
            )
        return self._http

    async def _ask(self, call: Request, patience: Patience | None = None) -> ServerResponse:
        patience = patience or Patience(self._timeout, self._retries)
        last: ServerResponse | None = None
        while True:
            pause = None
            try:
                answer = await self._send(call, patience.until)
                if call.again and answer.may_try_again:
                    pause = patience.pause(answer.retry_after)
                if pause is None:
                    return answer
                last = answer
            except httpx.RequestError as error:
                if client_errors.passes(error) and (
                    call.again or not client_errors.was_sent(error)
                ):
                    pause = patience.pause()
                if pause is None and last is not None and client_errors.is_late(error):
                    # It says more than that the next one did not come.
                    return last
                if pause is None:
                    raise client_errors.of_connection(
                        self._url, error, self._timeout, is_safe=call.again
                    ) from None
            await asyncio.sleep(pause)

    async def _send(self, call: Request, seconds: float) -> ServerResponse:
        try:
            async with asyncio.timeout(seconds), self._stream(call, seconds) as response:
                body = await response.aread()
        except TimeoutError:
            # The time-outs of httpx are each for one read.
            raise httpx.ReadTimeout("timed out") from None
        return answer_of(self._url, response.status_code, response.headers, body)

    def _stream(self, call: Request, seconds: float) -> AbstractAsyncContextManager[httpx.Response]:
        return self._client().stream(
            call.method,
            self._url + call.path,
            content=call.content,
            params=dict(call.query),
            timeout=seconds,
        )

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, **others: Never
    ) -> list[ConversationEntry]:
        """Your conversations, or those of one of your owners ("" is none), newest first; a limit of
        None is all."""
        client_options.no_others("list", others)
        pages = requests.Pages(limit, owner)
        patience = Patience(self._timeout, self._retries)
        while (call := pages.call) is not None:
            pages.take(call, await self._ask(call, patience))
        return pages.found
