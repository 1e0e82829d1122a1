"""The client of `cortext serve` for programs without an event loop."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Never, Self

import httpx

from cortext.client import client_argument_checks, client_errors, service_calls
from cortext.client.deadlines import Deadline, Patience
from cortext.client.event_stream_state import SILENCE, FollowedConversation
from cortext.client.responses import ServerResponse, answer_of
from cortext.client.service_calls import Request
from cortext.client.sync_http_transport import Transport, tls_of
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
    """A client for the conversations on the server with the address `url`.

    `token` is the access token. On the server, each token belongs to an owner. The client can use
    only the conversations of that owner.

    Each call takes at most `timeout` seconds. Within this time, the client repeats a failed call if
    the repetition does no harm. A call that creates a conversation is repeated only if the first
    request certainly did not reach the server. `retries` limits the number of repetitions; None
    means no limit.

    The client can be used as a context manager, by several threads, and after a fork.
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
        client_argument_checks.reject_unknown_options("Client", others)
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

        `owner` is any name that groups your conversations, such as the id of one of your users. ""
        means no owner. `metadata` is any data to store with the conversation.
        """
        client_argument_checks.reject_unknown_options("create", others)
        call = service_calls.create(metadata, owner)
        return service_calls.conversation(call, self._send_with_retries(call)).id

    def get(self, id: str) -> Conversation | None:
        """Return a conversation with its last messages, or None if it does not exist.

        The server returns at most as many messages as its option `--window` allows.
        """
        call = service_calls.get(id)
        return service_calls.found(call, self._send_with_retries(call))

    def get_or_create(
        self,
        id: str | None = None,
        *,
        owner: str | None = "",
        metadata: Mapping[str, Any] | None = None,
        **others: Never,
    ) -> Conversation:
        """Return the conversation `id` if it belongs to `owner`, or create a new conversation.

        A new conversation gets a new id, this owner and this metadata. If `owner` is None, the
        conversation may belong to any owner, and a new conversation has no owner.
        """
        client_argument_checks.reject_unknown_options("get_or_create", others)
        call = service_calls.create(metadata, owner, id)
        return service_calls.conversation(call, self._send_with_retries(call))

    def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation.

        Do nothing if the conversation already has a message with the same id. Raises
        SessionNotFoundError if there is no such conversation.
        """
        self.add_if_new(id, message)

    def add_if_new(self, id: str, message: Message) -> bool:
        """Append a message to a conversation, and return whether the message was new.

        Return False if the conversation already has a message with the same id. If the answer of
        the server is lost, the client repeats the call. Then the result may be False although the
        message was new. Raises SessionNotFoundError if there is no such conversation.
        """
        call = service_calls.add_message(id, message)
        return service_calls.added(call, self._send_with_retries(call))

    def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last `limit` messages of a conversation, oldest first.

        The server returns at most as many messages as its option `--window` allows. The list is
        empty if there is no such conversation.
        """
        call = service_calls.get_history(id, limit)
        return service_calls.history(call, self._send_with_retries(call), limit)

    def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a conversation, and return all its metadata.

        `changes` maps keys to their new values. The value None removes a key. Keys that are not in
        `changes` stay. Raises SessionNotFoundError if there is no such conversation.
        """
        call = service_calls.set_metadata(id, changes)
        return service_calls.conversation(call, self._send_with_retries(call)).metadata

    def summary(self, id: str) -> ConversationSummary | None:
        """Return a short summary of a conversation, or None if the conversation does not exist.

        An application can use the summary to decide which agent gets the next message.
        """
        call = service_calls.summary(id)
        return service_calls.parse_summary(call, self._send_with_retries(call))

    def delete(self, id: str) -> None:
        """Delete a conversation permanently. Do nothing if it does not exist."""
        call = service_calls.delete(id)
        service_calls.deleted(call, self._send_with_retries(call))

    def resolve_reference(self, id: str, text: str) -> Reference:
        """Return the item that `text` means, by its name or with words such as "the second one".

        The items are in the structured data of earlier messages, for example in a list of search
        results.
        """
        return resolve(text, self.get_history(id))

    def addMessage(self, id: str, message: Message) -> None:
        """Call `add_message`. The name `addMessage` comes from spec 004."""
        self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """Call `get_history`. The name `getHistory` comes from spec 004."""
        return self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Iterator[Event]:
        """Return an iterator over the events of a conversation, such as new messages.

        The client connects when `next` is called for the first time. The events begin after the
        message with the id `after`. Without `after`, they begin with the next new message. They end
        when the conversation is deleted or expires, or when the client is closed. If the connection
        breaks, the client connects again and continues after the last message.

        The iterator raises ServiceError if the server cannot be reached for `timeout` seconds, and
        SessionNotFoundError if there is no such conversation.
        """
        return self._follow(
            FollowedConversation(self._url, id, after, self._timeout, self._retries)
        )

    def _follow(self, following: FollowedConversation) -> Generator[Event]:
        closings = self._closings
        while not following.has_ended and self._closings == closings:
            try:
                result = yield from self._listen(following)
            except httpx.RequestError as error:
                if self._closings != closings:
                    return
                result = following.lost(error)
            if isinstance(result, Event):
                yield result
                return
            time.sleep(result)

    def _listen(self, following: FollowedConversation) -> Generator[Event, None, float | Event]:
        """Connect to the server once, and yield events until the connection ends.

        Return the seconds to wait before the next connection. If the conversation was deleted,
        return a `deleted` event instead, and no further connection is needed.
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
        """Create an HTTP client for this process.

        A forked child process needs its own HTTP client. If it used the connections of its parent
        process, it would read the parent's answers or close the parent's connections.
        """
        self._transport = Transport(self._tls)
        self._http = httpx.Client(transport=self._transport, headers=self._headers, trust_env=False)
        self._process = os.getpid()

    def _send_with_retries(self, call: Request, patience: Patience | None = None) -> ServerResponse:
        patience = patience or Patience(self._timeout, self._retries)
        last_answer: ServerResponse | None = None
        while True:
            pause = None
            try:
                answer = self._send(call, patience.until)
                if call.again and answer.may_try_again:
                    pause = patience.pause(answer.retry_after)
                if pause is None:
                    return answer
                last_answer = answer
            except httpx.RequestError as error:
                if client_errors.passes(error) and (
                    call.again or not client_errors.was_sent(error)
                ):
                    pause = patience.pause()
                if pause is None and last_answer is not None and client_errors.is_timeout(error):
                    # The server's last answer explains the problem better than a time-out error.
                    return last_answer
                if pause is None:
                    raise client_errors.connection_error(
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
        """Return at most `limit` of your conversations, newest first; None means all.

        If `owner` is given, only the conversations of this owner are returned. "" means
        conversations without an owner.
        """
        client_argument_checks.reject_unknown_options("list", others)
        pages = service_calls.Pages(limit, owner)
        patience = Patience(self._timeout, self._retries)
        while (call := pages.call) is not None:
            pages.take(call, self._send_with_retries(call, patience))
        return pages.found
