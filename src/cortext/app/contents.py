"""Finding a conversation by words that were said in it, in the files themselves."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cortext.app.reading import read
from cortext.durability.read import open_file
from cortext.errors import CortextError
from cortext.index.listed import Listed

_log = logging.getLogger("cortext.app")
_PATIENCE = 8.0
_BLOCK = 1 << 22
_STUB = 200
"""Of what tools printed no more is kept: it is not looked through."""
_SPOKEN = ("user", "assistant")


class Searched(NamedTuple):
    """Those that have the words, the latest first, and how many were looked through of all."""

    rows: list[Listed]
    looked: int
    all: int


def with_contents(
    query: str, rows: Sequence[Listed], *, patience: float | None = _PATIENCE
) -> Searched:
    """Those in which all the words were said by the person or the agent; in one message, if there
    is such a one. The latest first, for about `patience` seconds."""
    words = query.casefold().split()
    rows = sorted(rows, key=lambda row: row.last_active, reverse=True)
    together: list[Listed] = []
    apart: list[Listed] = []
    end = None if patience is None else time.monotonic() + patience
    for number, row in enumerate(rows if words else ()):
        if end is not None and time.monotonic() > end:
            return Searched(together or apart, number, len(rows))
        found = _look(row, words)
        if found is not None:
            (together if found else apart).append(row)
    return Searched(together or apart, len(rows), len(rows))


def _look(row: Listed, words: Sequence[str]) -> bool | None:
    """Whether one message has all the words; None if not even all messages have them."""
    try:
        if not row.status or not _may_have(row, words):
            return None
        session, _ = read(row, _STUB)
    except (OSError, CortextError) as error:
        _log.warning("%s was not looked through: %s", row.key, error)
        return None
    missing = set(words)
    for message in session.messages:
        if message.role in _SPOKEN and message.content:
            text = message.content.casefold()
            here = {word for word in words if word in text}
            if len(here) == len(set(words)):
                return True
            missing -= here
    return None if missing else False


def _may_have(row: Listed, words: Sequence[str]) -> bool:
    """Whether the bytes of a file have the words, as far as that can be told without decoding."""
    path = row.path if row.tool else row.place.lines
    # What JSON writes as it is said. In a database, or compressed, it may stand otherwise.
    plain = {word.encode() for word in words if word.isascii() and word.isalnum()}
    if not plain or not path.endswith((".jsonl", ".json")):
        return True
    before = b""
    for block in _blocks(path):
        data = before + block.lower()
        plain = {word for word in plain if word not in data}
        if not plain:
            return True
        before = data[-max(map(len, plain)) :]
    return False


def _blocks(path: str) -> Iterator[bytes]:
    fd = open_file(path)
    try:
        while block := os.read(fd, _BLOCK):
            yield block
    finally:
        os.close(fd)
