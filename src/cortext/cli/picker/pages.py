"""What the preview shows of a conversation: read and laid out beside the picker, never by it.

Only some messages are laid out: the last ones, or those around the words that were typed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cortext.errors import CortextError
from cortext.formats import query as queries
from cortext.index.listed import Listed
from cortext.model.text import clean

if TYPE_CHECKING:
    from rich.text import Text

    from cortext.cli.render import Block
    from cortext.formats.query import Term
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

_SHOWN = 24
"""Messages."""
_LONGEST = 6000
"""Characters of a message, of which the rest is left out."""
_RESULT = 1000
"""Characters of what a tool printed."""


class Page(NamedTuple):
    """The lines, which of them have the words, and whether the end is what matters."""

    lines: Sequence[Text]
    matches: Sequence[int]
    from_end: bool


class Wanted(NamedTuple):
    """Which page: of what, how wide, with which words marked, and around which message."""

    row: Listed
    width: int
    text: str
    number: int = 0


def make(wanted: Wanted) -> Page:
    """The page; what cannot be read is said on it."""
    from rich.text import Text

    try:
        text, more = _told(wanted)
    except (CortextError, OSError) as error:
        text, more = Text(clean(str(error)), style="italic"), False
    terms = _terms(wanted.text)
    for start, end in queries.find(text.plain, terms):
        text.stylize("bold yellow reverse", start, end)
    lines = [*text.split("\n", allow_blank=True)]
    matches = [at for at, line in enumerate(lines) if terms and queries.find(line.plain, terms)]
    return Page(lines, matches, from_end=more and not matches)


def _terms(text: str) -> Sequence[Term]:
    """What was typed, of which the last word may not be whole."""
    return queries.parse(as_typed(text)).terms


def as_typed(text: str) -> str:
    """What is typed so far, as a question: its last word may go on."""
    return f"{text}*" if text[-1:].isalnum() else text


def _told(wanted: Wanted) -> tuple[Text, bool]:
    """The conversation, and whether it is its end."""
    from rich.text import Text

    from cortext.cli import render

    row = wanted.row
    if not row.status:
        return Text(_markdown(row) or "nothing was said yet", overflow="fold"), False
    session, first, more = _read(wanted)
    page = render.Page("", [], _blocks(session, first, wanted))
    drawn = list(render.rendered(page, width=wanted.width, colour=True))[1:]
    text = Text.from_ansi("\n".join(drawn).strip("\n") or "nothing was said yet")
    notes = [_left(first - 1, "earlier")] if first > 1 else []
    shown = Text("\n").join([*(Text(f"{note}\n", style="dim") for note in notes), text])
    if more:
        shown.append(f"\n\n{_left(more, 'later')}", style="dim")
    return shown, not more


def _left(count: int, when: str) -> str:
    return f"… {count} {when} message{'s' if count > 1 else ''}"


def _read(wanted: Wanted) -> tuple[Session, int, int]:
    """A part of the session, the number of its first message, and how many come after it."""
    from cortext.model.session import Session

    row = wanted.row
    if not row.tool and not wanted.text and row.messages > 2 * _SHOWN:
        from cortext.lifecycle.workspace import Workspace

        last = Workspace(row.root).store.tail(row.path, _SHOWN)
        return Session(row.key, messages=last), row.messages - len(last) + 1, 0
    session = _whole(row)
    count = len(session.messages)
    start = _start(session.messages, wanted)
    end = min(start + _SHOWN, count)
    if start == 0 and end == count:
        return session, 1, 0
    part = Session(row.key, messages=session.messages[start:end])
    return part, start + 1, count - end


def _whole(row: Listed) -> Session:
    from cortext.app.reading import read

    return read(row, _RESULT)[0]


def _start(messages: Sequence[SessionMessage], wanted: Wanted) -> int:
    """How many messages come before the page: it has the words, or it is the last."""
    last = max(len(messages) - _SHOWN, 0)
    at = wanted.number - 1
    if at < 0 and (terms := _terms(wanted.text)):
        at = _best(messages, terms)
    return last if at < 0 else min(max(at - 2, 0), last)


def _best(messages: Sequence[SessionMessage], terms: Sequence[Term]) -> int:
    """The place of the latest message that has the most of the words; -1 if none has any."""
    best, most = -1, 0
    for at in range(len(messages) - 1, -1, -1):
        found = sum(bool(queries.find(messages[at].content, [term])) for term in terms)
        if found > most:
            best, most = at, found
        if most == len(terms):
            break
    return best


def _blocks(session: Session, first: int, wanted: Wanted) -> list[Block]:
    from cortext.cli.render import Block
    from cortext.formats.history import history

    blocks: list[Block] = []
    told = ""
    for part in history(session, lambda number: f"message {number + first - 1}"):
        past = part.past
        heading = _heading(session, part.number, past.role)
        text = past.text if len(past.text) <= _LONGEST else f"{past.text[:_LONGEST]} …"
        spoken = past.role in ("user", "assistant")
        blocks.append(Block("" if heading == told else heading, past.role, text, markdown=spoken))
        told = heading if past.role != "tool" else told
    return blocks


def _heading(session: Session, number: int, role: str) -> str:
    """Who speaks; what tools did belongs to whoever called them."""
    from cortext.cli.text import local

    if role == "tool" or number > len(session.messages):
        return ""
    message = session.messages[number - 1]
    who = {"user": "you", "assistant": "agent"}.get(role, role)
    return f"{who} · {local(message.timestamp)}"


def _markdown(row: Listed) -> str:
    from cortext.durability.read import read_file
    from cortext.stores.layout import document_in

    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    data = read_file(os.path.join(row.place.folder, name))
    return clean(data.decode("utf-8", "replace")[: 4 * _LONGEST])
