"""A conversation opened at one of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cortext.cli.render import Page

if TYPE_CHECKING:
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

_BESIDE = 2
"""Messages that say something, before and after the one that is opened at."""
_FARTHEST = 20
_HERE = "◀"


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
