"""What the word before the cursor may become: a command, an agent, a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from cortext.model.safe_text import clean

FILES = ("/save", "/save!", "/export", "/export!", "/import")
"""The commands that are followed by the name of a file, spaces and all."""
_MOST = 200


def complete(
    text: str, *, commands: Iterable[str], agents: Callable[[], Iterable[str]], cwd: str
) -> list[tuple[str, int]]:
    """What may stand in the place of the last characters of a text, and how many those are."""
    name, space, rest = text.partition(" ")
    if text.startswith("/") and not space:
        found = [each for each in commands if each.startswith(text)]
        if found:
            return [(each, len(text)) for each in found]
    if name == "/agent" and space:
        return [(each, len(rest)) for each in sorted(agents()) if each.startswith(rest)]
    word = rest if name in FILES and space else text.rpartition(" ")[2].rpartition("\n")[2]
    if not word and name not in FILES:
        return []
    return [(each, len(word)) for each in _files(word, cwd)]


def _files(word: str, cwd: str) -> list[str]:
    """The files and folders whose path begins so; hidden ones only for who asks for them."""
    folder, name = os.path.split(word)
    start = word[: len(word) - len(name)]
    try:
        with os.scandir(os.path.join(cwd, os.path.expanduser(folder))) as entries:
            found = [
                f"{start}{entry.name}{'/' if entry.is_dir() else ''}"
                for entry in entries
                if entry.name.startswith(name)
                and (name or not entry.name.startswith("."))
                and clean(entry.name, lines=False) == entry.name
            ]
    except OSError:
        return []  # no such folder: nothing to offer
    return sorted(found)[:_MOST]
