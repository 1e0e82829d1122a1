"""Reconcile: compare the messages of tool sessions with the stored messages of a conversation.

If the user goes back to an earlier message in the tool, the session gets a new branch, and the
later messages are abandoned. The live branch is the branch that the user sees now. The ledger is
the list of captured messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from cortext.features.capture.capture_progress_and_ledger import (
    CapturedMessage,
    message_fingerprint,
)
from cortext.formats.history_in_order import is_abandoned
from cortext.model import message_dicts
from cortext.model.message import SessionMessage

Change = dict[str, Any]
"""The new values of a stored message, by key. None removes a key."""
Ledger = Mapping[str, CapturedMessage]


class ToolTranscript(msgspec.Struct, frozen=True):
    """The current content of a tool session.

    `session` is the label of the session. `own` holds the messages that belong to the conversation.
    `live` holds the ids of all messages on the live branch, which the user sees now. `sound` says
    whether the transcript is undamaged.
    """

    session: str
    own: Sequence[SessionMessage]
    live: Sequence[str]
    sound: bool


class Copies:
    """Recognises messages that are copies of the given messages, the originals.

    Some tools copy messages into a fork of a session and give the copies new ids.
    """

    def __init__(self, messages: Iterable[SessionMessage]) -> None:
        self._messages = list(messages)
        self._counts: Counter[tuple[object, ...]] | None = None

    def take(self, message: SessionMessage) -> bool:
        """Return whether a message is a copy of an original.

        Each original can have only one copy, so a second equal message counts as new. A message
        also counts as a copy if its original has been redacted.
        """
        if not self._messages:
            return False
        if self._counts is None:
            self._counts = Counter(map(_comparison_key, self._messages))
        key = _comparison_key(message)
        if self._counts[key] <= 0:
            return False
        self._counts[key] -= 1
        return True


def find_changes(
    ledger: Ledger, stored: Sequence[SessionMessage], reads: Sequence[ToolTranscript]
) -> dict[str, Change]:
    """Return the changes to make to stored messages, by message id.

    A stored message must change in three cases:

    - Its text has grown in the tool.
    - The user abandoned the message by going back to an earlier message.
    - The user returned to a message that was abandoned before.

    `ledger` lists the captured messages, and `reads` are the bound tool sessions.
    """
    stored_by_id = {message.id: message for message in stored}
    changes: dict[str, Change] = {}
    for read in reads:
        for message in read.own:
            old = stored_by_id.get(message.id)
            if old and _extends(message, old) and _may_extend(old, ledger, read):
                changes.setdefault(message.id, {}).update(message_dicts.message_to_dict(message))
    for message in stored:
        if is_abandoned(message) and any(message.id in read.live for read in reads):
            changes.setdefault(message.id, {})["abandoned"] = None
    for id in (id for read in reads if read.sound for id in _find_abandoned(read, ledger, stored)):
        if not is_abandoned(stored_by_id[id]):
            changes.setdefault(id, {})["abandoned"] = True
    return changes


def apply_changes(changed: dict[str, Change]) -> Callable[[Any], Any]:
    """Return a function for `FolderStore.rewrite_at` that changes the stored messages.

    `changed` holds the changes by message id.
    """

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
    """Yield the ids of captured messages that the user abandoned by going back in the session.

    Abandoned messages are not on the live branch of `read`, the branch that the user sees now. The
    live branch has other messages in their place. If the live branch only ends before the captured
    messages, nothing is abandoned: the transcript may be incomplete.
    """
    live, common = set(read.live), ""
    for message in stored:
        captured = ledger.get(message.id)
        if message.id in live:
            common = message.id
        elif captured and captured.session == read.session and common not in ("", read.live[-1]):
            yield message.id


def _may_extend(stored: SessionMessage, ledger: Ledger, read: ToolTranscript) -> bool:
    """Return whether new text from the tool may replace the text of the message `stored`.

    The ledger is the list of captured messages. If the message is in the ledger, the result is True
    if the message has not changed since its capture. If the message is not in the ledger, the
    result is True if it is the last message of the session.
    """
    captured = ledger.get(stored.id)
    if captured is None:
        return stored.id == read.live[-1]
    return captured.fingerprint == message_fingerprint(stored)


def _comparison_key(message: SessionMessage) -> tuple[object, ...]:
    """Return a key for finding copies of a message.

    A message, its copy in a fork of the session, and its redacted version have the same key.
    """
    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    from cortext.model.secrets.detector import mask_text, without_fingerprints

    text = without_fingerprints(mask_text(message.content)[0])
    return message.role, message.timestamp, message.tool_call_id, calls, text


def _extends(new: SessionMessage, stored: SessionMessage) -> bool:
    """Return whether the tool's message `new` is `stored` with more text or tool calls at its end.

    This happens when a tool writes an answer in parts. The result is False if the user or a
    redaction changed the stored message.
    """
    calls, old_calls = new.tool_calls or [], stored.tool_calls or []
    longer = len(new.content) > len(stored.content) or len(calls) > len(old_calls)
    return (
        longer and new.content.startswith(stored.content) and calls[: len(old_calls)] == old_calls
    )
