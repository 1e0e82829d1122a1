"""Receiving the events of a conversation as server-sent events, over connections that may break.

This module opens no connections. The clients pass received data to it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

import httpx

from cortext.client import client_errors, requests
from cortext.client.deadlines import Deadline, Patience
from cortext.client.requests import Request
from cortext.client.responses import ServerResponse, failure, is_missing
from cortext.errors import CortextError
from cortext.service.stores.conversation_events import Event
from cortext.service.stores.port import Message

_log = logging.getLogger("cortext.client")
SILENCE = 30.0
"""Seconds without data after which a connection counts as broken.

A running server sends data more often, also if there are no events.
"""
_STEADY = 1.0
"""Seconds after which a connection counts as stable. Retries are then counted from zero."""
_KIND = "text/event-stream"
_ENDS = ConnectionError("it ends every stream")


class EventDecoder:
    """A decoder that turns the bytes of a server's event stream into events.

    `last` is the id of the message after which a new connection continues, or None if unknown. An
    id that cannot be part of a URL is never `last`: its message is skipped if the server sends it
    again. Only a line feed ends a line, because message texts may contain other separators.
    """

    def __init__(self, id: str, after: str | None) -> None:
        self.last = after
        self._id = id
        self._unaskable: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Prepare for the bytes of a new connection, and discard an unfinished event."""
        self._rest = b""
        self._kind = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Decode received bytes, and return the events that are now complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [found for line in lines if (found := self._take(line)) is not None]

    def _take(self, line: bytes) -> Event | None:
        if line:
            name, _, value = line.partition(b": ")
            if name == b"event":
                self._kind = value.decode()
            elif name == b"data":
                self._data.append(value)
            return None
        kind, data = self._kind, b"\n".join(self._data)
        self._kind, self._data = "", []
        return self._event(kind, data)

    def _event(self, kind: str, data: bytes) -> Event | None:
        if kind == "message":
            return self._message(requests.parse_message(data))
        if kind in ("deleted", "expired"):
            return Event("deleted" if kind == "deleted" else "expired", self._id)
        if kind == "begin":
            begin = requests.parse_begin(data)
            self.last = begin if requests.can_ask_for(begin) else None
        elif kind == "gap":
            _log.warning("messages of conversation %s came too fast to be seen all", self._id)
        return None

    def _message(self, message: Message) -> Event | None:
        id = message.id or ""
        if id in self._unaskable:
            return None
        if requests.can_ask_for(id):
            self.last = id
            self._unaskable.clear()
        else:
            self._unaskable.add(id)
        return Event("message", self._id, message)


class FollowedConversation:
    """The progress of a client that receives the events of one conversation.

    For each connection, the client sends `call`. It calls `begin` before, `connected` and `feed`
    with the answer, and `lost` or `refused` if the connection ends or is refused. A new connection
    continues after the last message. The events fail if there is no connection for `seconds`.
    """

    def __init__(
        self, url: str, id: str, after: str | None, seconds: float, retries: int | None
    ) -> None:
        self._url = url
        self._id = id
        self._allowed = (seconds, retries)
        self._lines = EventDecoder(id, after)
        self._patience: Patience | None = None
        self._since = 0.0
        self._was_connected = False
        self._refused: ServerResponse | None = None
        self.has_ended: bool = False
        requests.events(id, after)

    @property
    def call(self) -> Request:
        """The request that opens the next connection. It continues after the last message."""
        return requests.events(self._id, self._lines.last)

    def begin(self) -> Deadline:
        """Prepare for a new connection, and return the deadline for the server's answer."""
        self._since = 0.0
        if self._patience is None:
            self._patience = Patience(*self._allowed)
        return self._patience.until

    def connected(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether the server's answer is a stream of events.

        If the result is False, the caller must pass the whole answer to `refused`. Raises
        ServiceError for an answer with status 200 that is not a stream of events.
        """
        if status != 200:
            return False
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if kind != _KIND:
            raise client_errors.bad_answer(
                self._url, f"no events, but {kind or 'something'}", status
            )
        self._lines.begin()
        self._refused = None
        self._since = time.monotonic()
        self._was_connected = True
        return True

    def feed(self, data: bytes) -> list[Event]:
        """Decode received bytes, and return the events that are now complete."""
        found = self._lines.feed(data)
        if found:
            self._patience = None
        self.has_ended = self.has_ended or any(event.kind != "message" for event in found)
        return found

    def lost(self, error: httpx.RequestError | None = None) -> float:
        """Return how many seconds to wait before the next connection, after one was lost.

        `error` is the reason, or None if the server ended the stream. Raises ServiceError if the
        error is permanent, or if there was no connection for too long.
        """
        pause = None if error is not None and not client_errors.passes(error) else self._wait("")
        if pause is None:
            raise self._failure(error) from None
        return pause

    def refused(self, answer: ServerResponse) -> float | Event:
        """Return how many seconds to wait before the next connection, after a refusal.

        `answer` is an answer that is not a stream of events. Returns a `deleted` event instead if
        the conversation was deleted since the last connection. Raises the error that the answer
        describes if a retry does not help, or no time is left.
        """
        if self._was_connected and is_missing(answer):
            return Event("deleted", self._id)
        pause = self._wait(answer.retry_after) if answer.may_try_again else None
        if pause is None:
            raise failure(self._id, answer)
        self._refused = answer
        return pause

    def _failure(self, error: httpx.RequestError | None) -> CortextError:
        if self._refused is not None and error is not None and client_errors.is_late(error):
            return failure(self._id, self._refused)
        if error is None:
            return client_errors.unreachable(self._url, _ENDS)
        seconds = SILENCE if self._since else self._allowed[0]
        return client_errors.of_connection(self._url, error, seconds, is_safe=True)

    def _wait(self, retry_after: str) -> float | None:
        has_held = self._since and time.monotonic() - self._since > _STEADY
        if has_held or self._patience is None:
            self._patience = Patience(*self._allowed)
            _log.info("the events of conversation %s are asked for again", self._id)
            if self._lines.last is None:
                _log.warning("messages of conversation %s may be missed", self._id)
        return self._patience.pause(retry_after)
