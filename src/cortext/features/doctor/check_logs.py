"""Check session logs, such as those of `aur spawn`.

A log is a file `{id}.jsonl`. Line 1 is the head: the session without its messages. Each other line
is one message.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.durability.durable_files import (
    all_set_aside,
    refuse_link,
    replace,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.durability.read_files import read_file
from cortext.errors import NewerVersionError
from cortext.features.doctor.check_results import (
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
from cortext.features.doctor.salvage.damaged_text import HALF, repair_characters
from cortext.features.doctor.salvage.json_scan import may_be_object
from cortext.features.doctor.salvage.lost_message_sources import read_set_aside
from cortext.features.doctor.salvage.missing_tool_results import (
    describe_append,
    describe_missing_results,
    stub_missing_results,
)
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
from cortext.features.doctor.salvage.salvaged_lines_result import (
    SalvagedLines,
    describe_readable,
    describe_written,
    read_sound_lines,
)
from cortext.formats import log
from cortext.formats.line_formats import StoredRecords, join
from cortext.formats.log import LOG
from cortext.formats.message_lines import RecordBlock, decode_record, encode_record
from cortext.model.message import SessionMessage
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.log import LogStore


class _LogState(NamedTuple):
    """The readable contents of a log, and its damage.

    `head` has the readable fields of the head, the session without its messages. `first` is line 1
    of the file if this line is an undamaged head, and the file has no other head. Otherwise `first`
    is b"". `rescued` holds the messages. `stubs` are placeholder messages to add for tool calls
    without a result.
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
    """Check the session log `{folder}/{id}.jsonl`.

    Return its problems, and a repair if one is possible.
    """
    path = f"{folder}/{id}.jsonl"
    try:
        state = _read_state(path)
    except (NewerVersionError, OSError) as error:
        return report_unreadable(path, error)
    if not state.troubles:
        return NOTHING
    sentence = _describe_repair(state, path)
    problems = [describe_trouble(path, trouble, sentence) for trouble in state.troubles]
    mends = any(problem.mend for problem in problems)
    return CheckResult(problems, Repair(sentence, partial(_repair, folder, id)) if mends else None)


def _describe_repair(state: _LogState, path: str) -> str:
    if state.to_write:
        return f"rewrite {path}{describe_readable(state.rescued)}"
    done = [f"set aside the incomplete last line of {path}"] if state.rescued.torn else []
    done += [f"record missing tool results in {path}"] if state.stubs else []
    return " and ".join(done)


def _read_state(path: str) -> _LogState:
    """Read a log and return its contents and damage. Raises NewerVersionError or OSError."""
    data = read_file(path)
    return _read_sound(data, path) or _salvage_state(data, path)


def _read_sound(data: bytes, path: str) -> _LogState | None:
    """Return the state of a log that has no damage, or only an incomplete last line.

    Return None if the log has any other damage.
    """
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


def _salvage_state(data: bytes, path: str) -> _LogState:
    refuse_newer_head(data.partition(b"\n")[0], path)
    if not data.strip(b"\0 \t\r\n"):
        return _salvage_empty(path)
    data, troubles = unify_text(data)
    first, newline, rest = data.partition(b"\n")
    if newline and _is_head(first):
        head = salvage_head(first, _decode, 1)
        refuse_newer(head.head, path)
        rescued = salvage_lines(rest, LOG.records, _is_head, first=2)
        state = _choose_head(head, rescued, path, first)
    else:
        state = _without_head(data, path, ours=any(each.is_conflict for each in troubles))
    rescued = state.rescued
    if rescued.nothing and not state.first:
        state = state._replace(head=_mark_unrepairable(state.head))
        troubles = [trouble._replace(mends=False) for trouble in troubles]
    return state._replace(
        rescued=rescued._replace(troubles=[*troubles, *rescued.troubles]),
        stubs=stub_missing_results(
            rescued.messages, rescued.answered, state.head.head.get("pending")
        ),
    )


def _mark_unrepairable(head: SalvagedHead) -> SalvagedHead:
    """Return a copy of `head` in which all damage is marked as not repairable.

    This is for a log in which no message can be read, because such a log must not be changed.
    """
    return head._replace(troubles=[trouble._replace(mends=False) for trouble in head.troubles])


