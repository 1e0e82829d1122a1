"""Reconcile: compare the messages of a tool's session with the stored ones of its conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from cortext.features.capture.capture_state import CapturedMessage, message_fingerprint
from cortext.formats.message_history import is_abandoned
from cortext.model import record_dicts
from cortext.model.message import SessionMessage

Change = dict[str, Any]
"""The new values of a record; None removes a key."""
Ledger = Mapping[str, CapturedMessage]


class ToolTranscript(NamedTuple):
    """A tool session as it is now: the messages that belong to the conversation, the ids of all
    messages of its live branch, and whether the transcript is undamaged."""

    session: str
    own: Sequence[SessionMessage]
    live: Sequence[str]
    sound: bool


class Copies:
    """Messages that have copies: some tools give the messages of a fork other ids."""

    def __init__(self, messages: Iterable[SessionMessage]) -> None:
        self._messages = list(messages)
        self._there: Counter[tuple[object, ...]] | None = None

    def take(self, message: SessionMessage) -> bool:
        """Return whether a message is a copy of another one, perhaps of one whose secrets were
        redacted. Each message has one copy: a second one is a new message with the same text."""
        if not self._messages:
            return False
        if self._there is None:
            self._there = Counter(map(_likeness, self._messages))
        likeness = _likeness(message)
        if self._there[likeness] <= 0:
            return False
        self._there[likeness] -= 1
        return True


def find_changes(
    ledger: Ledger, stored: Sequence[SessionMessage], reads: Sequence[ToolTranscript]
) -> dict[str, Change]:
    """Return the changes of stored records, by their ids: messages that have grown since, and
    messages that the person abandoned or came back to."""
    there = {message.id: message for message in stored}
    found: dict[str, Change] = {}
    for read in reads:
        for message in read.own:
            had = there.get(message.id)
            if had and _is_more(message, had) and _may_grow(had, ledger, read):
                found.setdefault(message.id, {}).update(record_dicts.message_to_dict(message))
    for message in stored:
        if is_abandoned(message) and any(message.id in read.live for read in reads):
            found.setdefault(message.id, {})["abandoned"] = None
    for id in (id for read in reads if read.sound for id in _find_abandoned(read, ledger, stored)):
        if not is_abandoned(there[id]):
            found.setdefault(id, {})["abandoned"] = True
    return found


def apply_changes(changed: dict[str, Change]) -> Callable[[Any], Any]:
    """Return a function for `rewrite_at` that makes these changes, and no others."""

    def change(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        record = cast("dict[str, Any]", value)
        new = changed.get(str(record.get("id")))
        if not new or "role" not in record:
            return record
        return {key: item for key, item in (record | new).items() if item is not None}

    return change


def _find_abandoned(
    read: ToolTranscript, ledger: Ledger, stored: Sequence[SessionMessage]
) -> Iterator[str]:
    """Yield the messages of a session that are no longer on its live branch.

    The branch has to continue after the last common message: a transcript that only lost messages
    abandoned none.
    """
    live, common = set(read.live), ""
    for message in stored:
        captured = ledger.get(message.id)
        if message.id in live:
            common = message.id
        elif captured and captured.session == read.session and common not in ("", read.live[-1]):
            yield message.id


def _may_grow(had: SessionMessage, ledger: Ledger, read: ToolTranscript) -> bool:
    """Return whether nobody changed a message since it was captured. If that is unknown, only the
    last message of a session may grow."""
    captured = ledger.get(had.id)
    if captured is None:
        return had.id == read.live[-1]
    return captured.fingerprint == message_fingerprint(had)


def _likeness(message: SessionMessage) -> tuple[object, ...]:
    """Return what a message has in common with its copy in a fork, and with its redacted form."""
    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    from cortext.model.secrets.detector import mask_text, without_prints

    said = without_prints(mask_text(message.content)[0])
    return message.role, message.timestamp, message.tool_call_id, calls, said


def _is_more(said: SessionMessage, there: SessionMessage) -> bool:
    """Return whether a message has grown since it was captured: a tool may write an answer while it
    streams. A message that a person or a redaction changed has not."""
    calls, had = said.tool_calls or [], there.tool_calls or []
    longer = len(said.content) > len(there.content) or len(calls) > len(had)
    return longer and said.content.startswith(there.content) and calls[: len(had)] == had
