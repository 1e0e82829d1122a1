"""The client of `cortext serve` for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Never, Self
from weakref import WeakSet

import httpx

from cortext.client import client_argument_checks, client_errors, requests
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
    """A client for the conversations on the server at `url` that belong to the owner of `token`.

    Each call takes at most `timeout` seconds. Within this time, a failed call is repeated if that
    does no harm. A call that creates a conversation is repeated only if the server cannot have
    received it. `retries` limits the number of repetitions. The client can be used as an async
    context manager, and in one event loop after another.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = client_argument_checks.TIMEOUT,
        retries: int | None = None,
        **others: Never,
    ) -> None:
        client_argument_checks.no_others("AsyncClient", others)
        self._url = client_argument_checks.base_url(url)
        self._headers = client_argument_checks.headers_of(token)
        self._timeout = client_argument_checks.seconds(timeout)
        self._retries = client_argument_checks.repetitions(retries)
        self._tls = tls_of(self._url)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None
        self._followers: WeakSet[EventFollower] = WeakSet()

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"

    async def create(
        self, *, owner: str = "", metadata: Mapping[str, Any] | None = None, **others: Never
    ) -> str:
        """Create an empty conversation and return its id.

        `owner` is any name by which you group your conversations, such as the id of one of your
        users.
        """
        client_argument_checks.no_others("create", others)
        call = requests.create(metadata, owner)
        return requests.conversation(call, await self._ask(call)).id

    async def get(self, id: str) -> Conversation | None:
        """Return the conversation with its last messages, or None if it does not exist.

        The server decides how many of the last messages it returns (the window).
        """
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
        """Return the conversation with this id if it belongs to `owner`, otherwise a new one.

        A new conversation gets a new id, this owner and this metadata. None as `owner` accepts a
        conversation of any owner. A new conversation then has no owner.
        """
        client_argument_checks.no_others("get_or_create", others)
        call = requests.create(metadata, owner, id)
        return requests.conversation(call, await self._ask(call))

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation.

        Raises SessionNotFoundError if there is no such conversation.
        """
        await self.add_if_new(id, message)

    async def add_if_new(self, id: str, message: Message) -> bool:
        """Append a message to a conversation, and return whether the message was new.

        False means that a message with this id was stored already. The result can also be False
        for a new message, if an answer of the server was lost and the call was repeated. Raises
        SessionNotFoundError if there is no such conversation.
        """
        call = requests.add_message(id, message)
        return requests.added(call, await self._ask(call))

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last `limit` messages of a conversation, oldest first.

        Without `limit`, return all messages that the server holds in its window. The list is empty
        if there is no such conversation.
        """
        call = requests.get_history(id, limit)
        return requests.history(call, await self._ask(call), limit)

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Set keys in the metadata of a conversation, and return all of its metadata.

        A key with the value None is removed. Keys that are not in `changes` stay.
        """
        call = requests.set_metadata(id, changes)
        return requests.conversation(call, await self._ask(call)).metadata

    async def summary(self, id: str) -> ConversationSummary | None:
        """Return a short summary of a conversation, or None if the conversation does not exist.

        An application can use the summary to decide which agent gets the next message.
        """
        call = requests.summary(id)
        return requests.in_short(call, await self._ask(call))

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """Return the item that "the second one", "it", "the last" or a name in `text` refers to.

        The items come from the structured data of the earlier messages of the conversation.
        """
        return resolve(text, await self.get_history(id))

    async def delete(self, id: str) -> None:
        """Delete the conversation permanently. Nothing happens if it does not exist."""
        call = requests.delete(id)
        requests.deleted(call, await self._ask(call))

    async def addMessage(self, id: str, message: Message) -> None:
        """Call `add_message`. `addMessage` is its name in the interface of the service."""
        await self.add_message(id, message)

    async def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """Call `get_history`. `getHistory` is its name in the interface of the service."""
        return await self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Subscription:
        """Return a subscription to the events of a conversation.

        Use it with `async with client.events(id) as events: async for event in events`.

        The events begin after the message with the id `after`. Without `after`, they begin with the
        next message. They end when the conversation is deleted or expires, or when the client is
        closed. A broken connection is opened again and continues after the last message.

        Raises ServiceError if the server cannot be reached for `timeout` seconds, and
        SessionNotFoundError if there is no such conversation.
        """
        following = FollowedConversation(self._url, id, after, self._timeout, self._retries)
        found = EventFollower(self._stream, self._url, following)
        self._followers.add(found)
        return found

    async def aclose(self) -> None:
        """Close the connections and end all iterations over events.

        The client can be used again afterwards.
        """
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
        """Return the HTTP client of the running event loop.

        A new loop gets a new HTTP client, because connections belong to one loop. Raises
        CortextError if the client is in use in another running loop.
        """
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
                    # The last answer explains more than a time-out error.
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
            # httpx limits only each single read, so `asyncio.timeout` limits the whole call.
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
        """Return at most `limit` of your conversations, the newest first.

        None as `limit` returns all conversations. With `owner`, return only the conversations of
        this owner. "" selects conversations without an owner.
        """
        client_argument_checks.no_others("list", others)
        pages = requests.Pages(limit, owner)
        patience = Patience(self._timeout, self._retries)
        while (call := pages.call) is not None:
            pages.take(call, await self._ask(call, patience))
        return pages.found
