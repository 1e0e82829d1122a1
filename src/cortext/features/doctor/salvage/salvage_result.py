"""What could be had of damaged lines, and how a person is told. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.features.doctor.problem import Trouble, counted
from cortext.model.message import SessionMessage


class Rescued(NamedTuple):
    """The records of a file as lines without their newlines, its `heads` with the numbers of their
    lines, where it holds any, what is `torn` off its end, and what is wrong. `messages` are those
    of the lines, `answered` the ids of the tool calls that ride on them; `lost` is how many lines
    may have held one that nobody can read. `nothing` says that something stands there, and no
    message that can be read: then it is to stay as it is. `in_git` is how many messages only git
    has."""

    lines: Sequence[bytes]
    messages: Sequence[SessionMessage]
    heads: Sequence[tuple[int, bytes]]
    torn: bytes
    troubles: Sequence[Trouble]
    answered: frozenset[str] = frozenset()
    lost: int = 0
    nothing: bool = False
    in_git: int = 0

    @property
    def to_write(self) -> bool:
        """Whether the file has to be written anew: a torn end can be cut off."""
        mendable = sum(trouble.mends for trouble in self.troubles)
        return mendable > bool(self.torn)


def can_be_read(rescued: Rescued) -> str:
    """How much of a file is there again when it is written anew, for a plan."""
    text = f"the {counted(len(rescued.messages), 'message')} that can be read"
    if not rescued.messages:
        text = "no messages: none are there"
    text += _of_git(rescued)
    if rescued.lost:
        text += f"; {counted(rescued.lost, 'line')} cannot, and will stay in what is set aside"
    return text


def with_messages(rescued: Rescued) -> str:
    """The same, when it is done."""
    count = len(rescued.messages)
    text = f"with {counted(count, 'message') if count else 'no messages'}{_of_git(rescued)}"
    if rescued.lost:
        text += f"; {counted(rescued.lost, 'line')} could not be read"
    return text


def _of_git(rescued: Rescued) -> str:
    return f", {rescued.in_git} of them from git" if rescued.in_git else ""


def in_time(rescued: Rescued) -> Rescued:
    """Two sides that went on one beside the other are one conversation."""
    both = zip(rescued.messages, rescued.lines, strict=True)
    pairs = sorted(both, key=lambda pair: pair[0].timestamp)
    return rescued._replace(lines=[p[1] for p in pairs], messages=[p[0] for p in pairs])


def runs(numbers: Sequence[int]) -> str:
    """Numbers of lines, in words."""
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"lines {numbers[0]} to {numbers[-1]} are"
    return f"{len(numbers)} lines are"
