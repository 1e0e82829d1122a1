"""Recover lost messages from git, from the AI tool, and from files that were set aside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, cast

from cortext import paths
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import all_set_aside
from cortext.errors import CortextError, where_and_why
from cortext.features.capture.capture import capture
from cortext.features.capture.capture_state import REMOVED, CaptureLedger
from cortext.features.doctor.problem import WARNING, Trouble, pluralize
from cortext.features.doctor.salvage.line_records import SalvagedLines
from cortext.features.doctor.salvage.salvage_lines import IsHead, salvage_lines
from cortext.features.secrets.redact_value import Redactor, redact_file_bytes, redact_json
from cortext.formats.record_lines import RecordTable
from cortext.git.committed_files import committed
from cortext.model.message import SessionMessage
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath

_Row = tuple[SessionMessage, bytes]


def committed_versions(path: str) -> Iterator[bytes]:
    """Yield the contents of a file in each git commit, the newest first.

    If the user ever redacted anything, the secrets in these contents are redacted. Otherwise old
    commits would bring them back.
    """
    masked = os.path.exists(paths.redaction_key())
    for data in committed(path):
        yield _masked(path, data) if masked else data


def add_from_git(
    path: str, table: RecordTable, rescued: SalvagedLines, most: int | None
) -> SalvagedLines:
    """Return the salvaged lines of a file, with the messages added that only git has.

    Return `rescued` unchanged if git has no other messages, or more than `most`. In the second
    case the user may have removed them on purpose. None means no limit.
    """
    for data in committed_versions(path):
        found = salvage_lines(data, table)
        if not found.messages:
            continue
        there = {message.id for message in rescued.messages}
        new = len({message.id for message in found.messages} - there)
        if not new or (most is not None and new > most):
            return rescued
        rows = _filled(rescued, found)
        text = f"git has {pluralize(new, 'message')} of it that cannot be read here"
        return rescued._replace(
            lines=[line for _, line in rows],
            messages=[message for message, _ in rows],
            troubles=[*rescued.troubles, Trouble(text, None, WARNING)],
            answered=rescued.answered | found.answered,
            lost=max(rescued.lost - new, 0),
            nothing=False,
            in_git=new,
        )
    return rescued


def _filled(rescued: SalvagedLines, found: SalvagedLines) -> list[_Row]:
    """Return the rows of `rescued`, with each row that only `found` has inserted at its place.

    The inserted row follows the same row as in `found`, the version in git.
    """
    there = {message.id for message in rescued.messages}
    after: dict[str, list[_Row]] = {}
    last = ""
    for row in zip(found.messages, found.lines, strict=True):
        if row[0].id in there:
            last = row[0].id
        else:
            after.setdefault(last, []).append(row)
    rows = after.pop("", [])
    for row in zip(rescued.messages, rescued.lines, strict=True):
        rows += [row, *after.pop(row[0].id, [])]
    return rows


def _masked(path: str, data: bytes) -> bytes:
    return redact_file_bytes(path, data, Redactor())


def capture_again(root: str, place: ConversationPath, most: int | None) -> str:
    """Capture lost messages of a conversation from its AI tool again; return a clause for a report.

    The clause says how many messages came back, or why the capture failed. Return "" if none are
    missing, or more than `most`: then the user may have removed them on purpose. None means no
    limit. If the user ever redacted anything, the secrets in these messages are redacted.
    """
    try:
        missing = _forget_missing(root, place, most)
        if not missing:
            return ""
        new = capture(root, place, whole=True).new
        masked = _mask(root, place, missing) if os.path.exists(paths.redaction_key()) else 0
    except (CortextError, OSError) as error:
        return f"; what is missing could not be had from the tool again: {where_and_why(error)}"
    if not new:
        return ""
    secrets = "1 secret in them is" if masked == 1 else f"{masked} secrets in them are"
    were = "1 was" if new == 1 else f"{new} were"
    return f", and {were} taken from the tool again{f'; {secrets} masked' if masked else ''}"


def _mask(root: str, place: ConversationPath, ids: set[str]) -> int:
    """Redact all secrets in the messages with these ids, and return the number of secrets.

    Nobody knows which of these secrets were redacted before, so all of them are redacted.
    """
    mask = Redactor()

    def change(value: Any) -> Any:
        record = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        return redact_json(record, mask) if record.get("id") in ids else cast("Any", value)

    FolderStore(root).rewrite_at(place, change)
    return len(mask.used)


def _forget_missing(root: str, place: ConversationPath, most: int | None) -> set[str]:
    """Remove lost messages from the capture ledger, so that a capture takes them again.

    Return their ids. The ledger lists the messages that were captured before.
    """
    store = FolderStore(root)
    head = store.head_at(place)
    if not head.native:
        return set()
    there = {message.id for message in store.read(place.folder[len(root) + 1 :]).session.messages}
    ledger = CaptureLedger(place, head)
    known = ledger.read()
    missing = {id for id, each in known.items() if id not in there and each.fingerprint != REMOVED}
    if not missing or (most is not None and len(missing) > most):
        return set()
    ledger.replace(each for id, each in known.items() if id not in missing)
    return missing


def read_set_aside(
    path: str, table: RecordTable, is_head: IsHead | None = None
) -> SalvagedLines | None:
    """Return the messages in the set-aside versions of a file, in order of time.

    An earlier repair set these versions aside. Return None if they contain no message. `is_head`
    says whether a line is a session head. Raises OSError if a version cannot be read.
    """
    if not os.path.isdir(os.path.dirname(path)):
        return None
    found = [salvage_lines(read_file(each), table, is_head) for each in all_set_aside(path)]
    once = {
        message.id: (message.timestamp, line, message)
        for rescued in found
        for line, message in zip(rescued.lines, rescued.messages, strict=True)
    }
    if not once:
        return None
    rows = sorted(once.values(), key=itemgetter(0))
    heads = [head for rescued in found for head in rescued.heads]
    answered = frozenset[str]().union(*(rescued.answered for rescued in found))
    text = "messages that were set aside before are taken"
    lines, messages = [row[1] for row in rows], [row[2] for row in rows]
    return SalvagedLines(lines, messages, heads, b"", [Trouble(text, None, WARNING)], answered)
