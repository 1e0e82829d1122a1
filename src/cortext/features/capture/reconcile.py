"""Reconcile: compare the messages of a tool's session with the stored messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from cortext.features.capture.capture_state import CapturedMessage, message_fingerprint
from cortext.formats.message_history import is_abandoned
from cortext.model import record_dicts
from cortext.model.message import SessionMessage

Change = dict[str, Any]
"""The new values of a record. None removes a key."""
Ledger = Mapping[str, CapturedMessage]


class ToolTranscript(NamedTuple):
    """The current state of a tool session.

    `own` has the messages that belong to the conversation. `live` has the ids of all messages on
    the live branch. `sound` is whether the transcript is undamaged.
    """

    session: str
    own: Sequence[SessionMessage]
    live: Sequence[str]
    sound: bool


class Copies:
    """Messages that may have copies, because some tools give new ids to the messages of a fork."""

    def __init__(self, messages: Iterable[SessionMessage]) -> None:
        self._messages = list(messages)
        self._there: Counter[tuple[object, ...]] | None = None

    def take(self, message: SessionMessage) -> bool:
        """Return whether a message is a copy of another message, and use that message up.

        The other message may be redacted. Each message has only one copy: another equal message is
        new.
        """
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
    """Return the changes of stored records, by message id.

    These are messages that have grown, and messages that the user abandoned or returned to.
    """
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
    """Return a function for `rewrite_at` that makes only these changes."""

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
    """Yield the ids of captured messages that are no longer on the live branch of a session.

    The branch must continue after the last common message. A transcript that only lost messages
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
    """Return whether a message is unchanged since its capture.

    If that is unknown, only the last message of a session may grow.
    """
    captured = ledger.get(had.id)
    if captured is None:
        return had.id == read.live[-1]
    return captured.fingerprint == message_fingerprint(had)


def _likeness(message: SessionMessage) -> tuple[object, ...]:
    """Return the values that a message shares with its copy in a fork and its redacted form."""
    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    from cortext.model.secrets.detector import mask_text, without_prints

    said = without_prints(mask_text(message.content)[0])
    return message.role, message.timestamp, message.tool_call_id, calls, said


def _is_more(said: SessionMessage, there: SessionMessage) -> bool:
    """Return whether a message has grown since its capture.

    A tool may write an answer in parts. Changes by a user or a redaction do not count.
    """
    calls, had = said.tool_calls or [], there.tool_calls or []
    longer = len(said.content) > len(there.content) or len(calls) > len(had)
    return longer and said.content.startswith(there.content) and calls[: len(had)] == had
