"""The sessions of `aur spawn`: `{id}.jsonl`, whose first line is the head."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.app.health.calls import appended, missing_results, trouble_of
from cortext.app.health.heads import Head, RescuedHead, made_up, newest, refuse_later, rescue_head
from cortext.app.health.problem import (
    NOTHING,
    Found,
    Mend,
    Mended,
    Trouble,
    problem_of,
    unread,
)
from cortext.app.health.rescue import Rescued, rescue_lines
from cortext.durability.read import read_file
from cortext.durability.replace import (
    all_set_aside,
    refuse_link,
    replace,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.errors import NewerVersionError
from cortext.formats import log
from cortext.formats.log import LOG
from cortext.formats.parts import StoredRecords, join
from cortext.formats.records import Lines, encode_record
from cortext.model.message import SessionMessage
from cortext.stores.checks import refuse_newer
from cortext.stores.log import LogStore


class _State(NamedTuple):
    """A log as it is now. `first` is its first line, if that is the one head that it has."""

    head: RescuedHead
    first: bytes
    rescued: Rescued
    stubs: Sequence[SessionMessage]

    @property
    def troubles(self) -> list[Trouble]:
        last = len(self.rescued.lines) + 1
        return [*self.head.troubles, *self.rescued.troubles, *trouble_of(self.stubs, last)]

    @property
    def to_write(self) -> bool:
        return bool(self.head.troubles) or self.rescued.to_write


def check_log(folder: str, id: str) -> Found:
    """What is wrong with one log."""
    path = f"{folder}/{id}.jsonl"
    try:
        state = _look(path)
    except (NewerVersionError, OSError) as error:
        return unread(path, error)
    if not state.troubles:
        return NOTHING
    sentence = _sentence(state, path)
    problems = [problem_of(path, trouble, sentence) for trouble in state.troubles]
    mends = any(problem.mend for problem in problems)
    return Found(problems, Mend(sentence, partial(_mend, folder, id)) if mends else None)


def _sentence(state: _State, path: str) -> str:
    if state.to_write:
        count = len(state.rescued.messages)
        return f"write {path} anew, with the {count} messages that can be read"
    done = [f"move the torn end of {path} away"] if state.rescued.torn else []
    done += [f"add that there was no result to {path}"] if state.stubs else []
    return " and ".join(done)


def _look(path: str) -> _State:
    """NewerVersionError, OSError."""
    data = read_file(path)
    first, newline, rest = data.partition(b"\n")
    refuse_later(first, path)
    if newline and _is_head(first):
        head = rescue_head(first, _decode, 1)
        refuse_newer(head.head, path)
        rescued = rescue_lines(rest, LOG.records, _is_head, first=2)
        head = _one_of(head, rescued, path)
    else:
        head, rescued = _without_head(data, first, path)
    stubs = missing_results(rescued.messages, rescued.answered)
    return _State(head, b"" if head.troubles else first, rescued, stubs)


def _one_of(head: RescuedHead, rescued: Rescued, path: str) -> RescuedHead:
    """The head of line 1, if it is the only one; else the newest."""
    if not rescued.heads:
        return head
    others = [_rescued(line) for _, line in rescued.heads]
    for other in others:
        refuse_newer(other, path)
    line = rescued.heads[0][0]
    trouble = Trouble("a second head stands here: the newest counts", line)
    return RescuedHead(newest([head.head, *others]), [*head.troubles, trouble])


def _without_head(data: bytes, first: bytes, path: str) -> tuple[RescuedHead, Rescued]:
    rescued = rescue_lines(data, LOG.records, _is_head)
    found = [_rescued(line) for _, line in rescued.heads]
    for one in found:
        refuse_newer(one, path)
    if found:
        trouble = Trouble("the head is not on line 1", rescued.heads[0][0])
        return RescuedHead(newest(found), [trouble]), rescued
    if any(trouble.line == 1 for trouble in rescued.troubles) or not data:
        head = rescue_head(first, _decode, 1)
        # What was said of line 1 as a message says nothing now.
        rest = [trouble for trouble in rescued.troubles if trouble.line != 1]
        torn = rescued.torn if b"\n" in data else b""
        return head, rescued._replace(troubles=rest, torn=torn)
    return RescuedHead({}, [Trouble("the head is missing, and there are messages", 1)]), rescued


def _rescued(line: bytes) -> Head:
    return rescue_head(line, _decode).head


def _is_head(line: bytes) -> bool:
    try:
        _decode(line)
    except ValueError:
        return False
    return True


def _decode(line: bytes) -> Head:
    head = log.decode_head_line(line, [])
    join(head, Lines([], [], []), LOG)
    return head


def _mend(folder: str, id: str) -> Mended | None:
    path = f"{folder}/{id}.jsonl"
    store, state = LogStore(folder), _look(path)
    if not state.to_write:
        return _append(store, id, path, state)
    with storage_errors("mend", path), store.changing(id):
        state = _look(path)
        if not state.to_write:
            return None
        refuse_link(path)
        lines = [_head_line(id, path, state)]
        lines += [line + b"\n" for line in state.rescued.lines]
        lines += [encode_record(stub, LOG.records) for stub in state.stubs]
        kept = set_aside(path, "corrupt")
        replace(path, lines, temp_dir=side_dir(folder))
    count = len(state.rescued.messages)
    return Mended(f"{path} was written anew, with {count} messages", [kept])


def _append(store: LogStore, id: str, path: str, state: _State) -> Mended | None:
    """What an append does anyway: it moves a torn end away."""
    if not state.rescued.torn and not state.stubs:
        return None
    before = all_set_aside(path)
    store.append(id, *state.stubs)
    store.close()
    kept = [one for one in all_set_aside(path) if one not in before]
    return Mended(appended(path, torn=bool(state.rescued.torn), stubs=state.stubs), kept)


def _head_line(id: str, path: str, state: _State) -> bytes:
    if state.first:
        return state.first + b"\n"
    messages = [*state.rescued.messages, *state.stubs]
    head = {name: value for name, value in state.head.head.items() if name != "type"}
    try:
        session = join(head, Lines(messages, [], []), LOG)
    except ValueError:
        when = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
        session = made_up(id, messages, when)
    session.id = id
    stored = StoredRecords(messages, state.rescued.answered, [])
    return log.encode_head_line(session, stored)
