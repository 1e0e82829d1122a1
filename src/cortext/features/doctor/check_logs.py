"""Check session logs, such as those of `aur spawn`.

A log is a file `{id}.jsonl`. Line 1 is the head, which is everything of a session but its messages.
Each other line is one message.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.durability.read_files import read_file
from cortext.durability.replace_file import (
    all_set_aside,
    refuse_link,
    replace,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.errors import NewerVersionError
from cortext.features.doctor.problem import (
    NOTHING,
    PROBLEM,
    CheckResult,
    Repair,
    Repaired,
    Trouble,
    describe_trouble,
    report_unreadable,
)
from cortext.features.doctor.repair import ensure_nothing_lost
from cortext.features.doctor.salvage.json_scan import may_be_object
from cortext.features.doctor.salvage.line_records import (
    SalvagedLines,
    describe_readable,
    describe_written,
    read_sound_lines,
)
from cortext.features.doctor.salvage.missing_results import (
    describe_append,
    describe_missing_results,
    stub_missing_results,
)
from cortext.features.doctor.salvage.other_sources import read_set_aside
from cortext.features.doctor.salvage.salvage_heads import (
    Head,
    SalvagedHead,
    build_session,
    choose_newest,
    cut_before_records,
    has_fields,
    refuse_newer_head,
    salvage_head,
)
from cortext.features.doctor.salvage.salvage_lines import salvage_lines, unify_text
from cortext.features.doctor.salvage.text_encoding import HALF, repair_characters
from cortext.formats import log
from cortext.formats.head_and_lines import StoredRecords, join
from cortext.formats.log import LOG
from cortext.formats.record_lines import RecordBlock, decode_record, encode_record
from cortext.model.message import SessionMessage
from cortext.stores.damage_report import refuse_newer
from cortext.stores.log import LogStore


class _LogState(NamedTuple):
    """The readable contents of a log, and its damage.

    `first` is the first line if it is a sound head and the only head; otherwise b"". `rescued` are
    the records. `stubs` are the results to add for tool calls without a result.
    """

    head: SalvagedHead
    first: bytes
    rescued: SalvagedLines
    stubs: Sequence[SessionMessage]

    @property
    def troubles(self) -> list[Trouble]:
        last = len(self.rescued.lines) + 1
        return [
            *self.head.troubles,
            *self.rescued.troubles,
            *describe_missing_results(self.stubs, last),
        ]

    @property
    def to_write(self) -> bool:
        of_head = any(trouble.mends for trouble in self.head.troubles)
        return of_head or self.rescued.to_write


def check_log(folder: str, id: str) -> CheckResult:
    """Return the problems of the session log `{folder}/{id}.jsonl`, and their repair."""
    path = f"{folder}/{id}.jsonl"
    try:
        state = _look(path)
    except (NewerVersionError, OSError) as error:
        return report_unreadable(path, error)
    if not state.troubles:
        return NOTHING
    sentence = _sentence(state, path)
    problems = [describe_trouble(path, trouble, sentence) for trouble in state.troubles]
    mends = any(problem.mend for problem in problems)
    return CheckResult(problems, Repair(sentence, partial(_repair, folder, id)) if mends else None)


def _sentence(state: _LogState, path: str) -> str:
    if state.to_write:
        return f"write {path} anew, with {describe_readable(state.rescued)}"
    done = [f"move the torn end of {path} away"] if state.rescued.torn else []
    done += [f"add that there was no result to {path}"] if state.stubs else []
    return " and ".join(done)


def _look(path: str) -> _LogState:
    """Read a log and return its state. Raises NewerVersionError or OSError."""
    data = read_file(path)
    return _sound(data, path) or _salvaged(data, path)


def _sound(data: bytes, path: str) -> _LogState | None:
    """Return the state of a log that is sound apart from a torn last line; otherwise None."""
    first, newline, rest = data.partition(b"\n")
    rescued = read_sound_lines(rest, LOG.records, first=2)
    if rescued is None or not newline or HALF.search(first):
        return None
    try:
        head = _decode(first)
    except ValueError:
        return None
    refuse_newer(head, path)
    stubs = stub_missing_results(rescued.messages, rescued.answered, head.get("pending"))
    return _LogState(SalvagedHead(head, ()), first, rescued, stubs)


def _salvaged(data: bytes, path: str) -> _LogState:
    """Return the state of a damaged log."""
    refuse_newer_head(data.partition(b"\n")[0], path)
    if not data.strip(b"\0 \t\r\n"):
        return _empty(path)
    data, troubles = unify_text(data)
    first, newline, rest = data.partition(b"\n")
    if newline and _is_head(first):
        head = salvage_head(first, _decode, 1)
        refuse_newer(head.head, path)
        rescued = salvage_lines(rest, LOG.records, _is_head, first=2)
        state = _one_of(head, rescued, path, first)
    else:
        state = _without_head(data, path, ours=any(each.is_conflict for each in troubles))
    rescued = state.rescued
    if rescued.nothing and not state.first:
        state = state._replace(head=_left(state.head))
        troubles = [trouble._replace(mends=False) for trouble in troubles]
    return state._replace(
        rescued=rescued._replace(troubles=[*troubles, *rescued.troubles]),
        stubs=stub_missing_results(
            rescued.messages, rescued.answered, state.head.head.get("pending")
        ),
    )


def _left(head: SalvagedHead) -> SalvagedHead:
    """Mark the damage of a head as not repairable, because no message can be read."""
    return head._replace(troubles=[trouble._replace(mends=False) for trouble in head.troubles])


def _empty(path: str) -> _LogState:
    """Return the state of an empty log, with the messages of versions that were set aside."""
    aside = read_set_aside(path, LOG.records, _is_head)
    found = [_rescued(line) for _, line in aside.heads] if aside else []
    text = "it is empty: what it held is not here"
    trouble = Trouble(text, None, PROBLEM, mends=aside is not None)
    head = SalvagedHead(choose_newest(found) if found else {}, [trouble])
    return _LogState(head, b"", aside or SalvagedLines([], [], [], b"", []), ())


def _one_of(head: SalvagedHead, rescued: SalvagedLines, path: str, first: bytes) -> _LogState:
    """Return the state of a log with a head on line 1. If there are several, use the newest."""
    if not rescued.heads:
        return _LogState(head, b"" if head.troubles else first, rescued, ())
    others = [_rescued(line) for _, line in rescued.heads]
    for other in others:
        refuse_newer(other, path)
    line = rescued.heads[0][0]
    trouble = Trouble("a second head stands here: the newest counts", line)
    both = SalvagedHead(choose_newest([head.head, *others]), [*head.troubles, trouble])
    return _LogState(both, b"", rescued, ())


def _without_head(data: bytes, path: str, *, ours: bool) -> _LogState:
    """Return the state of a log whose first line is not a head.

    The newest head on another line is used. With `ours`, which is set after a git conflict, the
    first head is used.
    """
    rescued = salvage_lines(data, LOG.records, _is_head)
    found = [_rescued(line) for _, line in rescued.heads]
    for one in found:
        refuse_newer(one, path)
    if found:
        number = rescued.heads[0][0]
        text = "the head is not on line 1" if number > 1 else "the head is not on a line alone"
        head = SalvagedHead(choose_newest(found), [Trouble(text, number)])
        return _LogState(SalvagedHead(found[0], []) if ours else head, b"", rescued, ())
    part, rest, number = _before_records(data)
    head = salvage_head(cut_before_records(part), _decode, 1)
    if part.strip() and has_fields(head.head):
        refuse_newer(head.head, path)
        others = salvage_lines(rest, LOG.records, first=number)
        # `rescued` also has messages that share a line with other text.
        more = len(rescued.messages) > len(others.messages)
        return _LogState(head, b"", rescued if more else others, ())
    text = "the head is missing"
    if not rescued.nothing and not part.strip():
        text = "the head is missing, and there are messages"
    elif not rescued.nothing:
        text = "the head cannot be read, and is made anew from the messages"
    trouble = Trouble(text, 1, mends=not rescued.nothing)
    return _LogState(SalvagedHead({}, [trouble]), b"", rescued, ())


def _before_records(data: bytes) -> tuple[bytes, bytes, int]:
    """Return the bytes before the first record, the rest, and the line number of the rest."""
    lines = data.split(b"\n")
    for place, line in enumerate(lines):
        if not may_be_object(line):
            continue
        try:
            decode_record(repair_characters(line) or line, LOG.records, [])
        except ValueError:
            continue
        return b"\n".join(lines[:place]), b"\n".join(lines[place:]), place + 1
    return data, b"", len(lines)


def _rescued(line: bytes) -> Head:
    return salvage_head(line, _decode).head


def _is_head(line: bytes) -> bool:
    try:
        _decode(line)
    except ValueError:
        return False
    return True


def _decode(line: bytes) -> Head:
    head = log.decode_head_line(line, [])
    join(head, RecordBlock([], [], []), LOG)
    return head


def _repair(folder: str, id: str) -> Repaired | None:
    path = f"{folder}/{id}.jsonl"
    store, state = LogStore(folder), _look(path)
    if not state.to_write:
        return _append(store, id, path, state)
    with storage_errors("mend", path), store.changing(id):
        state = _look(path)
        if not state.to_write:
            return None
        refuse_link(path)
        ensure_nothing_lost(path, lambda: store.read(id).session.messages, state.rescued.messages)
        lines = [_head_line(id, path, state)]
        lines += [line + b"\n" for line in state.rescued.lines]
        lines += [encode_record(stub, LOG.records) for stub in state.stubs]
        kept = set_aside(path, "corrupt")
        replace(path, lines, temp_dir=side_dir(folder))
    return Repaired(f"{path} was written anew, {describe_written(state.rescued)}", [kept])


def _append(store: LogStore, id: str, path: str, state: _LogState) -> Repaired | None:
    """Append stubs for missing results. An append also moves a torn last line away."""
    if not state.rescued.torn and not state.stubs:
        return None
    before = all_set_aside(path)
    store.append(id, *state.stubs)
    store.close()
    kept = [one for one in all_set_aside(path) if one not in before]
    return Repaired(describe_append(path, torn=bool(state.rescued.torn), stubs=state.stubs), kept)


def _head_line(id: str, path: str, state: _LogState) -> bytes:
    if state.first:
        return state.first + b"\n"
    messages = [*state.rescued.messages, *state.stubs]
    head = {name: value for name, value in state.head.head.items() if name != "type"}
    when = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    session = build_session(head, id, messages, when, LOG)
    stored = StoredRecords(messages, state.rescued.answered, [])
    return log.encode_head_line(session, stored)
