"""Which messages were taken from which tool session, so that a person's changes stay.

What was taken and is not there any more was taken out; what is not as it was written was changed.
Neither comes back with the next capture. One line a message, outside the conversation: without
the file, captures know only what is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple

from msgspec import DecodeError, ValidationError
from msgspec.json import Decoder

from cortext.durability.replace_file import make_private_dir
from cortext.features.capture.capture_progress import path_of
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.stores.workspace_layout import ConversationPath

OUT = "out"
"""In the place of a print: it is known that a person took it out."""


class Took(NamedTuple):
    """A message when it was taken: from which session, what it looked like."""

    id: str
    session: str
    print: str


_decoder = Decoder(Took)


class Taken:
    """All that was taken into one conversation. `of` tells the conversation from another that was
    once in the same place."""

    def __init__(self, place: ConversationPath, of: str) -> None:
        self._place, self._of = place, of
        self._path = f"{path_of(place)}.taken"
        self.found: dict[str, Took] = self._read()
        self.sessions: set[str] = {took.session for took in self.found.values()}

    def _read(self) -> dict[str, Took]:
        try:
            with open(self._path, "rb") as file:
                first, *lines = file.read().split(b"\n")
        except OSError:
            return {}
        if first != self._head:
            os.unlink(self._path)
            return {}
        found: dict[str, Took] = {}
        for line in lines:
            with suppress(DecodeError, ValidationError):  # a killed process wrote half of it
                took = _decoder.decode(line)
                found[took.id] = took
        return found

    @property
    def _head(self) -> bytes:
        return json_codec.encode([self._place.folder, self._of])


def add_taken(place: ConversationPath, of: str, took: Iterable[Took]) -> None:
    """Remember what was taken, after it was written."""
    lines = [json_codec.encode(each) + b"\n" for each in took]
    if not lines:
        return
    path = f"{path_of(place)}.taken"
    make_private_dir(os.path.dirname(path))
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
        if file.tell() == 0:
            file.write(json_codec.encode([place.folder, of]))
        # What stands at the end may be half a line.
        file.write(b"\n" + b"".join(lines))


def print_of(message: SessionMessage) -> str:
    """What changes whenever the words of a message do."""
    said = json_codec.encode([message.content, message.tool_calls or []])
    return blake2b(said, digest_size=8).hexdigest()


def session_of(entry: dict[str, object]) -> str:
    return f"{entry.get('tool')}:{entry.get('session_id')}"
