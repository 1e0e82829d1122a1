"""Which conversations of a workspace changed since they were last looked at.

A `stat` for each conversation, and no more, is what a list costs; hence the plain loop, and
days that are compared whole.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cortext.stores import layout


class Day(NamedTuple):
    """A day that is not as it was: `folder` is below the workspace, `entries` are what tells
    whether each of its conversations changed, by name."""

    folder: str
    entries: dict[str, str]


def scan(
    root: str, known: Mapping[str, str], going_on: Mapping[str, Collection[str]]
) -> Iterator[Day]:
    """The days whose print is not the known one; one that is gone has no entries.

    Lines come to conversations that are going on, so only of those are the lines looked at;
    another is resumed first, and then its head is a new one.
    """
    gone = dict(known)
    for shelf in layout.shelves(root):
        for day in layout.days(shelf):
            folder = f"{shelf}/{day}"[len(root) + 1 :]
            entries = _scan_day(f"{shelf}/{day}", going_on.get(folder, ()))
            before = gone.pop(folder, "")
            if entries is not None and before != "\n".join(entries.values()):
                yield Day(folder, entries)
    for folder, before in gone.items():
        if before:
            yield Day(folder, {})


def with_lines(entry: str, root: str, path: str) -> str:
    """An entry as it is for a conversation that is going on."""
    return entry if entry.count("\t") == 2 else f"{entry}\t{_stat(f'{root}/{path}/{_LINES}')}"


def without_lines(entry: str) -> str:
    """An entry as it is for a conversation that rests."""
    return "\t".join(entry.split("\t")[:2])


_LINES = ".session/messages.jsonl"


def _scan_day(folder: str, going_on: Collection[str]) -> dict[str, str] | None:
    """The entries of a day; None, and that is said, when it cannot be read."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except OSError as error:
        import logging

        reason = (error.strerror or str(error)).lower()
        logging.getLogger("cortext.index").warning("could not read %s: %s", folder, reason)
        return None
    try:
        return _entries(fd, going_on)
    finally:
        os.close(fd)


def _entries(fd: int, going_on: Collection[str]) -> dict[str, str]:
    stat = os.stat
    entries: dict[str, str] = {}
    for name in os.listdir(fd):
        try:
            found = stat(f"{name}/.session/session.json", dir_fd=fd)
        except OSError:
            entry = _without_head(fd, name)
            if entry:
                entries[name] = entry
            continue
        entry = f"{name}\t{found.st_ino} {found.st_size} {found.st_mtime_ns}"
        entries[name] = f"{entry}\t{_stat(f'{name}/{_LINES}', fd)}" if name in going_on else entry
    return entries


def _without_head(fd: int, name: str) -> str:
    """A folder that has lost its head, or its session: it is a conversation while it has lines
    or a markdown."""
    try:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return ""
    try:
        document = layout.document_in(folder)
    finally:
        os.close(folder)
    markdown = _stat(f"{name}/{document}", fd) if document else ""
    lines = _stat(f"{name}/{_LINES}", fd)
    return f"{name}\t{markdown and '-' + markdown}\t{lines}" if markdown or lines else ""


def _stat(path: str, fd: int | None = None) -> str:
    try:
        found = os.stat(path, dir_fd=fd)
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
