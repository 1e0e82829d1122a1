"""The port of writers: a conversation as a new session of an AI tool, in the tool's own format.

Terms: a *turn* is all that one side says before the other speaks. What was a tool call is text in
a turn, never a call: nothing of the past is executed. A writer makes new files, and changes or
deletes none that a tool wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Protocol

from cortext.durability.replace_file import make_private_dir, replace, storage_errors, sweep_temps
from cortext.formats.briefing import Left, Past
from cortext.formats.history_budget import BUDGET, window
from cortext.formats.message_history import Show, history
from cortext.model import json_codec
from cortext.model.session import Session
from cortext.tools.registry import find_tool

_CALL = "[tool call of the past]"
_NOTE = "[note of the tool]"
_LEFT = "[left out]"
_BEGIN = "[the conversation begins with the agent's words]"
_MEASURE = "0" * 32  # windows are measured with the nonce that a briefing would have


class Turn(NamedTuple):
    """One side's words: `role` is user or assistant, the text is never empty."""

    role: str
    timestamp: datetime
    text: str


class Written(NamedTuple):
    """A session that a tool can resume now: its own id for it, and the file that holds it."""

    id: str
    path: str


class Writer(Protocol):
    """What every writer can do."""

    tool: ClassVar[str]

    def __init__(self, home: str | None = None) -> None:
        """Over the tool's own folder, wherever the tool would look for it, or over another."""
        ...

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """A new session in the tool's store, for the folder `cwd`. Times are kept; `last` is one
        more turn after them, of now, for the model and not for the screen where a tool has such a
        difference. CortextError if the tool does not take it."""
        ...


def open_writer(tool: str, home: str | None = None) -> Writer:
    """Open the writer of a tool. MissingCapabilityError if the tool has none."""
    hint = "`--tool NAME` takes another tool"
    return find_tool(tool).load("writer", hint=hint)(home)


def turns_of(session: Session, *, show: Show, budget: int = BUDGET) -> list[Turn]:
    """A conversation as the turns of a person and an agent, the person's first, none later than
    now. Over the budget the first request and the latest stay, and what was left out is said in
    its place."""
    view = window(history(session, show, live=True), nonce=_MEASURE, show=show, budget=budget)
    pieces = list(_pieces(view.records, session.created_at))
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
    # One text for each turn: of several the models get them without a space between.
    return [turn._replace(text="\n\n".join(all)) for turn, all in zip(turns, texts, strict=True)]


def _pieces(records: Sequence[Past | Left], start: datetime) -> Iterable[tuple[str, datetime, str]]:
    """Who says what: calls are the agent's, and what is left out is said by us as the person,
    unless it stands in the middle of what the agent said."""
    when = start
    for place, record in enumerate(records):
        if isinstance(record, Left):
            near = [_role(other) for other in records[max(place - 1, 0) : place + 2 : 2]]
            inside = place and near == ["assistant", "assistant"]
            yield "assistant" if inside else "user", when, f"{_LEFT} {record.text}"
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
    """The turns, and one more of the person, of now."""
    return [*turns, Turn("user", datetime.now(UTC), last)] if last else list(turns)


def rising(turns: Sequence[Turn]) -> list[datetime]:
    """The times of turns, each later than the one before: tools sort by them."""
    times: list[datetime] = []
    for turn in turns:
        least = times[-1] + timedelta(milliseconds=1) if times else turn.timestamp
        times.append(max(turn.timestamp, least))
    return times


def iso(when: datetime) -> str:
    """A time as JavaScript writes it."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03}Z"


def millis(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def store_lines(path: str, lines: Iterable[Any]) -> None:
    """A new file with one JSON value on each line, or none: a tool would list half of a session,
    or take it for damaged and delete it. Its folder is made if need be."""
    folder = os.path.dirname(path)
    with storage_errors("write", path):
        make_private_dir(folder)
        sweep_temps(folder)
        replace(path, [json_codec.encode(line) + b"\n" for line in lines])
