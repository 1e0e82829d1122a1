"""How far a conversation was captured, so that the next time only what is new is read.

Derived, in a file that can be thrown away: without it all of a transcript is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from cortext import paths
from cortext.durability.replace_file import (
    make_private_dir,
    remove_if_there,
    sweep_temps,
    temp_name,
)
from cortext.features.capture.bindings import Entry
from cortext.stores.fingerprints import Fingerprint
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.incremental import FilePosition

_RECENT = 400
_OLD_SECONDS = 90 * 86_400
KEPT = ".taken"
"""The ending of what is kept as long as the conversation may be: see `taken`."""


class Point(Struct, frozen=True):
    """How far one tool session was read, when the last message there was, and whether the
    conversation had begun by then. Without a mark it had no transcript here."""

    mark: FilePosition | None
    last: datetime | None = None
    begun: bool = True


class Progress(Struct):
    """What was captured. `lines` is what messages.jsonl looked like then, `recent` are the ids
    of its last messages and `last` the time of the latest one; `points` are the tool sessions',
    by `key_of` their entry."""

    lines: tuple[int, int, int] = (0, 0, 0)
    last: datetime | None = None
    recent: list[str] = []
    points: dict[str, Point] = {}

    def remember(self, ids: Iterable[str]) -> None:
        self.recent = [*self.recent, *ids][-_RECENT:]


def key_of(entry: Entry) -> str:
    """One that has ended meanwhile is another: it is read once more, and then never again."""
    names = ("tool", "session_id", "from", "to")
    return " ".join(str(entry.get(name, "")) for name in names)


_decoder = Decoder(Progress)


def load(place: ConversationPath) -> Progress | None:
    """What is known of a conversation, if its messages are as they were then."""
    try:
        with open(path_of(place), "rb") as file:
            found = _decoder.decode(file.read())
    except (OSError, DecodeError, ValidationError):
        return None
    return found if found.lines == Fingerprint.at(place.lines) else None


def store(place: ConversationPath, progress: Progress) -> None:
    """Not synced: what a power cut takes is read again."""
    path = path_of(place)
    progress.lines = Fingerprint.at(place.lines) or (0, 0, 0)
    folder = os.path.dirname(path)
    make_private_dir(folder)
    if not os.path.lexists(path):
        with suppress(FileNotFoundError):  # others tidy up as well
            _forget_old(folder)
    temp = os.path.join(folder, temp_name("captured"))
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(encode(progress))
    os.rename(temp, path)


def _forget_old(folder: str) -> None:
    """What nobody captured for a long time, and what killed processes left."""
    sweep_temps(folder)
    limit = time.time() - _OLD_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat().st_mtime < limit and not entry.name.endswith(KEPT):
                remove_if_there(entry.path)


def path_of(place: ConversationPath) -> str:
    """Where it stands; other things that are known of a conversation have endings."""
    name = blake2b(os.fsencode(place.folder), digest_size=16).hexdigest()
    return os.path.join(paths.running(), "captured", name)
