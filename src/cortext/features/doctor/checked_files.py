"""Which files were found sound, so that they are read again only when they have changed.

Derived, in a file that can be thrown away: without it everything is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from msgspec import DecodeError
from msgspec.json import decode, encode

from cortext import paths
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import make_private_dir, replace
from cortext.stores.fingerprints import Fingerprint

_SETTLED_NS = 3600 * 1_000_000_000
"""A tool call that waits for its result is nothing wrong before: see `calls.RESTS`."""
Prints = list[tuple[int, int, int]]


class Checked:
    """What was sound, by its name; with `deep` nothing is believed."""

    def __init__(self, *, deep: bool = False) -> None:
        self._now: dict[str, Prints] = {}
        self._before: dict[str, Prints] = {}
        if not deep:
            try:
                self._before = decode(read_file(paths.checked()), type=dict[str, Prints])
            except (OSError, DecodeError, UnicodeDecodeError):
                self._before = {}  # then everything is read

    def is_sound(self, name: str, files: Sequence[str]) -> bool:
        """Whether files are as they were when nothing was wrong with them."""
        known = self._before.get(name)
        if known is None or known != prints_of(files):
            return False
        self._now[name] = known
        return True

    def note(self, name: str, files: Sequence[str], before: Prints) -> None:
        """Nothing is wrong with files that looked so `before` they were read."""
        if before and before == prints_of(files) and _settled(before):
            self._now[name] = before

    def save(self) -> None:
        """OSError; then it is as before."""
        if self._now != self._before:
            path = paths.checked()
            make_private_dir(os.path.dirname(path))
            replace(path, [encode(self._now)])


def prints_of(files: Sequence[str]) -> Prints:
    """How files look; nothing if one is gone."""
    found = [Fingerprint.at(path) for path in files]
    return [(one.inode, one.size, one.mtime_ns) for one in found if one] if all(found) else []


def _settled(prints: Prints) -> bool:
    return all(time.time_ns() - mtime > _SETTLED_NS for _, _, mtime in prints)
