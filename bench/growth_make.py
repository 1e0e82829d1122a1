"""Very long sessions and very many, written straight into files by the formats' own encoders: that
each write is synced is what the measured work is about, and not this."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cortext import Session, SessionMessage
from cortext.formats.folder import FOLDER, encode_head
from cortext.formats.line_formats import encode_records
from cortext.formats.log import LOG, encode, encode_head_line
from cortext.formats.message_lines import RecordTable, encode_record
from cortext.model.message import Role
from cortext.model.status import Status

ID = "bench"
PER_DAY = 20
"""Conversations that a busy person begins in a day."""
_WORDS = [f"word{number * 7919 % 20_011}" for number in range(20_011)]
_EACH = 25
_SETTLED = 2 * 86_400
"""Seconds after which nobody takes a file for one that is being written."""


def text_of(number: int) -> str:
    """About 200 characters, with one word that no other number has."""
    at = number * 31 % (len(_WORDS) - _EACH)
    return f"rare{number} {' '.join(_WORDS[at : at + _EACH])}"


def lines(count: int, table: RecordTable) -> Iterator[bytes]:
    """The records of a session that was begun an hour ago and goes on."""
    began, step = datetime.now(UTC) - timedelta(hours=1), timedelta(hours=1) / (count + 1)
    roles: tuple[Role, Role] = ("user", "assistant")
    for number in range(count):
        message = SessionMessage(
            roles[number % 2], text_of(number), began + number * step, f"m-{number:07}"
        )
        yield encode_record(message, table)


def make_log(folder: str, messages: int) -> None:
    """One log of so many messages."""
    os.makedirs(folder)
    head = Session(ID, title="Growth", metadata={"framework": "bench"})
    with open(f"{folder}/{ID}.jsonl", "wb") as file:
        file.write(encode_head_line(head))
        file.writelines(lines(messages, LOG.records))


def make_conversation(root: str, messages: int) -> None:
    """A workspace with one conversation of so many messages, which goes on."""
    session = _conversation(0, datetime.now(UTC), "active")
    folder = _make_folder(root, session)
    with open(f"{folder}/.session/messages.jsonl", "wb") as file:
        file.writelines(lines(messages, FOLDER.records))
    _write(f"{folder}/.session/session.json", encode_head(session))
    _write(f"{folder}/brainstorm.md", b"# Growth\n")


def make_workspace(root: str, count: int) -> None:
    """So many conversations of two messages, twenty a day until yesterday; all rest."""
    today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    for number in range(count):
        day = today - timedelta(days=1 + (count - 1 - number) // PER_DAY)
        when = day + timedelta(minutes=number % PER_DAY)
        session = _conversation(number, when, "paused")
        session.messages = _two(number, when)
        folder = _make_folder(root, session)
        records = b"".join(encode_records(session, FOLDER))
        _write(f"{folder}/.session/messages.jsonl", records, settled=True)
        _write(f"{folder}/.session/session.json", encode_head(session), settled=True)
        _write(f"{folder}/brainstorm.md", b"# Topic\n", settled=True)


def make_logs(folder: str, count: int) -> None:
    """So many logs of two messages, as a program keeps them."""
    os.makedirs(folder)
    began = datetime.now(UTC) - timedelta(minutes=count + 60)
    for number in range(count):
        when = began + timedelta(minutes=number)
        session = Session(
            f"s-{number:06}", title=f"Topic {number}", created_at=when, updated_at=when,
            owner=f"owner-{number % 10}", metadata={"framework": "bench"},
            messages=_two(number, when),
        )  # fmt: skip
        _write(f"{folder}/{session.id}.jsonl", encode(session), settled=True)


def name_of(number: int) -> str:
    return f"{number % PER_DAY + 1:03}-brainstorm-topic-{number:06}"


def _conversation(number: int, when: datetime, status: Status) -> Session:
    return Session(
        name_of(number), title=f"Topic {number}", kind="brainstorm", status=status,
        created_at=when, updated_at=when, command="/workspace.brainstorm",
        summary=f"We compared {number} with {number * 7 % 100} and leaned to the second",
    )  # fmt: skip


def _two(number: int, when: datetime) -> list[SessionMessage]:
    return [
        SessionMessage("user", text_of(number), when, f"{number}-1"),
        SessionMessage("assistant", f"answer {number}", when, f"{number}-2"),
    ]


def _make_folder(root: str, session: Session) -> str:
    folder = f"{root}/conversations/{session.created_at.astimezone():%Y-%m-%d}/{session.id}"
    os.makedirs(f"{root}/.workspace", exist_ok=True)
    os.makedirs(f"{folder}/.session")
    return folder


def _write(path: str, data: bytes, *, settled: bool = False) -> None:
    with open(path, "wb") as file:
        file.write(data)
    if settled:
        then = time.time() - _SETTLED
        os.utime(path, (then, then))
