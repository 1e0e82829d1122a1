"""The events and the state of an ADK session, computed from its stored records.

State is the key-value data of the framework. Each event contains changes of the state. The state is
computed by applying these changes in the order of the records. Therefore a process can add an event
without reading the events of other processes. State that all sessions of a user or an app share is
stored in separate logs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from cortext.adapters.exact_json import to_store, value_of
from cortext.adapters.google_adk.adk_events import event_of, is_part, made_of, own_event
from cortext.adapters.missing_framework import needs
from cortext.adapters.record_reader import Follower
from cortext.adapters.session_log import log
from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.stores.port import SessionStore

with needs("google-adk"):
    from google.adk.events.event import Event
    from google.adk.sessions.state import State

Json = dict[str, Any]
_PREFIXES = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


class Delta(NamedTuple):
    """A change of state, split into the parts for the app, the user and the session.

    The prefixes `app:` and `user:` of the keys are removed. Keys with the prefix `temp:` are left
    out.
    """

    app: Json
    user: Json
    session: Json

    @classmethod
    def of(cls, state: Json) -> Delta:
        def without(prefix: str) -> Json:
            prefixed = {key: value for key, value in state.items() if key.startswith(prefix)}
            return {key.removeprefix(prefix): value for key, value in prefixed.items()}

        own = {key: value for key, value in state.items() if not key.startswith(_PREFIXES)}
        return cls(without(State.APP_PREFIX), without(State.USER_PREFIX), own)


class SessionEvents:
    """The events of one session, and the state that results from them.

    `last` is the time of the last event, or None if there are no events.
    """

    def __init__(self) -> None:
        self.state: Json = {}
        self.waiting: dict[str, str] = {}
        """The tool names of long-running calls that the user has not answered yet, by call id."""
        self.last: float | None = None
        self._events: list[tuple[float, Any]] = []
        self._names: dict[str, str] = {}
        self._calls: set[str] = set()
        self._invocation = ""

    def take(self, records: Iterable[SessionMessage]) -> None:
        for record in records:
            stored = own_event(record)
            if stored is None:
                self._take_other(record)
            else:
                try:
                    self._take_own(stored)
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    log.warning("record %s contains no event: %r", record.id, error)

    def given(self, most: int | None, after: float | None) -> list[Event]:
        """Return copies of the last `most` events, or of all events if `most` is None.

        `after` is a Unix time, or None. Events before this time and unreadable events are left out.
        """
        events = self._events if most is None else self._events[-most:] if most else []
        if after is not None:
            events = [one for one in events if one[0] >= after]
        return [event for _, stored in events if (event := _copy_event(stored)) is not None]

    def has(self, stored: Any) -> bool:
        return any(one == stored for _, one in self._events)

    def _take_own(self, stored: Any) -> None:
        if is_part(stored):
            return
        data = cast("Json", value_of(stored))
        self.last = data["timestamp"]
        self._events.append((data["timestamp"], stored))
        self._invocation = data.get("invocation_id", "")
        self.state.update(Delta.of(data["actions"]["state_delta"]).session)
        long_running = data.get("long_running_tool_ids") or ()
        content: Json = data.get("content") or {}
        parts: list[Json] = content.get("parts") or []
        for part in parts:
            call, answer = part.get("function_call"), part.get("function_response")
            if call:
                self._calls.add(call.get("id") or "")
            if call and call.get("id") in long_running:
                self.waiting[call["id"]] = call.get("name", "")
            # Only the user's answer ends the wait. A tool's result may only say "still running".
            if answer and data.get("author") == "user":
                self.waiting.pop(answer.get("id", ""), None)

    def _take_other(self, record: SessionMessage) -> None:
        # `cortext doctor` adds results for interrupted calls. Ignore these results: a running
        # invocation can still answer its calls, and `repair_events` answers all other calls.
        if record.role == "tool" and record.tool_call_id in self._calls:
            return
        if record.role == "user":
            self._invocation = record.id
        for call in record.tool_calls or ():
            self._names[tool_call_stubs.id_of(call)] = tool_call_stubs.read_call(call).name
        for event in made_of(record, self._names, self._invocation or record.id):
            self._events.append((event.timestamp, event))
            self.last = event.timestamp


class Outline(SessionEvents):
    """The state of one session and the time of its last event, for lists of sessions.

    Unlike its base class, an outline does not hold the events in memory.
    """

    def take(self, records: Iterable[SessionMessage]) -> None:
        super().take(records)
        self._events.clear()


def _copy_event(stored: Any) -> Event | None:
    if isinstance(stored, Event):
        return stored.model_copy(deep=True)
    try:
        return event_of(stored)
    except ValueError as error:
        # A later version of the framework wrote the event, or somebody edited it. Its record stays.
        log.warning("an event is skipped: %s", error)
        return None


class Shared:
    """The state that all sessions of an app or of a user share.

    `changes` is the number of records from which the state was computed.
    """

    def __init__(self) -> None:
        self.state: Json = {}
        self.changes: int = 0

    def take(self, records: Iterable[SessionMessage]) -> None:
        for record in records:
            self.changes += 1
            data: Any = record.structured_data
            if isinstance(data, dict):
                self.state.update(value_of(cast("Json", data)["delta"]))


def shared_record(delta: Json, id: str) -> SessionMessage:
    """Return a record that stores a change of shared state.

    `id` is the id of the event that made the change. It becomes the id of the record, so that a
    retry does not store the change twice.
    """
    data = {"delta": to_store(json_codec.encode(delta))}
    return SessionMessage("system", "", id=id, structured_data=data)


class _Content(Protocol):
    def take(self, records: Iterable[SessionMessage]) -> None: ...


T = TypeVar("T", bound=_Content)


class OpenLog(Generic[T]):
    """The parsed content of one session in memory. Call `now` to get the current content.

    `make` is a function that returns an empty content object, to which the records of the session
    are added. Hold `lock` while using the content.
    """

    def __init__(self, store: SessionStore, id: str, make: Callable[[], T]) -> None:
        self.lock: threading.Lock = threading.Lock()
        self._follower = Follower(store, id)
        self._make = make
        self._content = make()

    def now(self) -> T:
        """Read the new records of the session, and return its current content."""
        is_reset, records = self._follower.new()
        if is_reset:
            self._content = self._make()
        self._content.take(records)
        return self._content
