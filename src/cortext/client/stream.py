"""Server-sent events, line by line, over connections that may break."""

from __future__ import annotations

import logging
import time

from cortext.client import calls
from cortext.client.calls import Answer, Call
from cortext.conversations.events import Event

_log = logging.getLogger("cortext.client")
SILENCE = 30.0
"""Seconds without a line after which a connection is dead: the server says something before."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_ENDS = ConnectionError("it ends every stream")


def headers_of(token: str) -> dict[str, str]:
    plain = {"Content-Type": "application/json", "User-Agent": "cortext"}
    return {**plain, "Authorization": f"Bearer {token}"} if token else plain


class Lines:
    """Makes events of the bytes of a stream. Lines end with a line feed and nothing else: text
    holds what other programs take for an end. `last` is the message after which what follows
    begins; None while nobody knows."""

    def __init__(self, id: str, after: str | None) -> None:
        self.last = after
        self._id = id
        self.begin()

    def begin(self) -> None:
        """The bytes of another connection come: what the last one left half is void."""
        self._rest = b""
        self._kind = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that end in these bytes."""
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
            message = calls.parse_message(data)
            self.last = message.id
            return Event("message", self._id, message)
        if kind in ("deleted", "expired"):
            return Event("deleted" if kind == "deleted" else "expired", self._id)
        if kind == "begin":
            self.last = calls.parse_begin(data)
        elif kind == "gap":
            _log.warning("messages of conversation %s came too fast to be seen all", self._id)
        return None


class Following:
    """One conversation as it grows. A connection that ends before the conversation does is made
    anew and goes on after the last message, unless none succeeds for `seconds`."""

    def __init__(self, url: str, id: str, after: str | None, seconds: float) -> None:
        self._url = url
        self._id = id
        self._seconds = seconds
        self._lines = Lines(id, after)
        self._pause = 0.0
        self._end = 0.0
        self._was_connected = False
        self.has_ended = False

    @property
    def call(self) -> Call:
        """What to ask for next."""
        return calls.events(self._id, self._lines.last)

    def connected(self) -> None:
        self._lines.begin()
        self._was_connected = True

    def feed(self, data: bytes) -> list[Event]:
        """The events that end in these bytes."""
        self._pause = 0.0
        found = self._lines.feed(data)
        self.has_ended = self.has_ended or any(event.kind != "message" for event in found)
        return found

    def lost(self, error: Exception | None = None) -> float:
        """For how long to wait before the next connection; ServiceError if there was none for too
        long, or never one."""
        pause = self._wait("") if self._was_connected else None
        if pause is None:
            raise calls.unreachable(self._url, error or _ENDS) from None
        return pause

    def refused(self, answer: Answer) -> float | Event:
        """As `lost`, for an answer that is no stream; or the end of a conversation that is gone
        meanwhile. Otherwise the error that the answer is."""
        if self._was_connected and calls.is_missing(answer):
            return Event("deleted", self._id)
        can_wait = self._was_connected and answer.may_try_again
        pause = self._wait(answer.retry_after) if can_wait else None
        if pause is None:
            raise calls.failure(self.call, answer)
        return pause

    def _wait(self, retry_after: str) -> float | None:
        now = time.monotonic()
        if not self._pause:
            self._pause, self._end = _FIRST_PAUSE, now + self._seconds
            _log.info("the events of conversation %s are asked for again", self._id)
        pause = float(retry_after) if retry_after.isdecimal() else self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return pause if now + pause < self._end else None
