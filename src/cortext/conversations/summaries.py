"""A conversation in short, for who decides where the next message goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from cortext.conversations.port import ConversationSummary, Messages
from cortext.model.text import clean

LAST = 3
_MOST_DEEDS = 5
_LONGEST = 80
_NAMING = ("name", "title", "subject", "query", "topic", "label", "id")


class _Deed(NamedTuple):
    """What was done when there is data of a type, and which of its keys say to what."""

    verb: str
    keys: tuple[str, ...]


_deeds: dict[str, _Deed] = {}


def register_type(type: str, verb: str, *keys: str) -> None:
    """Say what an agent did that answers with structured data of this type: `("search",
    "searched for", "query")` makes "searched for React libraries" of `{"type": "search",
    "query": "React libraries"}`. Of several keys the first that is there counts."""
    _deeds[type] = _Deed(verb, keys)


for _type, _verb, *_keys in (
    ("search", "searched for", "query", "topic"),
    ("search_results", "searched for", "query", "topic"),
    ("analysis", "analyzed", "subject", "name", "target", "package"),
    ("comparison", "compared", "items", "subjects"),
    ("recommendation", "recommended", "name", "items"),
    ("list", "listed", "topic", "title", "items"),
    ("code", "wrote", "title", "name", "path", "language"),
    ("error", "failed at", "action", "message"),
):
    register_type(_type, _verb, *_keys)


def summarize(messages: Messages) -> ConversationSummary:
    """What these messages, oldest first, come to."""
    data = [m.structured_data for m in messages if m.structured_data is not None]
    types = [type for value in data if (type := type_of(value))]
    return ConversationSummary(
        messages[-LAST:], data[-1] if data else None, list(dict.fromkeys(types)), _text(messages)
    )


def type_of(data: Any) -> str:
    """The type that structured data says it has, or nothing."""
    found = cast("dict[str, Any]", data).get("type") if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""


def name_of(item: Any) -> str:
    """What people would call a thing in structured data, or nothing."""
    if isinstance(item, dict):
        fields = cast("dict[str, Any]", item)
        found = (fields[key] for key in _NAMING if isinstance(fields.get(key), str))
        return next(found, "")
    return item if isinstance(item, str) else ""


def _text(messages: Messages) -> str:
    deeds = [deed for message in messages if (deed := _deed_of(message.structured_data))]
    last = list(dict.fromkeys(deeds))[-_MOST_DEEDS:]
    if not last:
        asked = (m.content for m in reversed(messages) if m.role == "user" and m.content.strip())
        last = [f'asked "{_short(text)}"' for text in (next(asked, ""),) if text]
    return f"Previous: {', '.join(last)}" if last else ""


def _deed_of(data: Any) -> str:
    """What was done, by the data that it led to, as "searched for React libraries"."""
    type = type_of(data)
    if not type:
        return ""
    deed = _deeds.get(type)
    if deed is None:
        what, name = _short(type.replace("_", " ").replace("-", " ")), _short(name_of(data))
        return f"gave {what} for {name}" if name else f"gave {what}"
    subjects = (_subject(cast("dict[str, Any]", data).get(key)) for key in deed.keys)
    subject = next(filter(None, subjects), "") or _short(name_of(data))
    return f"{deed.verb} {subject}" if subject else f"{deed.verb} something"


def _subject(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        names = [name for item in cast("Sequence[Any]", value) if (name := _short(name_of(item)))]
        return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return _short(value) if isinstance(value, str) else ""


def _short(text: str) -> str:
    """Text of a conversation on one line, without anything but characters to read."""
    line = " ".join(clean(" ".join(text.split()), lines=False).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
