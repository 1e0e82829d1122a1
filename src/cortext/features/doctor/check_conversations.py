"""Check the conversations of a workspace: the files `session.json` and `messages.jsonl` of each.

`session.json` is the head: the session without its messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from cortext.durability.atomic_folders import swap_folder, write_folder
from cortext.durability.durable_files import (
    all_set_aside,
    refuse_link,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.errors import NewerVersionError
from cortext.features.doctor.check_results import (
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
from cortext.features.doctor.salvage.damaged_text import HALF
from cortext.features.doctor.salvage.lost_message_sources import (
    add_from_git,
    capture_again,
    committed_versions,
    read_set_aside,
)
from cortext.features.doctor.salvage.missing_tool_results import (
    describe_append,
    describe_missing_results,
    stub_missing_results,
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
from cortext.features.doctor.salvage.salvaged_lines_result import (
    SalvagedLines,
    describe_readable,
    describe_written,
    read_sound_lines,
)
from cortext.formats import folder
from cortext.formats.folder import FOLDER
from cortext.formats.line_formats import StoredRecords, join
from cortext.formats.message_lines import RecordBlock, encode_record
from cortext.model.message import SessionMessage
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath, conversations_dir, title_in
from cortext.workspace.conversation_types import Types


class _ConversationState(NamedTuple):
    """The readable head and messages of a conversation, and their damage.

    `rescued` holds the messages of `messages.jsonl`. `lost` describes the damage if this file is
    missing or has no messages. `fewer` has a note if this file has fewer messages than the head
    states. Without such damage, `lost` and `fewer` are empty. `stubs` are placeholder messages to
    add for tool calls without a result.
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
    """Check one conversation in the workspace `root`.

    Return its problems, and a repair if one is possible.
    """
    try:
        state = _read_state(place)
    except (NewerVersionError, OSError) as error:
        return report_unreadable(place.session, error)
    if not state.head.troubles and not state.of_lines:
        return NOTHING
    sentence = _describe_repair(state, place)
    problems = [describe_trouble(place.head, each, sentence) for each in state.head.troubles]
    problems += [describe_trouble(place.lines, each, sentence) for each in state.of_lines]
    mends = any(problem.mend for problem in problems)
    return CheckResult(problems, Repair(sentence, partial(_repair, root, place)) if mends else None)


def _describe_repair(state: _ConversationState, place: ConversationPath) -> str:
    if not state.to_write:
        done = (
            [f"set aside the incomplete last line of {place.lines}"] if state.rescued.torn else []
        )
        done += [f"record missing tool results in {place.lines}"] if state.stubs else []
        return " and ".join(done)
    parts = "the head and the messages" if state.head.troubles else "the messages"
    if state.rescued.nothing:
        return f"rewrite the head of {place.folder}"
    if not state.of_lines and not state.rescued.messages:
        return f"write session.json of {place.folder} again; this conversation has no messages"
    more = "; add the missing messages that the AI tool still has" if _may_have_more(state) else ""
    return f"rewrite {parts} of {place.folder}{describe_readable(state.rescued)}{more}"


def _may_have_more(state: _ConversationState) -> bool:
    return bool((state.lost or state.rescued.lost) and state.head.head.get("native"))


def _read_state(place: ConversationPath) -> _ConversationState:
    """Read both files of a conversation and return their state.

    If messages are missing in `messages.jsonl`, they are taken from git, and from old versions of
    this file that an earlier repair kept under another name. Raises NewerVersionError or OSError.
    """
    data, exists = _read(place.head)
    lines, has_lines = _read(place.lines)
    text = "the file is missing, but there are messages" if lines.strip() else "the file is missing"
    head = SalvagedHead({}, [Trouble(text)])
    if exists:
        head = _read_sound_head(data) or _salvage_head(data, place.head)
        refuse_newer(head.head, place.head)
    if head.troubles and not has_fields(head.head):
        head = _read_head_from_git(place.head) or head
    rescued = read_sound_lines(lines, FOLDER.records) or salvage_lines(lines, FOLDER.records)
    count = head.head.get("message_count")
    known = count if type(count) is int else 0
    lost = _find_lost(rescued, has_lines, known)
    if lost:
        rescued = read_set_aside(place.lines, FOLDER.records) or rescued
    if lost or rescued.lost:
        most = None if lost or rescued.nothing else rescued.lost
        rescued = add_from_git(place.lines, FOLDER.records, rescued, most)
    fewer = [] if lost else _note_fewer(rescued, known)
    stubs = stub_missing_results(rescued.messages, rescued.answered, head.head.get("pending"))
    return _ConversationState(head, rescued, lost, fewer, stubs)


def _read_sound_head(data: bytes) -> SalvagedHead | None:
    """Return the head (the fields of `session.json`) if it is not damaged, otherwise None."""
    try:
        return None if HALF.search(data) else SalvagedHead(_decode(data), ())
    except ValueError:
        return None


def _salvage_head(data: bytes, path: str) -> SalvagedHead:
    refuse_newer_head(data, path)
    return salvage_head(data, _decode)


