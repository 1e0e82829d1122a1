"""Bindings: links between a conversation and the sessions of AI tools in which it took place.

A binding says which messages of a tool's session belong to the conversation. `Session.native` has
the bindings as JSON objects. Only this module knows the keys of these objects. Another program may
have written an object, so each binding keeps its original object. This preserves unknown keys,
values of the wrong type and the order of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from cortext.model.session import Session

_MOST_PID = 1 << 31


class ToolBinding(Struct, frozen=True, kw_only=True):
    """The link between a conversation and the part of an AI tool's session that belongs to it.

    A field is None if the stored JSON object does not have it. `session_id` is "" until the id of
    the tool's session is known. Until then, `pid` and `process_start` identify the tool's process.
    """

    tool: str
    session_id: str = ""
    path: str = ""
    """The path at which the tool's transcript was last found."""
    start: str | None = None
    """The id or time of the last message in the tool's session before the conversation begins.

    "" means that the conversation begins with the first message of the session.
    """
    end: str | None = None
    """The id or time of the conversation's last message, or "" if more messages may follow."""
    start_time: str | None = None
    """The time of the message `start`, in case the tool removes this message."""
    end_time: str | None = None
    """The time of the message `end`."""
    pid: int | None = None
    process_start: float | None = None
    """The start time of the process, in seconds since 1970."""
    cwd: str | None = None
    """The working folder of the process."""
    nonce: str | None = None
    """A random text that a command of cortext printed in the tool.

    The transcript that contains this text is the transcript of the tool's session.
    """
    seen_digest: str | None = None
    """A digest of the message ids that the conversation had when the binding was created."""
    tokens: tuple[int, int] | None = None
    """The numbers of prompt and completion tokens.

    They are stored only if the whole session belongs to the conversation.
    """
    malformed: tuple[str, ...] = ()
    """The keys of `source` whose values have a wrong type."""
    source: Mapping[str, Any] | None = None
    """The JSON object from which the binding was read, or None for a new binding."""

    @property
    def is_open(self) -> bool:
        """Whether new messages of the tool's session belong to the conversation."""
        return not self.end

    @property
    def is_pending(self) -> bool:
        """Whether the tool's process is known, but the tool's session is not known yet."""
        return not self.session_id and self.pid is not None and self.process_start is not None

    @property
    def label(self) -> str:
        """The tool and the id of its session, as `TOOL:ID`."""
        return f"{self.tool}:{self.session_id}"

    def is_of(self, tool: str, session_id: str) -> bool:
        return (self.tool, self.session_id) == (tool, session_id)

    def is_open_for(self, tool: str, session_id: str) -> bool:
        """Return whether new messages of the given session belong to the conversation.

        `tool` is the name of the AI tool, and `session_id` is the id of the tool's session.
        """
        return self.is_open and self.is_of(tool, session_id)


def binding_from_json(source: Mapping[str, Any]) -> ToolBinding:
    """Convert a JSON object of `Session.native` to a binding (a link to an AI tool's session).

    A value of the wrong type counts as empty, and its key is listed in `malformed`.
    """
    known = {key: source[key] for key in _KEYS.keys() & source.keys()}
    values = {key: _READERS[key](value) for key, value in known.items()}
    bad = tuple(key for key in _KEYS if key in known and values[key] is None)
    fields: dict[str, Any] = {
        _KEYS[key]: value for key, value in values.items() if value is not None
    }
    # Use "", because None means that the key is absent. `seen_digest` needs this difference.
    fields |= {_KEYS[key]: "" for key in bad if _READERS[key] is _text}
    fields.setdefault("tool", "")
    return ToolBinding(**fields, malformed=bad, source=source)


def binding_to_json(binding: ToolBinding) -> dict[str, Any]:
    """Convert a binding to a JSON object for `Session.native`.

    If the binding was read from such an object, a field that has not changed since then is written
    exactly as before.
    """
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
    """Return the JSON object for `Session.native` that links a whole session of an AI tool.

    `path` is the path of the session's transcript.
    """
    return binding_to_json(ToolBinding(tool=tool, session_id=session_id, path=path))


def bindings_of(session: Session) -> list[ToolBinding]:
    """Return the bindings in `session.native`, the oldest first."""
    return [binding_from_json(each) for each in session.native]


def set_bindings(session: Session, bindings: Iterable[ToolBinding]) -> None:
    session.native = [binding_to_json(each) for each in bindings]


def change_bindings(
    session: Session, matches: Callable[[ToolBinding], bool], **changes: Any
) -> None:
    """Change the bindings of a session for which `matches` returns True.

    `changes` has the new values of fields, by name. A binding is a link to a session of an AI tool.
    """
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
