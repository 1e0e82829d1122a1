"""What can be had of a damaged head. Nothing here reads or writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from cortext.app.health.problem import WARNING, Trouble
from cortext.app.health.rescue import whole_characters, whole_value
from cortext.model import json as codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import generate_title
from cortext.stores.checks import refuse_newer
from cortext.stores.layout import is_type

Head = dict[str, Any]
_CUTS = re.compile(r',\s*"')
_ENDS = ("}", "}}", "]}", "]}}")
_MOST_CUTS = 200
_VERSION = re.compile(rb'\{\s*(?:"type"\s*:\s*"[^"]*"\s*,\s*)?"version"\s*:\s*"?(\d[\d.]*)')
_TIMES = ("last_active", "updated_at", "created_at")


class RescuedHead(NamedTuple):
    """The head, empty if nothing of it can be had, and what is wrong."""

    head: Head
    troubles: Sequence[Trouble]


def rescue_head(
    data: bytes, decode: Callable[[bytes], Head], line: int | None = None
) -> RescuedHead:
    """The head that a file or a line holds; `decode` says whether bytes are one."""
    try:
        head = decode(data)
    except ValueError as error:
        return _damaged(data, str(error), line)
    if (whole := whole_characters(data)) is not None:
        text = "a character of the head is cut in the middle"
        return RescuedHead(decode(whole), [Trouble(text, line, WARNING)])
    return RescuedHead(head, ())


def _damaged(data: bytes, why: str, line: int | None) -> RescuedHead:
    if not data.strip(b"\0 \n"):
        return RescuedHead({}, [Trouble("it is empty, and was to hold the head", line)])
    text = data.replace(b"\0", b"").decode("utf-8", "replace")
    found = [whole_value(head) for head in values_in(text) if _is_head(head)]
    if len(found) > 1:
        said = f"it holds {len(found)} heads: the newest counts"
        return RescuedHead(newest(found), [Trouble(said, line)])
    head = found[0] if found else whole_value(_closed(text))
    return RescuedHead(head, [Trouble(f"the head cannot be read: {why}", line)])


def refuse_later(data: bytes, path: str) -> None:
    """NewerVersionError for the head of a later release, whatever else it looks like."""
    try:
        value: Any = codec.decode(data)
    except ValueError:
        value = None
    refuse_newer(cast("Head", value) if isinstance(value, dict) else version_at_start(data), path)


def version_at_start(data: bytes) -> Head:
    """The version that a file begins with which cannot be read: it always stands first."""
    found = _VERSION.match(data)
    return {"version": found[1].decode()} if found else {}


def newest(heads: Sequence[Head]) -> Head:
    """Of several heads of one session the one that was written last."""
    latest = max(range(len(heads)), key=lambda place: (_time(heads[place]), place))
    return heads[latest]


def _time(head: Mapping[str, Any]) -> str:
    return next((str(head[name]) for name in _TIMES if head.get(name)), "")


def _is_head(value: Head) -> bool:
    return "created_at" in value


def values_in(text: str) -> Iterator[Head]:
    """The JSON objects that stand in a text one after the other."""
    import json

    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        if isinstance(value, dict):
            yield cast("Head", value)
        at = text.find("{", end)


def _closed(text: str) -> Head:
    """A head that breaks off, as far as it goes."""
    import json

    cuts = [match.start() for match in _CUTS.finditer(text)]
    for cut in [len(text), *reversed(cuts)][:_MOST_CUTS]:
        for end in _ENDS:
            try:
                value: Any = json.loads(text[:cut] + end, strict=False)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and _is_head(cast("Head", value)):
                return {"status": "paused", **cast("Head", value)}
    return {}


def made_up(name: str, messages: Sequence[SessionMessage], when: datetime) -> Session:
    """The head of a session that has none: from its messages and its name. It began `when`, if it
    has no messages."""
    times = [message.timestamp for message in messages] or [when]
    session = Session(name, created_at=times[0], updated_at=max(times), status="paused")
    session.messages = list(messages)
    number, _, rest = name.partition("-")
    kind, _, topic = rest.partition("-")
    if number.isdecimal() and kind and is_type(kind):
        session.kind = kind
    asked = any(message.role == "user" for message in messages)
    session.title = generate_title(session) if asked or not topic else topic.replace("-", " ")
    return session
