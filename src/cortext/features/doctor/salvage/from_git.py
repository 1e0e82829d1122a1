"""What git has of a conversation that lost something: `stop` and `done` commit it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cortext import paths
from cortext.features.doctor.problem import WARNING, Trouble, counted
from cortext.features.doctor.salvage.salvage_lines import rescue_lines
from cortext.features.doctor.salvage.salvage_result import Rescued
from cortext.formats.record_lines import RecordTable
from cortext.git.committed_files import committed
from cortext.model.message import SessionMessage

_Row = tuple[SessionMessage, bytes]


def versions(path: str) -> Iterator[bytes]:
    """A file as it was committed, the newest first. Git's history has what was redacted since: for
    who redacts there are no secrets in it."""
    masked = os.path.exists(paths.redaction_key())
    for data in committed(path):
        yield _masked(path, data) if masked else data


def from_git(path: str, table: RecordTable, rescued: Rescued, most: int | None) -> Rescued:
    """What is left of a file, with the messages that it had in git and has no more; the same if
    there are none, or more than `most`: a person may have taken them out."""
    for data in versions(path):
        found = rescue_lines(data, table)
        if not found.messages:
            continue
        there = {message.id for message in rescued.messages}
        new = len({message.id for message in found.messages} - there)
        if not new or (most is not None and new > most):
            return rescued
        rows = _filled(rescued, found)
        text = f"git has {counted(new, 'message')} of it that cannot be read here"
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


def _filled(rescued: Rescued, found: Rescued) -> list[_Row]:
    """The rows of both: each that is missing after the one that it was said after."""
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
    from cortext.features.secrets.redact_value import Marker, masked_file

    return masked_file(path, data, Marker())
