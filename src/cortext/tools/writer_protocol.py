"""The protocol of writers. A writer stores a conversation as a new session of an AI tool.

The session has the tool's own format. A *turn* is everything that one side (the user or the agent)
says before the other side speaks. Tool calls become text in a turn, so a tool never executes them
again. A writer never changes or deletes sessions that a tool wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Protocol

from cortext.durability.durable_files import make_private_dir, replace, storage_errors, sweep_temps
from cortext.formats.history_budget import BUDGET, window
from cortext.formats.history_in_order import Show, history
from cortext.formats.history_text import Left, Past
from cortext.model import json_codec
from cortext.model.session import Session
from cortext.tools.registry import find_tool

_CALL = "[earlier tool call]"
_NOTE = "[note from the tool]"
_OMITTED = "[omitted]"
_BEGIN = "[the conversation starts with a message from the agent]"
_MEASURE = "0" * 32  # as long as the random nonce of a briefing, to measure the length of text


class Turn(NamedTuple):
    """A turn of a conversation: everything that one side says before the other side speaks.

    `role` is "user" or "assistant". `text` is never empty.
    """

    role: str
    timestamp: datetime
    text: str


class Written(NamedTuple):
    """A session that cortext wrote for a tool.

    `id` is the tool's id for the session. `path` is the path of the file or database that holds the
    session.
    """

    id: str
    path: str


class Writer(Protocol):
    """A writer of new sessions for one tool. The tool can resume these sessions."""

    tool: ClassVar[str]

    def __init__(self, home: str | None = None) -> None:
        """Open the folder `home`, or the tool's own folder if `home` is None."""
        ...

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """Write a new session with the working folder `cwd`, so that the tool can resume it.

        Turns keep their times. If `last` is not "", it is the text of one more user turn, with the
        current time. The model gets this turn, but the screen does not show it if the tool can hide
        a turn. Raises CortextError if the tool does not accept the session.
        """
        ...


def open_writer(tool: str, home: str | None = None) -> Writer:
    """Return the writer of sessions for a tool.

    `home` is the folder to write to, or None for the tool's own folder. Raises
    MissingCapabilityError if cortext cannot write sessions of the tool.
    """
    hint = "choose another tool with `--tool NAME`"
    return find_tool(tool).load("writer", hint=hint)(home)


def turns_of(session: Session, *, show: Show, budget: int = BUDGET) -> list[Turn]:
    """Return a conversation as turns of the user and the agent, beginning with the user.

    If the conversation has more than `budget` characters, the first request and the latest messages
    are kept, and notes replace other messages. Each note contains a command that shows the omitted
    messages. `show` makes this command from the number of a message. If a turn has a time in the
    future, the turn gets the current time.
    """
    view = window(history(session, show, live=True), nonce=_MEASURE, show=show, budget=budget)
    pieces = list(_turn_texts(view.records, session.created_at))
    if pieces and pieces[0][0] == "assistant":
        pieces.insert(0, ("user", pieces[0][1], _BEGIN))
    turns: list[Turn] = []
    texts: list[list[str]] = []
    now = datetime.now(UTC)
    for role, when, text in pieces:
        if turns and turns[-1].role == role:
            texts[-1].append(text)
        else:
            turns.append(Turn(role, min(when, now), ""))
            texts.append([text])
    # Join the texts of a turn: models get several texts without a space between them.
    return [
        turn._replace(text="\n\n".join(parts)) for turn, parts in zip(turns, texts, strict=True)
    ]


def _turn_texts(
    records: Sequence[Past | Left], start: datetime
) -> Iterable[tuple[str, datetime, str]]:
    """Yield the role, time and text of each message and note in `records`.

    A `Left` is a note about omitted messages. Its role is "user", or "assistant" between two
    messages of the agent. The role of a tool call is "assistant".
    """
    when = start
    for place, record in enumerate(records):
        if isinstance(record, Left):
            neighbours = [_role(other) for other in records[max(place - 1, 0) : place + 2 : 2]]
            inside = place and neighbours == ["assistant", "assistant"]
            yield "assistant" if inside else "user", when, f"{_OMITTED} {record.text}"
            continue
        when = record.timestamp
        if not record.text.strip():
            continue
        if record.role == "tool":
            yield "assistant", when, f"{_CALL} {record.text}"
        elif record.role == "system":
            yield "user", when, f"{_NOTE} {record.text}"
        else:
            yield record.role, when, record.text


def _role(record: Past | Left) -> str:
    return "" if isinstance(record, Left) else record.role


def with_last(turns: Sequence[Turn], last: str) -> list[Turn]:
    """Return the turns and one more user turn with the text `last` and the current time.

    If `last` is "", no turn is added.
    """
    return [*turns, Turn("user", datetime.now(UTC), last)] if last else list(turns)


def increasing_times(turns: Sequence[Turn]) -> list[datetime]:
    """Return a time for each turn, at least a millisecond after the time of the previous turn.

    Tools sort turns by time, so equal times could change the order.
    """
    times: list[datetime] = []
    for turn in turns:
        least = times[-1] + timedelta(milliseconds=1) if times else turn.timestamp
        times.append(max(turn.timestamp, least))
    return times


def iso(when: datetime) -> str:
    """Return a time in the format of JavaScript's `toISOString`."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03}Z"


def millis(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def store_lines(path: str, lines: Iterable[Any]) -> None:
    """Write a new file with one JSON value on each line, and create its folder if necessary.

    The file appears only when it is complete, because a tool could list half a session, or delete
    an incomplete file as damaged.
    """
    folder = os.path.dirname(path)
    with storage_errors("write", path):
        make_private_dir(folder)
        sweep_temps(folder)
        replace(path, [json_codec.encode(line) + b"\n" for line in lines])
