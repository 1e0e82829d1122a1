"""The files that earlier captures of a conversation left: a progress file and a ledger.

The progress file records how far each transcript was read, so the next capture reads only new
messages. Without this file, transcripts are read again from the beginning.

The ledger has one line for each captured message, so that a capture keeps the user's changes. If a
message is in the ledger but not in the conversation, the user removed the message. If a message
differs from its fingerprint, the user changed the message. A capture undoes neither.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b

import msgspec
from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from cortext import paths
from cortext.durability.durable_files import (
    make_private_dir,
    remove_if_there,
    sweep_temps,
    temp_name,
)
from cortext.model import json_codec, message_dicts
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.new_transcript_lines import FilePosition

_MAX_RECENT = 400
_OLD_SECONDS = 90 * 86_400
_LEDGER_SUFFIX = ".taken"
REMOVED = "out"
"""The fingerprint in the ledger of a message that the user removed from the conversation."""


class Point(Struct, frozen=True):
    """The point up to which captures have read a tool session.

    `mark` is the position in the transcript, or None if there was no transcript on this machine.
    `last` is the time of the last message that was read. `begun` is True if the binding starts
    before this point. In this case, all messages after this point belong to the conversation.
    """

    mark: FilePosition | None
    last: datetime | None = None
    begun: bool = True


class Progress(Struct):
    """The content of a conversation's progress file.

    `lines` is the fingerprint of messages.jsonl after the last capture. `recent` holds the ids of
    recent messages. `last` is the latest time of any message, or None. `points` says how far each
    tool session was read; its keys come from `point_key`.
    """

    lines: tuple[int, int, int] = (0, 0, 0)
    last: datetime | None = None
    recent: list[str] = []
    points: dict[str, Point] = {}

    def remember(self, ids: Iterable[str]) -> None:
        self.recent = [*self.recent, *ids][-_MAX_RECENT:]


class CapturedMessage(msgspec.Struct, frozen=True):
    """One line of the ledger, the list of captured messages. Each line describes one message.

    `session` is the label of the tool session. `fingerprint` is the message's fingerprint at the
    time of its capture. If the user has removed the message since then, `fingerprint` is the
    constant REMOVED.
    """

    id: str
    session: str
    fingerprint: str


_decode_progress = Decoder(Progress).decode
_decode_line = Decoder(CapturedMessage).decode


def point_key(binding: ToolBinding) -> str:
    """Return the key of a binding in `Progress.points`.

    The key contains the end of the binding. So when a binding ends, its new key has no point yet,
    and the next capture reads the session one last time.
    """
    return f"{binding.tool} {binding.session_id} {binding.start or ''} {binding.end or ''}"


def load_progress(place: ConversationPath) -> Progress | None:
    """Return the stored progress: how far earlier captures have read a conversation's sessions.

    The result is None if there was no capture, or if `messages.jsonl` has changed since then.
    """
    try:
        with open(_progress_path(place), "rb") as file:
            found = _decode_progress(file.read())
    except (OSError, DecodeError, ValidationError):
        return None
    return found if found.lines == Fingerprint.at(place.lines) else None


def store_progress(place: ConversationPath, progress: Progress) -> None:
    """Write the progress file of a conversation.

    The file is not durable. After a power cut, transcripts are read again from the beginning.
    """
    path = _progress_path(place)
    progress.lines = Fingerprint.at(place.lines) or (0, 0, 0)
    folder = os.path.dirname(path)
    make_private_dir(folder)
    if not os.path.lexists(path):
        with suppress(FileNotFoundError):  # another process may delete the same files
            _delete_old_files(folder)
    temp = os.path.join(folder, temp_name("captured"))
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(encode(progress))
    os.rename(temp, path)


class CaptureLedger:
    """The ledger file of one conversation. It has a line for each captured message.

    `head` is the session of the conversation, without its messages. The first line of the ledger
    has the id and the creation time of the session for which the ledger was written. If `head` has
    another id or creation time, the ledger belongs to an earlier conversation in the same folder.
    """

    def __init__(self, place: ConversationPath, head: Session) -> None:
        self._path = f"{_progress_path(place)}{_LEDGER_SUFFIX}"
        # The first line names the owner: another conversation may have had this place before.
        owner = f"{head.id} {message_dicts.iso(head.created_at)}"
        self._first_line = json_codec.encode([place.folder, owner])

    def read(self) -> dict[str, CapturedMessage]:
        """Return the lines of the ledger by message id, or {} if there is no ledger.

        A ledger that belongs to an earlier conversation in the same folder is deleted.
        """
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
            with suppress(DecodeError, ValidationError):  # a killed process left an incomplete line
                captured = _decode_line(line)
                found[captured.id] = captured
        return found

    def add(self, captured: Iterable[CapturedMessage]) -> None:
        """Append a line for each captured message. The caller must have stored the messages."""
        lines = [json_codec.encode(each) + b"\n" for each in captured]
        if not lines:
            return
        make_private_dir(os.path.dirname(self._path))
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(fd, "ab") as file:
            if file.tell() == 0:
                file.write(self._first_line)
            # Begin with a newline, because the last line may be incomplete.
            file.write(b"\n" + b"".join(lines))

    def replace(self, captured: Iterable[CapturedMessage]) -> None:
        """Replace all lines of the ledger by one line for each message in `captured`."""
        remove_if_there(self._path)
        self.add(captured)


def message_fingerprint(message: SessionMessage) -> str:
    """Return a fingerprint of the text and the tool calls of a message."""
    data = json_codec.encode([message.content, message.tool_calls or []])
    return blake2b(data, digest_size=8).hexdigest()


def _delete_old_files(folder: str) -> None:
    """Delete old progress files, and the temporary files of killed processes.

    Ledgers stay, because their conversations may still exist and need them.
    """
    sweep_temps(folder)
    limit = time.time() - _OLD_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat().st_mtime < limit and not entry.name.endswith(_LEDGER_SUFFIX):
                remove_if_there(entry.path)


def _progress_path(place: ConversationPath) -> str:
    name = blake2b(os.fsencode(place.folder), digest_size=16).hexdigest()
    return os.path.join(paths.running(), "captured", name)
