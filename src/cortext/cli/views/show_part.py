"""A conversation opened at one of its messages, at its document, or at its sub-agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cortext.cli.views.page_render import Block, Page

if TYPE_CHECKING:
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

_BESIDE = 2
"""Messages that say something, before and after the one that is opened at."""
_FARTHEST = 20
_HERE = "◀"
DOCUMENT, AGENTS = "document", "agents"
"""Where else than in a message a search finds something."""


def around(messages: Sequence[SessionMessage], at: int) -> range:
    """The numbers of a message and of some before and after it. Those that say something count;
    what tools did between them is there as well, unless it is much."""

    def reach(numbers: range) -> int:
        left = _BESIDE
        for number in numbers:
            message = messages[number - 1]
            left -= message.role in ("user", "assistant") and bool(message.content)
            if not left:
                return number
        return numbers[-1] if numbers else at

    first = reach(range(at - 1, max(at - _FARTHEST, 0), -1))
    last = reach(range(at + 1, min(at + _FARTHEST, len(messages)) + 1))
    return range(first, last + 1)


def told_around(session: Session, wanted: range, at: int) -> Iterator[Block]:
    """Messages with their tool calls as stubs, but for the one that is opened at: that is told in
    full, also if it is a result that stands in the stub of its call."""
    from cortext.cli.views.session_blocks import in_full, short

    yield from short(session, range(wanted.start, at))
    yield from in_full(session, range(at, at + 1), alone=False)
    if session.messages[at - 1].tool_calls:
        # What came of them.
        stubs = short(session, range(at, at + 1))
        yield from (block for block in stubs if block.role == "tool" and not block.heading)
    yield from short(session, range(at + 1, wanted.stop))


def opened_at(page: Page, at: int, wanted: range, session: Session | None) -> Page:
    """The page with the message marked, and with how much of the conversation it is."""
    count = len(session.messages) if session else 0
    blocks = (
        block._replace(heading=f"{block.heading} {_HERE}")
        if block.heading.startswith(f"#{at} ")
        else block
        for block in page.blocks
    )
    facts = [*page.facts, f"messages {wanted.start} to {wanted.stop - 1} of {count}"]
    return Page(page.title, facts, blocks)
