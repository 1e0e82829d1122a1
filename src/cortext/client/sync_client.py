"""The client of `cortext serve` for programs without an event loop."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Never, Self

import httpx

from cortext.client import client_argument_checks, client_errors, requests
from cortext.client.deadlines import Deadline, Patience
from cortext.client.event_stream import SILENCE, FollowedConversation
from cortext.client.http_connections import Transport, tls_of
from cortext.client.requests import Request
from cortext.client.responses import ServerResponse, answer_of
from cortext.service.stores.conversation_events import Event
from cortext.service.stores.ordinal_references import Reference, resolve
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)


class Client:
    """A client for the conversations on the server at `url` that belong to the owner of `token`.

    Each call takes at most `timeout` seconds. Within this time, a failed call is repeated if that
    does no harm. A call that creates a conversation is repeated only if the server cannot have
    received it. `retries` limits the number of repetitions. The client can be used as a context
    manager, by several threads, and after a fork.
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
        client_argument_checks.no_others("Client", others)
        self._url = client_argument_checks.base_url(url)
        self._headers = client_argument_checks.headers_of(token)
        self._timeout = client_argument_checks.seconds(timeout)
        self._retries = client_argument_checks.repetitions(retries)
        self._tls = tls_of(self._url)
        self._process = 0
        self._closings = 0
        self._open()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def create(
        self, *, owner: str = "", metadata: Mapping[str, Any] | None = None, **others: Never
    ) -> str:
        """Create an empty conversation and return its id.

        `owner` is any name by which you group your conversations, such as the id of one of your
        users.
        """
        client_argument_checks.no_others("create", others)
        call = requests.create(metadata, owner)
        return requests.conversation(call, self._ask(call)).id

    def get(self, id: str) -> Conversation | None:
        """Return the conversation with its last messages, or None if it does not exist.

        The server decides how many of the last messages it returns (the window).
        """
        call = requests.get(id)
        return requests.found(call, self._ask(call))

    def get_or_create(
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
        return requests.conversation(call, self._ask(call))

    def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation.

        Raises SessionNotFoundError if there is no such conversation.
        """
        self.add_if_new(id, message)

    def add_if_new(self, id: str, message: Message) -> bool:
        """Append a message to a conversation, and return whether the message was new.

        False means that a message with this id was stored already. The result can also be False
        for a new message, if an answer of the server was lost and the call was repeated. Raises
        SessionNotFoundError if there is no such conversation.
        """
        call = requests.add_message(id, message)
        return requests.added(call, self._ask(call))

    def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last `limit` messages of a conversation, oldest first.

        Without `limit`, return all messages that the server holds in its window. The list is empty
        if there is no such conversation.
        """
        call = requests.get_history(id, limit)
        return requests.history(call, self._ask(call), limit)

    def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Set keys in the metadata of a conversation, and return all of its metadata.

        A key with the value None is removed. Keys that are not in `changes` stay.
        """
        call = requests.set_metadata(id, changes)
        return requests.conversation(call, self._ask(call)).metadata

    def summary(self, id: str) -> ConversationSummary | None:
        """Return a short summary of a conversation, or None if the conversation does not exist.

        An application can use the summary to decide which agent gets the next message.
        """
        call = requests.summary(id)
        return requests.in_short(call, self._ask(call))

    def delete(self, id: str) -> None:
        """Delete the conversation permanently. Nothing happens if it does not exist."""
        call = requests.delete(id)
        requests.deleted(call, self._ask(call))

    def resolve_reference(self, id: str, text: str) -> Reference:
        """Return the item that "the second one", "it", "the last" or a name in `text` refers to.

        The items come from the structured data of the earlier messages of the conversation.
        """
        return resolve(text, self.get_history(id))

    def addMessage(self, id: str, message: Message) -> None:
        """Call `add_message`. `addMessage` is its name in the interface of the service."""
        self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """Call `get_history`. `getHistory` is its name in the interface of the service."""
        return self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Iterator[Event]:
        """Return an iterator over the events of a conversation.

        The events begin after the message with the id `after`. Without `after`, they begin with the
        next message after the first call of `next`. They end when the conversation is deleted or
        expires, or when the client is closed. A broken connection is opened again and continues
        after the last message.

        Raises ServiceError if the server cannot be reached for `timeout` seconds, and
        SessionNotFoundError if there is no such conversation.
        """
        return self._follow(
            FollowedConversation(self._url, id, after, self._timeout, self._retries)
        )

    def _follow(self, following: FollowedConversation) -> Generator[Event]:
        closings = self._closings
        while not following.has_ended and self._closings == closings:
            try:
                found = yield from self._listen(following)
            except httpx.RequestError as error:
                if self._closings != closings:
                    return
                found = following.lost(error)
            if isinstance(found, Event):
                yield found
                return
            time.sleep(found)

    def _listen(self, following: FollowedConversation) -> Generator[Event, None, float | Event]:
        """Yield the events of one connection to the server.

        Returns how many seconds to wait before the next connection. Returns the last event instead
        if there will be no more events.
        """
        until = following.begin()
        with self._stream(following.call, until) as response:
            if not following.connected(response.status_code, response.headers):
                return following.refused(self._answer(response))
            until.each = SILENCE
            for data in response.iter_bytes():
                yield from following.feed(data)
        return 0.0 if following.has_ended else following.lost()

    def close(self) -> None:
        """Close the connections. The client can be used again afterwards."""
        self._closings += 1
        if self._process == os.getpid():
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> None:
        """Create the connections of this process.

        A child process must not use the connections of its parent: it would read the parent's
        answers, or close the parent's connections.
        """
        self._transport = Transport(self._tls)
        self._http = httpx.Client(transport=self._transport, headers=self._headers, trust_env=False)
        self._process = os.getpid()

    def _ask(self, call: Request, patience: Patience | None = None) -> ServerResponse:
        patience = patience or Patience(self._timeout, self._retries)
        last: ServerResponse | None = None
        while True:
            pause = None
            try:
                answer = self._send(call, patience.until)
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
            time.sleep(pause)

    def _send(self, call: Request, until: Deadline) -> ServerResponse:
        with self._stream(call, until) as response:
            return self._answer(response)

    def _stream(self, call: Request, timeout: float) -> AbstractContextManager[httpx.Response]:
        if self._process != os.getpid():
            self._open()
        return self._http.stream(
            call.method,
            self._url + call.path,
            content=call.content,
            params=dict(call.query),
            timeout=timeout,
        )

    def _answer(self, response: httpx.Response) -> ServerResponse:
        body = response.read()
        return answer_of(self._url, response.status_code, response.headers, body)

    def list(
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
            pages.take(call, self._ask(call, patience))
        return pages.found
