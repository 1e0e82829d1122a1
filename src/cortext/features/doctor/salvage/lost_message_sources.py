"""Recover lost messages from git, from the AI tool, and from files that were set aside.

A file is set aside if an earlier repair kept it under another name instead of deleting it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, cast

from cortext import paths
from cortext.durability.durable_files import all_set_aside
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, file_and_reason
from cortext.features.capture.capture import capture
from cortext.features.capture.capture_progress_and_ledger import REMOVED, CaptureLedger
from cortext.features.doctor.check_results import WARNING, Trouble, pluralize
from cortext.features.doctor.salvage.salvage_lines import IsHead, salvage_lines
from cortext.features.doctor.salvage.salvaged_lines_result import SalvagedLines
from cortext.features.secrets.redactor import Redactor, redact_file_bytes, redact_json
from cortext.formats.message_lines import RecordTable
from cortext.git.committed_files import committed
from cortext.model.message import SessionMessage
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath

_Row = tuple[SessionMessage, bytes]


def committed_versions(path: str) -> Iterator[bytes]:
    """Yield the contents of a file in each git commit, the newest first.

    If the user ever redacted anything, the secrets in these contents are redacted, because old
    commits may still contain them.
    """
    masked = os.path.exists(paths.redaction_key())
    for data in committed(path):
        yield _redact_version(path, data) if masked else data


def add_from_git(
    path: str, table: RecordTable, rescued: SalvagedLines, most: int | None
) -> SalvagedLines:
    """Add the messages that a file has lost but git still has, and return the salvaged lines.

    `rescued` holds the salvaged lines of the file. If git has no lost message, return `rescued`
    unchanged. If git has more than `most` lost messages, also return `rescued` unchanged, because
    the user may have removed these messages on purpose. If `most` is None, there is no limit.
    """
    for data in committed_versions(path):
        found = salvage_lines(data, table)
        if not found.messages:
            continue
        present_ids = {message.id for message in rescued.messages}
        new = len({message.id for message in found.messages} - present_ids)
        if not new or (most is not None and new > most):
            return rescued
        rows = _merge_rows(rescued, found)
        text = f"git has {pluralize(new, 'message')} that cannot be read in the file"
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


def _merge_rows(rescued: SalvagedLines, found: SalvagedLines) -> list[_Row]:
    """Return the rows of `rescued` together with the rows that are only in `found`.

    A row is a message with its line. `found` is the version of the file in git. Each added row
    comes after the same row of `rescued` as in `found`.
    """
    present_ids = {message.id for message in rescued.messages}
    after: dict[str, list[_Row]] = {}
    last = ""
    for row in zip(found.messages, found.lines, strict=True):
        if row[0].id in present_ids:
            last = row[0].id
        else:
            after.setdefault(last, []).append(row)
    rows = after.pop("", [])
    for row in zip(rescued.messages, rescued.lines, strict=True):
        rows += [row, *after.pop(row[0].id, [])]
    return rows


def _redact_version(path: str, data: bytes) -> bytes:
    return redact_file_bytes(path, data, Redactor())


def capture_again(root: str, place: ConversationPath, most: int | None) -> str:
    """Copy the lost messages of a conversation from its AI tool again.

    Return a clause for the report. It says how many messages came back, or which error occurred. It
    is "" if no message came back. If more than `most` messages are lost, copy nothing, because the
    user may have removed them on purpose; None means no limit. If the user ever redacted anything,
    redact all secrets in the copied messages.
    """
    try:
        missing = _forget_lost(root, place, most)
        if not missing:
            return ""
        new = capture(root, place, whole=True).new
        masked = (
            _redact_messages(root, place, missing) if os.path.exists(paths.redaction_key()) else 0
        )
    except (CortextError, OSError) as error:
        return f"; could not capture the missing messages from the tool: {file_and_reason(error)}"
    if not new:
        return ""
    secrets = "1 secret in them is" if masked == 1 else f"{masked} secrets in them are"
    captured = "1 message was" if new == 1 else f"{new} messages were"
    return f", and {captured} captured from the tool{f'; {secrets} redacted' if masked else ''}"


def _redact_messages(root: str, place: ConversationPath, ids: set[str]) -> int:
    """Redact all secrets in the messages with these ids, and return the number of secrets.

    Nobody knows which of the secrets the user redacted before, so all of them are redacted.
    """
    mask = Redactor()

    def change(value: Any) -> Any:
        record = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        return redact_json(record, mask) if record.get("id") in ids else cast("Any", value)

    FolderStore(root).rewrite_at(place, change)
    return len(mask.used)


def _forget_lost(root: str, place: ConversationPath, most: int | None) -> set[str]:
    """Remove lost messages from the capture ledger, so that the next capture copies them again.

    The ledger is the list of captured messages. Return the ids of the removed messages. If more
    than `most` messages are lost, remove nothing; None means no limit.
    """
    store = FolderStore(root)
    head = store.head_at(place)
    if not head.native:
        return set()
    present_ids = {
        message.id for message in store.read(place.folder[len(root) + 1 :]).session.messages
    }
    ledger = CaptureLedger(place, head)
    known = ledger.read()
    missing = {
        id for id, each in known.items() if id not in present_ids and each.fingerprint != REMOVED
    }
    if not missing or (most is not None and len(missing) > most):
        return set()
    ledger.replace(each for id, each in known.items() if id not in missing)
    return missing


def read_set_aside(
    path: str, table: RecordTable, is_head: IsHead | None = None
) -> SalvagedLines | None:
    """Return the messages in the old versions of a file, in order of time.

    Old versions are files that an earlier repair kept under other names. Return None if they
    contain no message. `table` is their record format. `is_head` is a function that says whether a
    line is a head (a session without its messages). Raises OSError if a version cannot be read.
    """
    if not os.path.isdir(os.path.dirname(path)):
        return None
    found = [salvage_lines(read_file(each), table, is_head) for each in all_set_aside(path)]
    by_id = {
        message.id: (message.timestamp, line, message)
        for rescued in found
        for line, message in zip(rescued.lines, rescued.messages, strict=True)
    }
    if not by_id:
        return None
    rows = sorted(by_id.values(), key=itemgetter(0))
    heads = [head for rescued in found for head in rescued.heads]
    answered = frozenset[str]().union(*(rescued.answered for rescued in found))
    text = "messages from a file that was set aside earlier are used"
    lines, messages = [row[1] for row in rows], [row[2] for row in rows]
    return SalvagedLines(lines, messages, heads, b"", [Trouble(text, None, WARNING)], answered)
