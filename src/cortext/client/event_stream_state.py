"""The state of a subscription to the events of a conversation on a server.

This module decodes the server-sent events, and decides what to do when a connection breaks. It
opens no connections itself: the clients do that, and pass the received data to it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

import httpx

from cortext.client import client_errors, service_calls
from cortext.client.deadlines import Deadline, Patience
from cortext.client.responses import ServerResponse, failure, is_missing
from cortext.client.service_calls import Request
from cortext.errors import CortextError
from cortext.service.stores.conversation_events import Event
from cortext.service.stores.port import Message

_log = logging.getLogger("cortext.client")
SILENCE = 30.0
"""A connection counts as broken after this many seconds without data.

A running server sends data more often than this, even if there are no events.
"""
_STABLE_AFTER = 1.0
"""A connection counts as stable after this many seconds. Retries are then counted from zero."""
_MEDIA_TYPE = "text/event-stream"
_STREAMS_END = ConnectionError("the server ends every event stream")


class EventDecoder:
    """A decoder that turns the bytes of a server's event stream into events.

    `last` is the id of the last message, or None if it is unknown. A new connection sends `last` in
    its URL, so that the server continues after this message.

    An id that cannot be part of a URL never becomes `last`. So the server may send messages with
    such ids again. The decoder skips these repeated messages.
    """

    def __init__(self, id: str, after: str | None) -> None:
        self.last = after
        self._id = id
        self._unusable_ids: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Prepare for the bytes of a new connection. An incomplete event is discarded."""
        self._rest = b""
        self._kind = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Decode received bytes, and return the events that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [event for line in lines if (event := self._decode_line(line)) is not None]

    def _decode_line(self, line: bytes) -> Event | None:
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
            return self._message(service_calls.parse_message(data))
        if kind in ("deleted", "expired"):
            return Event("deleted" if kind == "deleted" else "expired", self._id)
        if kind == "begin":
            begin = service_calls.parse_begin(data)
            self.last = begin if service_calls.fits_in_url(begin) else None
        elif kind == "gap":
            _log.warning(
                "some messages of conversation %s were missed, because they came too fast", self._id
            )
        return None

    def _message(self, message: Message) -> Event | None:
        id = message.id or ""
        if id in self._unusable_ids:
            return None
        if service_calls.fits_in_url(id):
            self.last = id
            self._unusable_ids.clear()
        else:
            self._unusable_ids.add(id)
        return Event("message", self._id, message)


class FollowedConversation:
    """The state of a subscription to the events of one conversation on a server.

    The client uses this object for each connection in these steps:

    - It calls `begin`, and sends the request `call`.
    - It passes the status and the headers of the answer to `connected`.
    - If `connected` returns False, it passes the whole answer to `refused`.
    - Otherwise it passes the received bytes to `feed`.
    - It calls `lost` when the connection ends.

    The first connection starts after the message with the id `after`, and later connections start
    after the last received message. `seconds` limits the time without a connection, and `retries`
    limits the number of attempts. If a limit is exceeded, the methods raise ServiceError.
    """

    def __init__(
        self, url: str, id: str, after: str | None, seconds: float, retries: int | None
    ) -> None:
        self._url = url
        self._id = id
        self._limits = (seconds, retries)
        self._decoder = EventDecoder(id, after)
        self._patience: Patience | None = None
        self._connected_at = 0.0
        self._was_connected = False
        self._refusal: ServerResponse | None = None
        self.has_ended: bool = False
        service_calls.events(id, after)

    @property
    def call(self) -> Request:
        """The request that opens the next connection, for the events after the last message."""
        return service_calls.events(self._id, self._decoder.last)

    def begin(self) -> Deadline:
        """Prepare for a new connection, and return the time-out for the server's answer."""
        self._connected_at = 0.0
        if self._patience is None:
            self._patience = Patience(*self._limits)
        return self._patience.until

    def connected(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether the server has accepted the connection.

        If the result is False, the caller must pass the whole answer to `refused`. Raises
        ServiceError if the status is 200 but the answer is not a stream of events.
        """
        if status != 200:
            return False
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if kind != _MEDIA_TYPE:
            raise client_errors.bad_answer(
                self._url, f"an event stream was expected, not {kind or 'another type'}", status
            )
        self._decoder.begin()
        self._refusal = None
        self._connected_at = time.monotonic()
        self._was_connected = True
        return True

    def feed(self, data: bytes) -> list[Event]:
        """Decode received bytes, and return the events that are complete now."""
        events = self._decoder.feed(data)
        if events:
            self._patience = None
        self.has_ended = self.has_ended or any(event.kind != "message" for event in events)
        return events

    def lost(self, error: httpx.RequestError | None = None) -> float:
        """Handle the end of a connection, and return the seconds to wait before the next one.

        `error` is the reason, or None if the server ended the stream. Raises ServiceError if the
        error is permanent, or if there was no connection for too long.
        """
        pause = (
            None if error is not None and not client_errors.passes(error) else self._next_pause("")
        )
        if pause is None:
            raise self._failure(error) from None
        return pause

    def refused(self, answer: ServerResponse) -> float | Event:
        """Handle an answer that is not a stream of events.

        Return the seconds to wait before the next connection. If the conversation was deleted after
        an earlier connection, return a `deleted` event instead. If a retry cannot help, or if no
        time is left, raise the error that the answer describes.
        """
        if self._was_connected and is_missing(answer):
            return Event("deleted", self._id)
        pause = self._next_pause(answer.retry_after) if answer.may_try_again else None
        if pause is None:
            raise failure(self._id, answer)
        self._refusal = answer
        return pause

    def _failure(self, error: httpx.RequestError | None) -> CortextError:
        if self._refusal is not None and error is not None and client_errors.is_timeout(error):
            return failure(self._id, self._refusal)
        if error is None:
            return client_errors.unreachable(self._url, _STREAMS_END)
        seconds = SILENCE if self._connected_at else self._limits[0]
        return client_errors.connection_error(self._url, error, seconds, is_safe=True)

    def _next_pause(self, retry_after: str) -> float | None:
        was_stable = self._connected_at and time.monotonic() - self._connected_at > _STABLE_AFTER
        if was_stable or self._patience is None:
            self._patience = Patience(*self._limits)
            _log.info("reconnecting to the events of conversation %s", self._id)
            if self._decoder.last is None:
                _log.warning("messages of conversation %s may be missed", self._id)
        return self._patience.pause(retry_after)
