"""The conversations of a workspace: `session.json` and `messages.jsonl` of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.app.health.calls import appended, missing_results, trouble_of
from cortext.app.health.heads import Head, RescuedHead, made_up, refuse_later, rescue_head
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
from cortext.app.health.taking_again import take_again
from cortext.durability.folders import swap_folder, write_folder
from cortext.durability.lock import FileLock
from cortext.durability.read import read_file
from cortext.durability.replace import (
    all_set_aside,
    refuse_link,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.errors import NewerVersionError
from cortext.formats import folder
from cortext.formats.folder import FOLDER
from cortext.formats.parts import StoredRecords, join
from cortext.formats.records import Lines, encode_record
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.checks import refuse_newer
from cortext.stores.folder import FolderStore
from cortext.stores.layout import Place, conversations_dir


class _State(NamedTuple):
    """Both files as they are now; `lost` is what is wrong with a file of messages that is gone."""

    head: RescuedHead
    rescued: Rescued
    lost: Sequence[Trouble]
    stubs: Sequence[SessionMessage]

    @property
    def of_lines(self) -> list[Trouble]:
        last = len(self.rescued.lines) or None
        return [*self.lost, *self.rescued.troubles, *trouble_of(self.stubs, last)]

    @property
    def to_write(self) -> bool:
        return bool(self.head.troubles or self.lost) or self.rescued.to_write


def check_folder(root: str, place: Place) -> Found:
    """What is wrong with one conversation."""
    try:
        state = _look(place)
    except (NewerVersionError, OSError) as error:
        return unread(place.session, error)
    if not state.head.troubles and not state.of_lines:
        return NOTHING
    sentence = _sentence(state, place)
    problems = [problem_of(place.head, each, sentence) for each in state.head.troubles]
    problems += [problem_of(place.lines, each, sentence) for each in state.of_lines]
    mends = any(problem.mend for problem in problems)
    return Found(problems, Mend(sentence, partial(_mend, root, place)) if mends else None)


def _sentence(state: _State, place: Place) -> str:
    if not state.to_write:
        done = [f"move the torn end of {place.lines} away"] if state.rescued.torn else []
        done += [f"add that there was no result to {place.lines}"] if state.stubs else []
        return " and ".join(done)
    count = len(state.rescued.messages)
    whole = "head and messages" if state.head.troubles else "messages"
    return f"write {whole} of {place.folder} anew, with the {count} messages that can be read"


def _look(place: Place) -> _State:
    """NewerVersionError, OSError."""
    data, there = _read(place.head)
    head = RescuedHead({}, [Trouble("it is missing, and there are messages")])
    if there:
        refuse_later(data, place.head)
        head = rescue_head(data, _decode)
        refuse_newer(head.head, place.head)
    lines, there = _read(place.lines)
    lost = [] if there else [Trouble(_lost(head.head))]
    rescued = rescue_lines(lines, FOLDER.records)
    stubs = missing_results(rescued.messages, rescued.answered)
    return _State(head, rescued, lost, stubs)


def _lost(head: Head) -> str:
    count = head.get("message_count")
    knew = f", and its head knew of {count} messages" if isinstance(count, int) and count else ""
    return f"it is missing{knew}"


def _read(path: str) -> tuple[bytes, bool]:
    try:
        return read_file(path), True
    except FileNotFoundError:
        return b"", False


def _decode(data: bytes) -> Head:
    head = folder.decode_head(data, [])
    join(head, Lines([], [], []), FOLDER)
    return head


def _mend(root: str, place: Place) -> Mended | None:
    state = _look(place)
    if not state.to_write:
        return _append(root, place, state)
    locks = f"{side_dir(conversations_dir(root))}/locks"
    lock = FileLock(f"{locks}/{place.day}~{place.name}.lock", guards=place.lines)
    with storage_errors("mend", place.session), lock:
        state = _look(place)
        if not state.to_write:
            return None
        kept = _write(root, place, state)
    count = len(state.rescued.messages)
    did = f"{place.folder} was written anew, with {count} messages"
    if state.lost or state.rescued.lost:
        most = None if state.lost else state.rescued.lost
        did += take_again(root, place, most) or _not_here(state)
    return Mended(did, kept)


def _not_here(state: _State) -> str:
    known = state.head.head.get("message_count") if state.lost else 0
    return f"; the {known} that its head knew of are not here" if known else ""


def _append(root: str, place: Place, state: _State) -> Mended | None:
    """What an append does anyway: it moves a torn end away."""
    if not state.rescued.torn and not state.stubs:
        return None
    store = FolderStore(root)
    before = all_set_aside(place.lines)
    store.append(place.folder[len(root) + 1 :], *state.stubs)
    store.close()
    kept = [path for path in all_set_aside(place.lines) if path not in before]
    return Mended(appended(place.lines, torn=bool(state.rescued.torn), stubs=state.stubs), kept)


def _write(root: str, place: Place, state: _State) -> list[str]:
    for path in (f"{place.shelf}/{place.day}", place.folder, place.session, place.head):
        refuse_link(path)
    refuse_link(place.lines)
    lines = [line + b"\n" for line in state.rescued.lines]
    lines += [encode_record(stub, FOLDER.records) for stub in state.stubs]
    messages = [*state.rescued.messages, *state.stubs]
    files = {"messages.jsonl": lines, "session.json": [_head(place, state, messages)]}
    changed = [place.head] if state.head.troubles or state.lost else []
    changed += [place.lines] if state.of_lines else []
    kept = [set_aside(path, "corrupt") for path in changed if os.path.lexists(path)]
    swap_folder(write_folder(side_dir(conversations_dir(root)), files), place.session)
    return kept


def _head(place: Place, state: _State, messages: Sequence[SessionMessage]) -> bytes:
    if not state.head.troubles and not state.lost:
        return read_file(place.head)
    session = _session(place.name, state.head.head, messages, place.session)
    return folder.encode_head(session, StoredRecords(messages, state.rescued.answered, []))


def _session(name: str, head: Head, messages: Sequence[SessionMessage], path: str) -> Session:
    """A session of what could be had of its head."""
    try:
        session = join(dict(head), Lines(list(messages), [], []), FOLDER)
    except ValueError:
        session = made_up(name, messages, datetime.fromtimestamp(os.stat(path).st_mtime, UTC))
    session.id = name
    return session
