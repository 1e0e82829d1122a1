"""Reconcile: compare the messages of tool sessions with the stored messages of a conversation.

The live branch of a session is the branch that the user sees now. The user abandons messages by
going back to an earlier message. The ledger lists the messages that were captured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from cortext.features.capture.capture_state import CapturedMessage, message_fingerprint
from cortext.formats.message_history import is_abandoned
from cortext.model import record_dicts
from cortext.model.message import SessionMessage

Change = dict[str, Any]
"""The new values of a stored message, by key. None removes a key."""
Ledger = Mapping[str, CapturedMessage]


class ToolTranscript(NamedTuple):
    """The current content of a tool session.

    `session` is the label of the session. `own` holds the messages that belong to the conversation.
    `live` holds the ids of all messages on the live branch. `sound` is whether the transcript is
    undamaged.
    """

    session: str
    own: Sequence[SessionMessage]
    live: Sequence[str]
    sound: bool


class Copies:
    """A finder of copied messages. Some tools copy messages into a fork and give them new ids.

    `messages` are the originals.
    """

    def __init__(self, messages: Iterable[SessionMessage]) -> None:
        self._messages = list(messages)
        self._there: Counter[tuple[object, ...]] | None = None

    def take(self, message: SessionMessage) -> bool:
        """Return whether a message is a copy of an original, which may be redacted.

        Each original matches only once. A second equal message is not a copy but new.
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
    """Return the changes to make to stored messages, by message id.

    A message has changed if its text has grown in the tool, or if the user abandoned the message or
    returned to it. `reads` are the bound tool sessions.
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
    """Return a function for `FolderStore.rewrite_at` that changes the stored messages."""

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

    The branch must continue after the last common message. If the transcript only lost messages at
    its end, the user abandoned none.
    """
    live, common = set(read.live), ""
    for message in stored:
        captured = ledger.get(message.id)
        if message.id in live:
            common = message.id
        elif captured and captured.session == read.session and common not in ("", read.live[-1]):
            yield message.id


def _may_grow(had: SessionMessage, ledger: Ledger, read: ToolTranscript) -> bool:
    """Return whether a stored message is unchanged since its capture, so it may be extended.

    If the ledger lacks the message, only the last message of the session may be extended.
    """
    captured = ledger.get(had.id)
    if captured is None:
        return had.id == read.live[-1]
    return captured.fingerprint == message_fingerprint(had)


def _likeness(message: SessionMessage) -> tuple[object, ...]:
    """Return a key that is equal for a message, its copy in a fork, and its redacted form."""
    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    from cortext.model.secrets.detector import mask_text, without_prints

    said = without_prints(mask_text(message.content)[0])
    return message.role, message.timestamp, message.tool_call_id, calls, said


def _is_more(said: SessionMessage, there: SessionMessage) -> bool:
    """Return whether the tool's message `said` extends the stored message `there`.

    A tool may write an answer in parts. A message that the user or a redaction changed does not
    match.
    """
    calls, had = said.tool_calls or [], there.tool_calls or []
    longer = len(said.content) > len(there.content) or len(calls) > len(had)
    return longer and said.content.startswith(there.content) and calls[: len(had)] == had
