"""The client for programs without an event loop."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from cortext.client import calls
from cortext.client.calls import Answer, Call
from cortext.client.patience import Patience
from cortext.client.stream import SILENCE, Following, headers_of
from cortext.conversations.events import Event
from cortext.conversations.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.conversations.references import Reference, resolve


class Client:
    """Conversations on a server at `url`, those of the owner of `token`.

    Each call takes at most `timeout` seconds, with up to `retries` repetitions of what can be
    repeated: reading, deleting, and adding a message, which has an id. It can be used by several
    threads, and as a context manager.
    """

    def __init__(
        self, url: str, token: str = "", *, timeout: float = calls.TIMEOUT, retries: int = 2
    ) -> None:
        self._url = calls.base_url(url)
        self._timeout = timeout
        self._retries = retries
        self._http = httpx.Client(headers=headers_of(token), trust_env=False)

    def create(self, *, metadata: Mapping[str, Any] | None = None) -> str:
        """Begin an empty conversation; its id."""
        call = calls.create(metadata)
        return calls.conversation(calls.checked(call, self._ask(call))).id

    def get(self, id: str) -> Conversation | None:
        """The conversation with the messages of its window; None if there is none."""
        call = calls.get(id)
        return calls.found(call, self._ask(call))

    def get_or_create(self, id: str | None = None) -> Conversation:
        """The conversation, or a new one, which has another id, if there is none."""
        call = calls.get_or_create(id)
        return calls.conversation(calls.checked(call, self._ask(call)))

    def add_message(self, id: str, message: Message) -> None:
        """Add a message at the end; SessionNotFoundError if there is no such conversation."""
        call = calls.add_message(id, message)
        calls.checked(call, self._ask(call))

    def get_history(self, id: str, limit: int | None = None) -> Messages:
        """The last messages, oldest first; none if there is no such conversation."""
        call = calls.get_history(id, limit)
        return calls.history(call, self._ask(call))

    def summary(self, id: str) -> ConversationSummary | None:
        """What is needed to route the next message; None without a conversation."""
        call = calls.summary(id)
        return calls.in_short(call, self._ask(call))

    def delete(self, id: str) -> None:
        """Remove the conversation for good; nothing happens if there is none."""
        call = calls.delete(id)
        calls.deleted(call, self._ask(call))

    def resolve_reference(self, id: str, text: str) -> Reference:
        """What "the second one", "it", "the last" or a name in `text` means, by the structured
        data of earlier messages."""
        return resolve(text, self.get_history(id))

    def events(self, id: str, *, after: str | None = None) -> Iterator[Event]:
        """What is added to a conversation after a message, else from the first `next` on, until it
        is gone. A connection that breaks is made anew and goes on after the last message;
        ServiceError if the server cannot be reached again for `timeout` seconds."""
        following = Following(self._url, id, after, self._timeout)
        while not following.has_ended:
            try:
                found = yield from self._listen(following)
            except httpx.TransportError as error:
                found = following.lost(error)
            if isinstance(found, Event):
                yield found
                return
            time.sleep(found)

    def _listen(self, following: Following) -> Generator[Event, None, float | Event]:
        """The events of one connection; then how long to wait for another, or the last event."""
        call = following.call
        address, query = self._url + call.path, dict(call.query)
        with self._http.stream("GET", address, params=query, timeout=SILENCE) as response:
            if response.status_code != 200:
                again = response.headers.get("retry-after", "")
                return following.refused(Answer(response.status_code, response.read(), again))
            following.connected()
            for data in response.iter_bytes():
                yield from following.feed(data)
        return 0.0 if following.has_ended else following.lost()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, call: Call) -> Answer:
        patience = Patience(call, self._timeout, self._retries)
        while True:
            try:
                answer = self._send(call, patience.seconds)
                pause = patience.pause(answer)
                if pause is None:
                    return answer
            except httpx.TransportError as error:
                pause = patience.pause(was_sent=not isinstance(error, httpx.ConnectError))
                if pause is None:
                    raise self._failure(error) from None
            time.sleep(pause)

    def _send(self, call: Call, seconds: float) -> Answer:
        response = self._http.request(
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

    def list(self, *, limit: int | None = 50) -> list[ConversationEntry]:
        """Your conversations, newest first."""
        call = calls.list_conversations(limit)
        return calls.entries(call, self._ask(call))
