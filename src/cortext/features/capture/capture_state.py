"""What earlier captures of a conversation left: a progress file and a ledger.

The progress says how far each transcript was read, so that the next capture reads only what is
new. It is derived: without it, transcripts are read again from the beginning.

The ledger has one line for each captured message, so that a person's changes stay. A message that
is in the ledger and no longer in the conversation was removed; a message that differs from its
fingerprint was changed. Neither comes back. Without the ledger, captures know only what is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from cortext import paths
from cortext.durability.replace_file import (
    make_private_dir,
    remove_if_there,
    sweep_temps,
    temp_name,
)
from cortext.model import json_codec, record_dicts
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding
from cortext.stores.fingerprints import Fingerprint
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.new_messages import FilePosition

_RECENT = 400
_OLD_SECONDS = 90 * 86_400
_LEDGER_SUFFIX = ".taken"
REMOVED = "out"
"""In place of a fingerprint: a person removed the message."""


class Point(Struct, frozen=True):
    """How far a tool session was read, the time of its last message, and whether the conversation
    had begun by then. Without a mark, the session had no transcript on this machine."""

    mark: FilePosition | None
    last: datetime | None = None
    begun: bool = True


class Progress(Struct):
    """The progress of a conversation. `lines` is the fingerprint of messages.jsonl, `recent` are
    the ids of its last messages and `last` the time of the latest one. `points` are those of the
    tool sessions, by the `point_key` of their bindings."""

    lines: tuple[int, int, int] = (0, 0, 0)
    last: datetime | None = None
    recent: list[str] = []
    points: dict[str, Point] = {}

    def remember(self, ids: Iterable[str]) -> None:
        self.recent = [*self.recent, *ids][-_RECENT:]


class CapturedMessage(NamedTuple):
    """A line of the ledger: a message, the session that it came from, and its fingerprint then."""

    id: str
    session: str
    fingerprint: str


_decode_progress = Decoder(Progress).decode
_decode_line = Decoder(CapturedMessage).decode


def point_key(binding: ToolBinding) -> str:
    """Return the key of a binding's point. A binding that has ended since gets another key, so its
    session is read once more, and then never again."""
    return f"{binding.tool} {binding.session_id} {binding.start or ''} {binding.end or ''}"


def load_progress(place: ConversationPath) -> Progress | None:
    """Return the progress of a conversation, if its messages are as they were then."""
    try:
        with open(_progress_path(place), "rb") as file:
            found = _decode_progress(file.read())
    except (OSError, DecodeError, ValidationError):
        return None
    return found if found.lines == Fingerprint.at(place.lines) else None


def store_progress(place: ConversationPath, progress: Progress) -> None:
    """Write the progress. It is not synced: after a power cut, transcripts are read again."""
    path = _progress_path(place)
    progress.lines = Fingerprint.at(place.lines) or (0, 0, 0)
    folder = os.path.dirname(path)
    make_private_dir(folder)
    if not os.path.lexists(path):
        with suppress(FileNotFoundError):  # another process may delete the same files
            _delete_old(folder)
    temp = os.path.join(folder, temp_name("captured"))
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(encode(progress))
    os.rename(temp, path)


class CaptureLedger:
    """The messages that were captured into one conversation, by their ids."""

    def __init__(self, place: ConversationPath, head: Session) -> None:
        self._path = f"{_progress_path(place)}{_LEDGER_SUFFIX}"
        # The first line tells the conversation from another one that was once in the same place.
        owner = f"{head.id} {record_dicts.iso(head.created_at)}"
        self._first_line = json_codec.encode([place.folder, owner])

    def read(self) -> dict[str, CapturedMessage]:
        """Return the lines. The ledger of another conversation is deleted."""
        try:
            with open(self._path, "rb") as file:
                first, *lines = file.read().split(b"\n")
        except OSError:
            return {}
        if first != self._first_line:
            os.unlink(self._path)
            return {}
        found: dict[str, CapturedMessage] = {}
        for line in lines:
            with suppress(DecodeError, ValidationError):  # a killed process wrote half of it
                captured = _decode_line(line)
                found[captured.id] = captured
        return found

    def add(self, captured: Iterable[CapturedMessage]) -> None:
        """Add lines for messages, after the messages were written."""
        lines = [json_codec.encode(each) + b"\n" for each in captured]
        if not lines:
            return
        make_private_dir(os.path.dirname(self._path))
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(fd, "ab") as file:
            if file.tell() == 0:
                file.write(self._first_line)
            # The last line may be incomplete.
            file.write(b"\n" + b"".join(lines))

    def replace(self, captured: Iterable[CapturedMessage]) -> None:
        """Replace all lines."""
        remove_if_there(self._path)
        self.add(captured)


def message_fingerprint(message: SessionMessage) -> str:
    """Return a text that changes whenever the text or the tool calls of a message do."""
    said = json_codec.encode([message.content, message.tool_calls or []])
    return blake2b(said, digest_size=8).hexdigest()


def _delete_old(folder: str) -> None:
    """Delete the progress of conversations that were not captured for long, and what killed
    processes left. A ledger stays for as long as its conversation may."""
    sweep_temps(folder)
    limit = time.time() - _OLD_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat().st_mtime < limit and not entry.name.endswith(_LEDGER_SUFFIX):
                remove_if_there(entry.path)


def _progress_path(place: ConversationPath) -> str:
    name = blake2b(os.fsencode(place.folder), digest_size=16).hexdigest()
    return os.path.join(paths.running(), "captured", name)
