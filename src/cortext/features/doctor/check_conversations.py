"""Check the conversations of a workspace: the files `session.json` and `messages.jsonl` of each.

`session.json` is the head, which is everything of a session but its messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.durability.atomic_folders import swap_folder, write_folder
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import (
    all_set_aside,
    refuse_link,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.errors import NewerVersionError
from cortext.features.doctor.problem import (
    NOTE,
    NOTHING,
    CheckResult,
    Repair,
    Repaired,
    Trouble,
    describe_trouble,
    pluralize,
    report_unreadable,
)
from cortext.features.doctor.repair import ensure_nothing_lost
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
from cortext.features.doctor.salvage.other_sources import (
    add_from_git,
    capture_again,
    committed_versions,
    read_set_aside,
)
from cortext.features.doctor.salvage.salvage_heads import (
    Head,
    SalvagedHead,
    build_session,
    has_fields,
    refuse_newer_head,
    salvage_head,
)
from cortext.features.doctor.salvage.salvage_lines import salvage_lines
from cortext.features.doctor.salvage.text_encoding import HALF
from cortext.formats import folder
from cortext.formats.folder import FOLDER
from cortext.formats.head_and_lines import StoredRecords, join
from cortext.formats.record_lines import RecordBlock, encode_record
from cortext.model.message import SessionMessage
from cortext.stores.damage_report import refuse_newer
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath, conversations_dir, title_in
from cortext.workspace.type_templates import Types


class _ConversationState(NamedTuple):
    """The readable head and messages of a conversation, and their damage.

    `lost` is the damage if `messages.jsonl` is missing or has no messages. `fewer` is the damage
    if it has fewer messages than the head counts. `stubs` are the results to add for tool calls
    without a result.
    """

    head: SalvagedHead
    rescued: SalvagedLines
    lost: Sequence[Trouble]
    fewer: Sequence[Trouble]
    stubs: Sequence[SessionMessage]

    @property
    def of_lines(self) -> list[Trouble]:
        last = len(self.rescued.lines) or None
        found = [*self.lost, *self.rescued.troubles, *self.fewer]
        return [*found, *describe_missing_results(self.stubs, last)]

    @property
    def to_write(self) -> bool:
        return bool(self.head.troubles or self.lost) or self.rescued.to_write


def check_conversation(root: str, place: ConversationPath) -> CheckResult:
    """Return the problems of one conversation in the workspace `root`, and their repair."""
    try:
        state = _look(place)
    except (NewerVersionError, OSError) as error:
        return report_unreadable(place.session, error)
    if not state.head.troubles and not state.of_lines:
        return NOTHING
    sentence = _sentence(state, place)
    problems = [describe_trouble(place.head, each, sentence) for each in state.head.troubles]
    problems += [describe_trouble(place.lines, each, sentence) for each in state.of_lines]
    mends = any(problem.mend for problem in problems)
    return CheckResult(problems, Repair(sentence, partial(_repair, root, place)) if mends else None)


def _sentence(state: _ConversationState, place: ConversationPath) -> str:
    if not state.to_write:
        done = [f"move the torn end of {place.lines} away"] if state.rescued.torn else []
        done += [f"add that there was no result to {place.lines}"] if state.stubs else []
        return " and ".join(done)
    whole = "head and messages" if state.head.troubles else "messages"
    if state.rescued.nothing:
        return f"write the head of {place.folder} anew"
    more = ", and with those that the AI tool may still have" if _may_have_more(state) else ""
    return f"write {whole} of {place.folder} anew, with {describe_readable(state.rescued)}{more}"


def _may_have_more(state: _ConversationState) -> bool:
    return bool((state.lost or state.rescued.lost) and state.head.head.get("native"))


def _look(place: ConversationPath) -> _ConversationState:
    """Read both files of a conversation and return their state.

    Messages that are missing in the file come from set-aside versions and from git. Raises
    NewerVersionError or OSError.
    """
    data, there = _read(place.head)
    head = SalvagedHead({}, [Trouble("it is missing, and there are messages")])
    if there:
        head = _sound_head(data) or _salvaged_head(data, place.head)
        refuse_newer(head.head, place.head)
    if head.troubles and not has_fields(head.head):
        head = _head_in_git(place.head) or head
    lines, there = _read(place.lines)
    rescued = read_sound_lines(lines, FOLDER.records) or salvage_lines(lines, FOLDER.records)
    count = head.head.get("message_count")
    known = count if type(count) is int else 0
    lost = _lost(rescued, there, known)
    if lost:
        rescued = read_set_aside(place.lines, FOLDER.records) or rescued
    if lost or rescued.lost:
        most = None if lost or rescued.nothing else rescued.lost
        rescued = add_from_git(place.lines, FOLDER.records, rescued, most)
    fewer = [] if lost else _fewer(rescued, known)
    stubs = stub_missing_results(rescued.messages, rescued.answered, head.head.get("pending"))
    return _ConversationState(head, rescued, lost, fewer, stubs)


def _sound_head(data: bytes) -> SalvagedHead | None:
    """Return the head if it is not damaged, otherwise None."""
    try:
        return None if HALF.search(data) else SalvagedHead(_decode(data), ())
    except ValueError:
        return None


def _salvaged_head(data: bytes, path: str) -> SalvagedHead:
    refuse_newer_head(data, path)
    return salvage_head(data, _decode)


def _head_in_git(path: str) -> SalvagedHead | None:
    """Return the last committed head that can be read; None if git has none."""
    for data in committed_versions(path):
        found = salvage_head(data, _decode)
        if has_fields(found.head):
            text = "nothing of it can be read: the head that git has is taken"
            return SalvagedHead(found.head, [Trouble(text)])
    return None


def _lost(rescued: SalvagedLines, there: bool, known: int) -> list[Trouble]:
    if there and (not known or rescued.messages or rescued.nothing):
        return []
    knew = f", and its head knew of {pluralize(known, 'message')}" if known else ""
    return [Trouble(f"{'no message is in it' if there else 'it is missing'}{knew}")]


def _fewer(rescued: SalvagedLines, known: int) -> list[Trouble]:
    """Return a note if there are fewer messages than the `known` ones that the head counts.

    This is no problem, because the user may have removed messages.
    """
    count = len(rescued.messages)
    if rescued.nothing or rescued.troubles or count >= known:
        return []
    text = f"it has {pluralize(count, 'message')}, and its head knew of {known}"
    return [Trouble(f"{text}: the others were taken out, or are lost", None, NOTE, mends=False)]


def _read(path: str) -> tuple[bytes, bool]:
    try:
        return read_file(path), True
    except FileNotFoundError:
        return b"", False


def _decode(data: bytes) -> Head:
    head = folder.decode_head(data, [])
    join(head, RecordBlock([], [], []), FOLDER)
    return head


def _repair(root: str, place: ConversationPath) -> Repaired | None:
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
    did = f"{place.folder} was written anew, {describe_written(state.rescued)}"
    if state.lost or state.rescued.lost:
        most = None if state.lost else state.rescued.lost
        did += capture_again(root, place, most) or _not_here(state) or _no_more(state)
    return Repaired(did, kept)


def _no_more(state: _ConversationState) -> str:
    """Return a clause if the plan promised messages from the AI tool and the tool had none."""
    return "; the AI tool had none of what is missing" if _may_have_more(state) else ""


def _not_here(state: _ConversationState) -> str:
    count = state.head.head.get("message_count") if state.lost else 0
    known = count if type(count) is int else 0
    missing = known - len(state.rescued.messages)
    if missing <= 0:
        return ""
    if missing < known:
        return f"; its head knew of {missing} more, which were found nowhere"
    return f"; its head knew of {pluralize(known, 'message')}, which were found nowhere else"


def _append(root: str, place: ConversationPath, state: _ConversationState) -> Repaired | None:
    """Append stubs for missing results. An append also moves a torn last line away."""
    if not state.rescued.torn and not state.stubs:
        return None
    store = FolderStore(root)
    before = all_set_aside(place.lines)
    store.append(place.folder[len(root) + 1 :], *state.stubs)
    store.close()
    kept = [path for path in all_set_aside(place.lines) if path not in before]
    return Repaired(
        describe_append(place.lines, torn=bool(state.rescued.torn), stubs=state.stubs), kept
    )


def _write(root: str, place: ConversationPath, state: _ConversationState) -> list[str]:
    for path in (f"{place.shelf}/{place.day}", place.folder, place.session, place.head):
        refuse_link(path)
    refuse_link(place.lines)
    id = place.folder[len(root) + 1 :]
    if not state.rescued.nothing:
        now = partial(_messages, root, id)
        ensure_nothing_lost(place.lines, now, state.rescued.messages)
    lines = [line + b"\n" for line in state.rescued.lines]
    lines += [encode_record(stub, FOLDER.records) for stub in state.stubs]
    messages = [*state.rescued.messages, *state.stubs]
    if state.rescued.nothing or not state.of_lines:
        lines = [read_file(place.lines)]
    files = {"messages.jsonl": lines, "session.json": [_head(root, place, state, messages)]}
    changed = [place.head] if _head_changes(state) else []
    changed += [place.lines] if state.of_lines and not state.rescued.nothing else []
    kept = [set_aside(path, "corrupt") for path in changed if os.path.lexists(path)]
    swap_folder(write_folder(side_dir(conversations_dir(root)), files), place.session)
    return kept


def _messages(root: str, id: str) -> Sequence[SessionMessage]:
    return FolderStore(root).read(id).session.messages


def _head_changes(state: _ConversationState) -> bool:
    """Return whether the head must be written: it is damaged, or counts too many messages."""
    count = state.head.head.get("message_count")
    there = len(state.rescued.messages) + len(state.stubs)
    too_many = type(count) is int and count > there and not state.rescued.nothing
    return bool(state.head.troubles or state.lost) or too_many


def _head(
    root: str,
    place: ConversationPath,
    state: _ConversationState,
    messages: Sequence[SessionMessage],
) -> bytes:
    """Return the bytes of `session.json` to write.

    A lost title comes from the conversation's markdown, and a lost command from its type.
    """
    if not _head_changes(state):
        return read_file(place.head)
    when = datetime.fromtimestamp(os.stat(place.session).st_mtime, UTC)
    session = build_session(state.head.head, place.name, messages, when, FOLDER)
    if not state.head.head.get("title"):
        session.title = title_in(place.folder) or session.title
    if "agent_config" not in state.head.head and session.kind in Types(root).names():
        session.command = f"/workspace.{session.kind}"
    return folder.encode_head(session, StoredRecords(messages, state.rescued.answered, []))