def _salvage_empty(path: str) -> _LogState:
    """Return the state of an empty log. It contains the messages from the old versions of the log.

    Old versions are files that an earlier repair kept under another name.
    """
    old_versions = read_set_aside(path, LOG.records, _is_head)
    found = [_salvage_head_line(line) for _, line in old_versions.heads] if old_versions else []
    text = "the file is empty" if old_versions else "the file is empty; no copy was found"
    trouble = Trouble(text, None, PROBLEM, mends=old_versions is not None)
    head = SalvagedHead(choose_newest(found) if found else {}, [trouble])
    return _LogState(head, b"", old_versions or SalvagedLines([], [], [], b"", []), ())


def _choose_head(head: SalvagedHead, rescued: SalvagedLines, path: str, first: bytes) -> _LogState:
    """Return the state of a log whose line 1 is a head, the session without its messages.

    If the log has several heads, use the newest.
    """
    if not rescued.heads:
        return _LogState(head, b"" if head.troubles else first, rescued, ())
    others = [_salvage_head_line(line) for _, line in rescued.heads]
    for other in others:
        refuse_newer(other, path)
    line = rescued.heads[0][0]
    trouble = Trouble("the file has a second head here; the newest head is used", line)
    both = SalvagedHead(choose_newest([head.head, *others]), [*head.troubles, trouble])
    return _LogState(both, b"", rescued, ())


def _without_head(data: bytes, path: str, *, ours: bool) -> _LogState:
    """Return the state of a log whose first line is not a head.

    A head is a session without its messages. Use the newest head in the log. `ours` is true if the
    file had a git conflict, in which our side comes first. In this case, use the first head. If the
    log has no head, use the readable fields before the first message.
    """
    rescued = salvage_lines(data, LOG.records, _is_head)
    found = [_salvage_head_line(line) for _, line in rescued.heads]
    for one in found:
        refuse_newer(one, path)
    if found:
        number = rescued.heads[0][0]
        text = "the head is not on line 1" if number > 1 else "the head is not on its own line"
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
        text = "the head is missing, but there are messages"
    elif not rescued.nothing:
        text = "the head cannot be read; it is rebuilt from the messages"
    trouble = Trouble(text, 1, mends=not rescued.nothing)
    return _LogState(SalvagedHead({}, [trouble]), b"", rescued, ())


def _before_records(data: bytes) -> tuple[bytes, bytes, int]:
    """Split a log before its first message.

    Return the bytes before the message, the rest of the log, and the line number where the rest
    starts.
    """
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


def _salvage_head_line(line: bytes) -> Head:
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
    store, state = LogStore(folder), _read_state(path)
    if not state.to_write:
        return _append(store, id, path, state)
    with storage_errors("repair", path), store.changing(id):
        state = _read_state(path)
        if not state.to_write:
            return None
        refuse_link(path)
        ensure_nothing_lost(path, lambda: store.read(id).session.messages, state.rescued.messages)
        lines = [_head_line(id, path, state)]
        lines += [line + b"\n" for line in state.rescued.lines]
        lines += [encode_record(stub, LOG.records) for stub in state.stubs]
        old_file = set_aside(path, "corrupt")
        replace(path, lines, temp_dir=side_dir(folder))
    return Repaired(f"{path} was rewritten {describe_written(state.rescued)}", [old_file])


def _append(store: LogStore, id: str, path: str, state: _LogState) -> Repaired | None:
    """Append a placeholder result for each tool call without a result.

    Also move an incomplete last line to another file. Return the result of the repair, or None if
    nothing had to be done.
    """
    if not state.rescued.torn and not state.stubs:
        return None
    before = all_set_aside(path)
    store.append(id, *state.stubs)
    store.close()
    old_files = [one for one in all_set_aside(path) if one not in before]
    return Repaired(
        describe_append(path, torn=bool(state.rescued.torn), stubs=state.stubs), old_files
    )


def _head_line(id: str, path: str, state: _LogState) -> bytes:
    if state.first:
        return state.first + b"\n"
    messages = [*state.rescued.messages, *state.stubs]
    head = {name: value for name, value in state.head.head.items() if name != "type"}
    when = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    session = build_session(head, id, messages, when, LOG)
    stored = StoredRecords(messages, state.rescued.answered, [])
    return log.encode_head_line(session, stored)
