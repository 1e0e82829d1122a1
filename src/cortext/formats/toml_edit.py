"""Adding a line to a person's TOML file without touching a byte of theirs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence

from cortext.formats.json_edit import Insertion


def put_first(text: str, key: str, values: Sequence[str]) -> list[Insertion]:
    """What makes a list of words the value of a key outside any table, where there is none yet.
    ValueError if the text is no TOML, or has such a key."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    before = _read(text.removeprefix(mark))
    if key in before:
        raise ValueError(f"it has a `{key}` already")
    newline = "\r\n" if "\r\n" in text else "\n"
    # The first line is outside any table, whatever follows.
    line = f"{key} = {json.dumps(list(values))}{newline}"
    if _read(line + text.removeprefix(mark)) != {key: list(values), **before}:
        raise ValueError("it cannot be added to")
    return [Insertion(len(mark), line)]


def take_out(text: str, key: str, values: Sequence[str]) -> str:
    """The text without the line that `put_first` wrote, wherever it stands now."""
    for newline in ("\r\n", "\n"):
        line = f"{key} = {json.dumps(list(values))}{newline}"
        at = text.find(line)
        if at >= 0 and (at == 0 or text[at - 1] in "\n\ufeff"):
            return text[:at] + text[at + len(line) :]
    return text


def value_of(text: str, key: str) -> object:
    """What a key outside any table is; None if there is none. ValueError if it is no TOML."""
    return _read(text.removeprefix("\ufeff")).get(key)


def _read(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is no TOML: {error}") from None