def _read_head_from_git(path: str) -> SalvagedHead | None:
    """Return the head from the latest git commit in which `session.json` can be read.

    `path` is the path of `session.json`. Return None if there is no such commit.
    """
    for data in committed_versions(path):
        found = salvage_head(data, _decode)
        if has_fields(found.head):
            text = "the file cannot be read; the head from the last readable git commit is used"
            return SalvagedHead(found.head, [Trouble(text)])
    return None


def _find_lost(rescued: SalvagedLines, exists: bool, known: int) -> list[Trouble]:
    if exists and (not known or rescued.messages or rescued.nothing):
        return []
    expected = f", but the head counts {pluralize(known, 'message')}" if known else ""
    return [Trouble(f"{'the file has no messages' if exists else 'the file is missing'}{expected}")]


def _note_fewer(rescued: SalvagedLines, known: int) -> list[Trouble]:
    """Return a note if `messages.jsonl` has fewer messages than `session.json` states.

    `known` is the number that `session.json` states. The note is only information, because the user
    may have removed messages.
    """
    count = len(rescued.messages)
    if rescued.nothing or rescued.troubles or count >= known:
        return []
    text = f"the file has {pluralize(count, 'message')}, but the head counts {known}"
    return [Trouble(f"{text}; the others were removed or lost", None, NOTE, mends=False)]


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
    state = _read_state(place)
    if not state.to_write:
        return _append(root, place, state)
    locks = f"{side_dir(conversations_dir(root))}/locks"
    lock = FileLock(f"{locks}/{place.day}~{place.name}.lock", guards=place.lines)
    with storage_errors("repair", place.session), lock:
        state = _read_state(place)
        if not state.to_write:
            return None
        old_files = _rewrite(root, place, state)
    did = f"{place.folder} was rewritten {describe_written(state.rescued)}"
    if state.lost or state.rescued.lost:
        most = None if state.lost else state.rescued.lost
        did += (
            capture_again(root, place, most)
            or _describe_not_found(state)
            or _describe_no_capture(state)
        )
    return Repaired(did, old_files)


def _describe_no_capture(state: _ConversationState) -> str:
    """Return a clause for the repair report: the AI tool had none of the missing messages.

    Return "" if no message is missing, or if the conversation is bound to no tool session.
    """
    return "; the AI tool had none of the missing messages" if _may_have_more(state) else ""


def _describe_not_found(state: _ConversationState) -> str:
    count = state.head.head.get("message_count") if state.lost else 0
    known = count if type(count) is int else 0
    missing = known - len(state.rescued.messages)
    if missing <= 0:
        return ""
    if missing < known:
        return f"; the head counted {missing} more, which were not found"
    return f"; the head counted {pluralize(known, 'message')}; no copy was found"


def _append(root: str, place: ConversationPath, state: _ConversationState) -> Repaired | None:
    """Append a placeholder result for each tool call without a result.

    Also move an incomplete last line to another file. Return the result of the repair, or None if
    nothing had to be done.
    """
    if not state.rescued.torn and not state.stubs:
        return None
    store = FolderStore(root)
    before = all_set_aside(place.lines)
    store.append(place.folder[len(root) + 1 :], *state.stubs)
    store.close()
    old_files = [path for path in all_set_aside(place.lines) if path not in before]
    return Repaired(
        describe_append(place.lines, torn=bool(state.rescued.torn), stubs=state.stubs), old_files
    )


def _rewrite(root: str, place: ConversationPath, state: _ConversationState) -> list[str]:
    for path in (f"{place.shelf}/{place.day}", place.folder, place.session, place.head):
        refuse_link(path)
    refuse_link(place.lines)
    id = place.folder[len(root) + 1 :]
    if not state.rescued.nothing:
        read_now = partial(_messages, root, id)
        ensure_nothing_lost(place.lines, read_now, state.rescued.messages)
    lines = [line + b"\n" for line in state.rescued.lines]
    lines += [encode_record(stub, FOLDER.records) for stub in state.stubs]
    messages = [*state.rescued.messages, *state.stubs]
    if state.rescued.nothing or not state.of_lines:
        lines = [read_file(place.lines)]
    files = {"messages.jsonl": lines, "session.json": [_encode_head(root, place, state, messages)]}
    changed = [place.head] if _head_changes(state) else []
    changed += [place.lines] if state.of_lines and not state.rescued.nothing else []
    old_files = [set_aside(path, "corrupt") for path in changed if os.path.lexists(path)]
    swap_folder(write_folder(side_dir(conversations_dir(root)), files), place.session)
    return old_files


def _messages(root: str, id: str) -> Sequence[SessionMessage]:
    return FolderStore(root).read(id).session.messages


def _head_changes(state: _ConversationState) -> bool:
    """Return whether `session.json` must be rewritten.

    The result is True if the file is damaged, if no message was found in `messages.jsonl`, or if
    `session.json` states more messages than the conversation has.
    """
    count = state.head.head.get("message_count")
    present = len(state.rescued.messages) + len(state.stubs)
    too_many = type(count) is int and count > present and not state.rescued.nothing
    return bool(state.head.troubles or state.lost) or too_many


def _encode_head(
    root: str,
    place: ConversationPath,
    state: _ConversationState,
    messages: Sequence[SessionMessage],
) -> bytes:
    """Return the bytes of `session.json` to write.

    A lost title is taken from the conversation's markdown file. A lost slash command is derived
    from the conversation's type, such as `/workspace.plan` from `plan`.
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
