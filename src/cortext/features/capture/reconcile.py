"""What a tool has of a conversation now, compared with what is there of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from cortext.features.capture.ledger import Taken, print_of
from cortext.formats.message_history import is_abandoned
from cortext.model import record_dicts
from cortext.model.message import SessionMessage

Change = dict[str, Any]
"""What is new in a record; None takes a key out."""


class ToolTranscript(NamedTuple):
    """A tool session as it is: what of it is the conversation's own, the ids of all that is on
    its live branch, and whether nothing of it was damaged."""

    session: str
    own: Sequence[SessionMessage]
    live: Sequence[str]
    sound: bool


class Copies:
    """Messages that others may be copies of: OpenCode gives those in a fork other ids."""

    def __init__(self, messages: Iterable[SessionMessage]) -> None:
        self._messages = list(messages)
        self._there: Counter[tuple[object, ...]] | None = None

    def take(self, message: SessionMessage) -> bool:
        """Whether it is a copy of one, perhaps of one without the secrets that were in it, with
        whichever key they were masked. Each has one copy: the same words again are said again."""
        if not self._messages:
            return False
        if self._there is None:
            self._there = Counter(map(_likeness, self._messages))
        likeness = _likeness(message)
        if self._there[likeness] <= 0:
            return False
        self._there[likeness] -= 1
        return True


def changes(
    taken: Taken, stored: Sequence[SessionMessage], reads: Sequence[ToolTranscript]
) -> dict[str, Change]:
    """What is to be changed in records that are there, by their ids: those that have grown since,
    and those that the person went back from, or to."""
    there = {message.id: message for message in stored}
    found: dict[str, Change] = {}
    for read in reads:
        for message in read.own:
            had = there.get(message.id)
            if had and _is_more(message, had) and _may_grow(had, taken, read):
                found.setdefault(message.id, {}).update(record_dicts.message_to_dict(message))
    for message in stored:
        if is_abandoned(message) and any(message.id in read.live for read in reads):
            found.setdefault(message.id, {})["abandoned"] = None
    for id in (id for read in reads if read.sound for id in _left(read, taken, stored)):
        if not is_abandoned(there[id]):
            found.setdefault(id, {})["abandoned"] = True
    return found


def rewriting(changed: dict[str, Change]) -> Callable[[Any], Any]:
    """For `rewrite_at`: the records with these changes, all else as it is."""

    def change(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        record = cast("dict[str, Any]", value)
        new = changed.get(str(record.get("id")))
        if not new or "role" not in record:
            return record
        return {key: item for key, item in (record | new).items() if item is not None}

    return change


def _left(read: ToolTranscript, taken: Taken, stored: Sequence[SessionMessage]) -> Iterator[str]:
    """Messages of a session that its live branch has no more, though it has what was before them
    and went on from there: a transcript that only lost something is no such thing."""
    live, common = set(read.live), ""
    for message in stored:
        took = taken.found.get(message.id)
        if message.id in live:
            common = message.id
        elif took and took.session == read.session and common not in ("", read.live[-1]):
            yield message.id


def _may_grow(had: SessionMessage, taken: Taken, read: ToolTranscript) -> bool:
    """Whether nobody changed a message since it was taken. Where that is not known, only the
    last of a session grows."""
    took = taken.found.get(had.id)
    return took.print == print_of(had) if took else had.id == read.live[-1]


def _likeness(message: SessionMessage) -> tuple[object, ...]:
    """What a message has in common with its copy in a fork, and with what masking made of it."""
    from cortext.model.secrets.detector import mask_text, without_prints

    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    said = without_prints(mask_text(message.content)[0])
    return message.role, message.timestamp, message.tool_call_id, calls, said


def _is_more(said: SessionMessage, there: SessionMessage) -> bool:
    """Whether a message has grown since it was captured: a tool may write it as it is said. One
    that a person, or masking, has changed is left as it is."""
    calls, had = said.tool_calls or [], there.tool_calls or []
    longer = len(said.content) > len(there.content) or len(calls) > len(had)
    return longer and said.content.startswith(there.content) and calls[: len(had)] == had
