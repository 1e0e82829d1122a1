"""What is told of a part of a conversation on the page beside the list: what was said, and what
tools did in short, but for what has the words that were typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from cortext.formats.text_search import search_query as queries

if TYPE_CHECKING:
    from cortext.cli.views.page_render import Block
    from cortext.formats.text_search.search_query import Term
    from cortext.model.session import Session

_LONGEST = 6000
"""Characters of a message, of which the rest is left out."""
_BEFORE = 1000
"""Of these, how many before the words."""


class Part(NamedTuple):
    """Messages of a session that are laid out: the number of the first, how many come after them,
    the places in all of it, and the one that is shown."""

    session: Session
    first: int = 1
    after: int = 0
    places: Sequence[int] = ()
    number: int = 0


def blocks(part: Part, terms: Sequence[Term]) -> Iterator[tuple[int, Block]]:
    """Each with the number of its message. The result of a call stands in the stub of that, and
    below it as well if it has the words: then it is what is looked for."""
    from cortext.cli.views.page_render import Block
    from cortext.formats.message_history import history

    told, before = "", part.first - 1
    parts = history(part.session, lambda number: f"message {number + before}")
    folded = _folded(part, {one.number for one in parts})
    for one in parts:
        while folded and folded[0] < one.number:
            yield _result(part, folded.pop(0), terms)
        past = one.past
        heading = _heading(part.session, one.number, past.role)
        spoken = past.role in ("user", "assistant")
        shown = "" if heading == told else heading
        text = past.text if spoken else _with_words(part, one.number, past.text, terms)
        yield one.number + before, Block(shown, past.role, piece(text, terms), spoken)
        told = heading if past.role != "tool" else told
    for number in folded:
        yield _result(part, number, terms)


def _folded(part: Part, told: Set[int]) -> list[int]:
    """Of the messages that have the words, those that have no block; counted from the first."""
    hits = {number - part.first + 1 for number in (*part.places, part.number)}
    return [n for n in range(1, len(part.session.messages) + 1) if n in hits and n not in told]


def _result(part: Part, number: int, terms: Sequence[Term]) -> tuple[int, Block]:
    from cortext.cli.views.page_render import Block

    content = part.session.messages[number - 1].content
    return number + part.first - 1, Block("", "tool", piece(content, terms))


def _with_words(part: Part, number: int, stub: str, terms: Sequence[Term]) -> str:
    """A stub, below which stands what it leaves out, if that is where the words are."""
    from cortext.formats.text_search.searchable_text import wording

    messages = part.session.messages
    if not terms or number > len(messages):
        return stub

    def words_in(text: str) -> int:
        return sum(bool(queries.find(text, [term])) for term in terms)

    message = messages[number - 1]
    said = "" if message.role == "tool" else message.content
    whole = wording(message)[len(said) :].strip()
    return f"{stub}\n{whole}" if words_in(whole) > words_in(stub) else stub


def piece(text: str, terms: Sequence[Term], longest: int = _LONGEST) -> str:
    """Of a long text, the part that has the words, or the beginning."""
    if len(text) <= longest:
        return text
    at = next((start for start, _ in queries.find(text, terms)), 0)
    start = at - _BEFORE if at > longest - _BEFORE else 0
    left, right = "… " if start else "", " …" if start + longest < len(text) else ""
    return f"{left}{text[start : start + longest]}{right}"


def _heading(session: Session, number: int, role: str) -> str:
    """Who speaks; what tools did belongs to whoever called them."""
    from cortext.cli.terminal_text import local

    if role == "tool" or number > len(session.messages):
        return ""
    message = session.messages[number - 1]
    who = {"user": "you", "assistant": "agent"}.get(role, role)
    return f"{who} · {local(message.timestamp)}"
