"""The binding of an AI tool's session to a conversation.

A head lists its bindings under `native` as JSON objects. Only this module knows the keys of these
objects. Anybody may have written the file, so a binding keeps the object that it was read from.
Unknown keys, values of the wrong type and the order of the keys survive a rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from cortext.model.session import Session

_MOST_PID = 1 << 31


class ToolBinding(Struct, frozen=True, kw_only=True):
    """The part of a tool's session that belongs to a conversation.

    A field is None if its key is absent. Until the tool's session is known, `session_id` is "". The
    fields `pid` and `process_start` then name the process that will create the session.
    """

    tool: str
    session_id: str = ""
    path: str = ""
    """The path of the transcript when it was last seen."""
    start: str | None = None
    """The id or time of the last message before the conversation; "" is the session's beginning."""
    end: str | None = None
    """The id or time of the conversation's last message; "" means that it has not ended."""
    start_time: str | None = None
    """The time of the message `start`, for a session that no longer has that message."""
    end_time: str | None = None
    """The time of the message `end`."""
    pid: int | None = None
    process_start: float | None = None
    """The start time of the process, in seconds since 1970."""
    cwd: str | None = None
    """The working folder of the process."""
    nonce: str | None = None
    """A random text that our command printed, so that exactly one transcript contains it."""
    seen_digest: str | None = None
    """A digest of the ids of the messages that the conversation had when the session was bound."""
    tokens: tuple[int, int] | None = None
    """The prompt and completion tokens of the session, if the conversation is the whole session."""
    malformed: tuple[str, ...] = ()
    """The keys of `source` whose value has the wrong type."""
    source: Mapping[str, Any] | None = None
    """The JSON object that the binding was read from; None for a new binding."""

    @property
    def is_open(self) -> bool:
        """Whether new messages of the session belong to the conversation."""
        return not self.end

    @property
    def is_pending(self) -> bool:
        """Whether the process is known but its session is not known yet."""
        return not self.session_id and self.pid is not None and self.process_start is not None

    @property
    def label(self) -> str:
        """The session as `TOOL:ID`."""
        return f"{self.tool}:{self.session_id}"

    def is_of(self, tool: str, session_id: str) -> bool:
        return (self.tool, self.session_id) == (tool, session_id)

    def is_open_for(self, tool: str, session_id: str) -> bool:
        """Return whether new messages of the given session belong to the conversation."""
        return self.is_open and self.is_of(tool, session_id)


def binding_from_json(source: Mapping[str, Any]) -> ToolBinding:
    """Return the binding of a JSON object. A value of the wrong type counts as empty."""
    known = {key: source[key] for key in _KEYS.keys() & source.keys()}
    values = {key: _READERS[key](value) for key, value in known.items()}
    bad = tuple(key for key in _KEYS if key in known and values[key] is None)
    fields: dict[str, Any] = {
        _KEYS[key]: value for key, value in values.items() if value is not None
    }
    # "" and not None, which would mean an absent key. An empty `held`, for example, has a meaning.
    fields |= {_KEYS[key]: "" for key in bad if _READERS[key] is _text}
    fields.setdefault("tool", "")
    return ToolBinding(**fields, malformed=bad, source=source)


def binding_to_json(binding: ToolBinding) -> dict[str, Any]:
    """Return the JSON object of a binding. Fields that did not change keep their stored value."""
    data = dict(binding.source or {})
    before = None if binding.source is None else binding_from_json(data)
    for key, name in _KEYS.items():
        value = getattr(binding, name)
        if before is not None and value == getattr(before, name):
            continue
        if value is not None:
            data[key] = [*value] if isinstance(value, tuple) else value
        else:
            data.pop(key, None)
    return data


def native_entry(tool: str, session_id: str, path: str) -> dict[str, Any]:
    """Return the `native` entry for a session that a tool's reader decoded."""
    return binding_to_json(ToolBinding(tool=tool, session_id=session_id, path=path))


def bindings_of(session: Session) -> list[ToolBinding]:
    """Return the bindings of a session, in the order of their creation."""
    return [binding_from_json(each) for each in session.native]


def set_bindings(session: Session, bindings: Iterable[ToolBinding]) -> None:
    session.native = [binding_to_json(each) for each in bindings]


def change_bindings(
    session: Session, matches: Callable[[ToolBinding], bool], **changes: Any
) -> None:
    """Change the given fields in all bindings of a session that match."""
    set_bindings(
        session,
        (
            structs.replace(each, **changes) if matches(each) else each
            for each in bindings_of(session)
        ),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _pid(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < _MOST_PID else None


def _seconds(value: Any) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def _token_pair(value: Any) -> tuple[int, int] | None:
    match value:
        case [int(prompt), int(completion)]:
            return prompt, completion
        case _:
            return None


_KEYS: Mapping[str, str] = {
    "tool": "tool",
    "session_id": "session_id",
    "path": "path",
    "from": "start",
    "to": "end",
    "since": "start_time",
    "until": "end_time",
    "pid": "pid",
    "started": "process_start",
    "cwd": "cwd",
    "nonce": "nonce",
    "held": "seen_digest",
    "tokens": "tokens",
}
"""The JSON key of each field, in the order in which a new binding is written."""
_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_KEYS, _text),
    "pid": _pid,
    "started": _seconds,
    "tokens": _token_pair,
}
