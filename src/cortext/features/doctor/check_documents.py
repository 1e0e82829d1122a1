"""Check session documents.

A document is a file `{id}.json` with one whole session. `{id}.backup` is its previous version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from cortext.durability.durable_files import (
    all_set_aside,
    refuse_link,
    replace,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file, read_file_and_stat
from cortext.errors import NewerVersionError
from cortext.features.doctor.check_results import (
    CONFLICT,
    NOTHING,
    WARNING,
    CheckResult,
    Repair,
    Repaired,
    Trouble,
    describe_nuls,
    describe_trouble,
    pluralize,
    report_unreadable,
    reword_decode_error,
)
from cortext.features.doctor.repair import ensure_nothing_lost
from cortext.features.doctor.salvage.damaged_text import (
    HALF,
    convert_to_utf8,
    decode_text,
    describe_bad_text,
    repair_value_characters,
    split_conflict,
)
from cortext.features.doctor.salvage.missing_tool_results import (
    describe_missing_results,
    stub_missing_results,
)
from cortext.features.doctor.salvage.salvage_documents import salvage_head_fields, salvage_records
from cortext.features.doctor.salvage.salvage_heads import (
    choose_newest,
    decode_objects,
    make_up_session,
    merge_fitting_fields,
    version_at_start,
)
from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.document import SessionStorage

_POSITION = re.compile(r" at (?:character|byte) (\d+)")
_NULS = re.compile(rb"\0+")


class _DocumentState(NamedTuple):
    """The readable contents of a session document, and its damage.

    `session` is None if nothing can be read. `stubs` are the messages to add for tool calls without
    a result.
    """

    session: Session | None
    troubles: Sequence[Trouble]
    stubs: Sequence[SessionMessage]

    @property
    def to_write(self) -> bool:
        return any(trouble.mends for trouble in self.troubles)


def check_document(folder: str, id: str) -> CheckResult:
    """Check the session document `{folder}/{id}.json`.

    Return its problems, and a repair if one is possible.
    """
    path = f"{folder}/{id}.json"
    try:
        state = _read_state(folder, id)
    except (NewerVersionError, OSError) as error:
        return report_unreadable(path, error)
    troubles = [*state.troubles, *describe_missing_results(state.stubs)]
    if not troubles:
        return NOTHING
    count = pluralize(len(state.session.messages) if state.session else 0, "message")
    sentence = f"rewrite {path} with the {count} that can be read"
    if not state.to_write:
        sentence = f"record missing tool results in {path}" if state.stubs else ""
    problems = [describe_trouble(path, trouble, sentence) for trouble in troubles]
    mends = any(problem.mend for problem in problems)
    return CheckResult(problems, Repair(sentence, partial(_repair, folder, id)) if mends else None)


def _read_state(folder: str, id: str) -> _DocumentState:
    """Read a document and return its contents and damage. Raises NewerVersionError or OSError."""
    path = f"{folder}/{id}.json"
    data, _ = read_file_and_stat(path)
    refuse_newer(document.decode_version(data) or version_at_start(data), path)
    try:
        session = document.decode(data).session
    except ValueError as error:
        return _salvage_state(folder, id, data, str(error))
    troubles = list[Trouble]()
    if b'"messages"' not in data:
        troubles.append(Trouble("the messages are missing"))
        _add_missing(session, salvage_records(data, id))
        session = _with_backup(session, folder, id)
    if HALF.search(data):
        session = _repair_surrogates(session, troubles)
    _drop_repeated(session, troubles)
    return _DocumentState(session, troubles, _missing_results(session))


def _missing_results(session: Session) -> list[SessionMessage]:
    answered = {call.id for call in session.tool_history}
    return stub_missing_results(session.messages, answered, session.pending)


def _repair_surrogates(session: Session, troubles: list[Trouble]) -> Session:
    data = session.to_dict()
    better = repair_value_characters(data)
    if better == data:
        return session
    troubles.append(Trouble("a character is incomplete", severity=WARNING))
    return Session.from_decoded(cast("dict[str, Any]", better))


def _drop_repeated(session: Session, troubles: list[Trouble]) -> None:
    """Remove repeated messages from the session, and add a description of them to `troubles`."""
    first_by_id = {message.id: message for message in reversed(session.messages)}
    remaining = [m for m in session.messages if first_by_id[m.id] is m or first_by_id[m.id] != m]
    count = len(session.messages) - len(remaining)
    if count:
        what = "1 message occurs" if count == 1 else f"{count} messages occur"
        troubles.append(Trouble(f"{what} twice", severity=WARNING))
        session.messages = remaining


def _salvage_state(folder: str, id: str, data: bytes, why: str) -> _DocumentState:
    if not data.strip(b"\0 \t\r\n"):
        return _salvage_empty(folder, id, data)
    troubles, ours, lines = _read_as_text(data)
    try:
        session = document.decode(ours).session
    except ValueError:
        session = _merge_documents(ours, troubles)
    if session is None:
        session = _salvage_session(folder, id, lines, troubles, why)
    else:
        _add_missing(session, salvage_records(lines, id))
    if session is None:
        return _DocumentState(
            None,
            [Trouble(f"nothing in the file can be read: {reword_decode_error(why)}", mends=False)],
            (),
        )
    session.id = id
    session = (
        _repair_surrogates(session, troubles) if HALF.search(lines) else session
    )  # `data` may be UTF-16
    if any(trouble.severity != WARNING for trouble in troubles):
        session = _with_backup(session, folder, id)
    _drop_repeated(session, troubles)
    return _DocumentState(session, troubles, _missing_results(session))


def _read_as_text(data: bytes) -> tuple[list[Trouble], bytes, bytes]:
    """Decode a document as text. Return its damage, and two texts in UTF-8.

    If the document has git conflict markers, the first text contains only our side of the conflict,
    and the second text contains both sides. Otherwise both texts are the whole document.
    """
    troubles = list[Trouble]()
    data, was = convert_to_utf8(data)
    if was:
        troubles.append(Trouble(f"the text is encoded as {was}", severity=WARNING))
    if b"\0" in data:
        line = data.count(b"\n", 0, data.find(b"\0")) + 1
        troubles.append(Trouble(describe_nuls(data.count(0)), line))
    if decode_text(data)[1]:
        troubles.append(Trouble(describe_bad_text(data), _first_bad_line(data), WARNING))
    sides = split_conflict(data)
    if sides:
        text = f"{CONFLICT}; our head is used, and the messages of both sides are kept"
        troubles.append(Trouble(text, sides.lines[0]))
    ours, both = (sides.ours, sides.both) if sides else (data, data)
    # Text after a gap of NUL bytes starts a new line.
    lines = decode_text(_NULS.sub(b"\n", both))[0].encode("utf-8")
    return troubles, decode_text(_NULS.sub(b"", ours))[0].encode("utf-8"), lines


def _salvage_empty(folder: str, id: str, data: bytes) -> _DocumentState:
    """Return the state of an empty document, with messages from its backup or from old versions.

    Old versions are files that an earlier repair kept under another name.
    """
    path = f"{folder}/{id}.json"
    found = _read_backup(folder, id)
    for old_file in all_set_aside(path):
        session = _read_set_aside(read_file(old_file), id)
        if session is not None:
            found = _merge(found, session)
    text = f"the file contains only {len(data)} NUL bytes" if data.strip() else "the file is empty"
    if found is None:
        return _DocumentState(None, [Trouble(f"{text}; no copy was found", mends=False)], ())
    found.id = id
    text += f"; its backup has {pluralize(len(found.messages), 'message')}"
    return _DocumentState(found, [Trouble(text)], _missing_results(found))


def _read_set_aside(data: bytes, id: str) -> Session | None:
    try:
        return document.decode(data).session
    except ValueError:
        found = salvage_records(_read_as_text(data)[2], id)
        return found if found.messages else None


def _merge(session: Session | None, other: Session) -> Session:
    if session is None:
        return other
    _add_missing(session, other)
    return session


def _first_bad_line(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return 1


def _merge_documents(data: bytes, troubles: list[Trouble]) -> Session | None:
    """Return the newest of several sessions in one file, with the messages of the others added.

    Return None if the file does not contain several sessions. `data` is the file in UTF-8.
    """
    found = [one for one in decode_objects(data.decode("utf-8")) if "created_at" in one]
    try:
        sessions = [Session.from_decoded(one) for one in found]
    except ValueError:
        return None
    if len(sessions) < 2:
        return None
    troubles.append(
        Trouble(f"the file contains {len(sessions)} documents; the newest head is used")
    )
    best = sessions[found.index(choose_newest(found))]
    for other in sessions:
        _add_missing(best, other)
    return best


def _salvage_session(
    folder: str, id: str, data: bytes, troubles: list[Trouble], why: str
) -> Session | None:
    session, damages = document.salvage(data, id)
    _add_missing(session, salvage_records(data, id))
    backup = _read_backup(folder, id)
    if not session.messages and not session.tool_history and backup is None:
        return None
    troubles.append(
        Trouble(
            f"the file cannot be read completely: {reword_decode_error(why)}", _find_line(why, data)
        )
    )
    troubles += [Trouble(reword_decode_error(damage.detail), damage.line) for damage in damages]
    known = backup or make_up_session(id, session.messages, session.created_at)
    head = merge_fitting_fields(
        salvage_head_fields(data), _head_fields(known), Session.from_decoded
    )
    found = Session.from_decoded(head)
    found.messages, found.tool_history = session.messages, session.tool_history
    return found


def _head_fields(session: Session) -> dict[str, Any]:
    lists = ("messages", "tool_history")
    return {name: value for name, value in session.to_dict().items() if name not in lists}


def _find_line(why: str, data: bytes) -> int | None:
    """Return the number of the line at which a JSON decoder failed, or None if it is unknown.

    `why` is the decoder's error message, which may contain a position (such as "at byte 120").
    `data` is the whole document.
    """
    found = _POSITION.search(why)
    return data.count(b"\n", 0, int(found[1])) + 1 if found else None


def _read_backup(folder: str, id: str) -> Session | None:
    try:
        return document.decode(read_file(f"{folder}/{id}.backup")).session
    except (OSError, ValueError):
        return None


def _with_backup(session: Session, folder: str, id: str) -> Session:
    """Return the session with the messages that only its backup has."""
    backup = _read_backup(folder, id)
    if backup is not None:
        _add_missing(session, backup)
    return session


def _add_missing(session: Session, other: Session) -> None:
    known = {message.id for message in session.messages}
    more = [message for message in other.messages if message.id not in known]
    calls = {call.id for call in session.tool_history}
    session.tool_history += [call for call in other.tool_history if call.id not in calls]
    if more:
        both = [*session.messages, *more]
        session.messages = sorted(both, key=lambda message: message.timestamp)


def _repair(folder: str, id: str) -> Repaired | None:
    path = f"{folder}/{id}.json"
    state = _read_state(folder, id)
    if not state.to_write:
        if not state.stubs:
            return None
        SessionStorage(folder).append(id, *state.stubs)
        return Repaired(f"{path} records the missing tool results", [f"{folder}/{id}.backup"])
    lock = FileLock(f"{side_dir(folder)}/locks/{id}.lock", guards=path)
    with storage_errors("repair", path), lock:
        session, troubles, stubs = state = _read_state(folder, id)
        if session is None or not (troubles and state.to_write):
            return None
        session.messages = [*session.messages, *stubs]
        refuse_link(path)
        storage = SessionStorage(folder)
        ensure_nothing_lost(path, lambda: storage.read(id).session.messages, session.messages)
        old_file = set_aside(path, "corrupt")
        messages = EncodedRecords().extended(session.messages)
        chunks = document.encode(session, messages, EncodedRecords().extended(session.tool_history))
        replace(path, chunks, temp_dir=side_dir(folder))
    count = pluralize(len(session.messages), "message")
    return Repaired(f"{path} was rewritten with {count}", [old_file])
