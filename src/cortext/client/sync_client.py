"""The client for programs without an event loop."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Never, Self

import httpx

from cortext.client import client_errors, client_options, requests
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
    """Conversations on a server at `url`, those of the owner of `token`.

    Each call takes at most `timeout` seconds. In these, what can be repeated is: reading, deleting,
    and adding a message, which has an id; as often as there is time for, or `retries` times. It can
    be used by several threads and after a fork, and as a context manager.
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
        client_options.no_others("Client", others)
        self._url = client_options.base_url(url)
        self._headers = client_options.headers_of(token)
        self._timeout = client_options.seconds(timeout)
        self._retries = client_options.repetitions(retries)
        self._tls = tls_of(self._url)
        self._process = 0
        self._closings = 0
        self._open()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def create(
        self, *, owner: str = "", metadata: Mapping[str, Any] | None = None, **others: Never
    ) -> str:
        """Begin an empty conversation; its id. `owner` is whose it is, among those that you divide
        yours among."""
        client_options.no_others("create", others)
        call = requests.create(metadata, owner)
        return requests.conversation(call, self._ask(call)).id

    def get(self, id: str) -> Conversation | None:
        """The conversation with the messages of its window; None if there is none."""
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
        """The conversation, if it is this owner's; else a new one of theirs, under another id, with
        this metadata. None is any owner of yours; a new conversation is nobody's then."""
        client_options.no_others("get_or_create", others)
        call = requests.create(metadata, owner, id)
        return requests.conversation(call, self._ask(call))

    def add_message(self, id: str, message: Message) -> None:
        """Add a message at the end; SessionNotFoundError if there is no such conversation."""
        self.add_if_new(id, message)

    def add_if_new(self, id: str, message: Message) -> bool:
        """As `add_message`, and whether it was added: False if it was there, which it also is when
        an answer was lost and the call repeated."""
        call = requests.add_message(id, message)
        return requests.added(call, self._ask(call))

    def get_history(self, id: str, limit: int | None = None) -> Messages:
        """The last messages, oldest first; none if there is no such conversation."""
        call = requests.get_history(id, limit)
        return requests.history(call, self._ask(call), limit)

    def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change these keys of the metadata, and no others; one whose value is None goes. All of
        the metadata as it is then."""
        call = requests.set_metadata(id, changes)
        return requests.conversation(call, self._ask(call)).metadata

    def summary(self, id: str) -> ConversationSummary | None:
        """What is needed to route the next message; None without a conversation."""
        call = requests.summary(id)
        return requests.in_short(call, self._ask(call))

    def delete(self, id: str) -> None:
        """Remove the conversation for good; nothing happens if there is none."""
        call = requests.delete(id)
        requests.deleted(call, self._ask(call))

    def resolve_reference(self, id: str, text: str) -> Reference:
        """What "the second one", "it", "the last" or a name in `text` means, by the structured
        data of earlier messages."""
        return resolve(text, self.get_history(id))

    def addMessage(self, id: str, message: Message) -> None:
        """`add_message`, under its name in the service's interface."""
        self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Messages:
        """`get_history`, under its name in the service's interface."""
        return self.get_history(id, limit)

    def events(self, id: str, *, after: str | None = None) -> Iterator[Event]:
        """What is added to a conversation after a message, else from the first `next` on, until it
        is gone or the client is closed. A connection that breaks is made anew and goes on after
        the last message; ServiceError if the server cannot be reached for `timeout` seconds,
        SessionNotFoundError for an id that is unknown."""
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
        """The events of one connection; then how long to wait for another, or the last event."""
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
        """Connections belong to a process: a child that used its parent's would read its answers,
        and one that closed them would close the parent's."""
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
                    # It says more than that the next one did not come.
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
        """Your conversations, or those of one of your owners ("" is none), newest first; a limit of
        None is all."""
        client_options.no_others("list", others)
        pages = requests.Pages(limit, owner)
        patience = Patience(self._timeout, self._retries)
        while (call := pages.call) is not None:
            pages.take(call, self._ask(call, patience))
        return pages.found
