"""Functions that insert and remove values in a user's TOML file, and change no other byte."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import cast

from cortext.formats.json_edit import Insertion

_MOST_PARTS = 16
_KEY = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.){0,40}+"|'[^'\n]{0,40}+')"""
# tomllib needs minutes for a key with very many parts.
_LONG_KEY = re.compile(rf"(?<![\w.-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{_MOST_PARTS}}}")


def put_first(text: str, key: str, values: Sequence[str]) -> list[Insertion]:
    """Return the insertion that adds a line `KEY = VALUES` at the start of the text.

    `values` is written as a list of strings. Raises ValueError if the text is not TOML or already
    has the key.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    before = read_toml(text.removeprefix(bom))
    if key in before:
        raise ValueError(f"it already has a `{key}`")
    newline = "\r\n" if "\r\n" in text else "\n"
    # The first line is always outside any table.
    line = f"{key} = {json.dumps(list(values))}{newline}"
    if read_toml(line + text.removeprefix(bom)) != {key: list(values), **before}:
        raise ValueError("cortext cannot add to it")
    return [Insertion(len(bom), line)]


def take_out(text: str, key: str, values: Sequence[str]) -> str:
    """Return the text without the line that `put_first` added.

    The line may be anywhere in the text. If the line is missing, the whole text is returned.
    """
    for newline in ("\r\n", "\n"):
        line = f"{key} = {json.dumps(list(values))}{newline}"
        at = text.find(line)
        if at >= 0 and (at == 0 or text[at - 1] in "\n\ufeff"):
            return text[:at] + text[at + len(line) :]
    return text


def put_table(text: str, name: Sequence[str], values: Mapping[str, object]) -> list[Insertion]:
    """Return the insertion that adds a table to the end of the text.

    `name` has the two parts of the table's name. Raises ValueError if the text is not TOML, if the
    text already has the table, or if the table cannot be added to the text.
    """
    before = read_toml(text.removeprefix("\ufeff"))
    wanted: dict[str, object] = dict(values)
    for part in reversed(name[1:]):
        wanted = {part: wanted}
    existing: object = before.get(name[0], {})
    if not isinstance(existing, dict) or name[1] in existing:
        raise ValueError(f"it already has {'.'.join(name)}")
    newline = "\r\n" if "\r\n" in text else "\n"
    lead = "" if not text else newline if text.endswith("\n") else newline * 2
    added = lead + newline.join(table_lines(name, values)) + newline
    after = read_toml(text.removeprefix("\ufeff") + added)
    if after != {**before, name[0]: {**cast("dict[str, object]", existing), **wanted}}:
        raise ValueError("cortext cannot add to it")
    return [Insertion(len(text), added)]


def take_out_table(text: str, name: Sequence[str], values: Mapping[str, object]) -> str:
    """Return the text without the table that `put_table` added.

    The table is removed even if the user added more keys to the table. The text is returned
    unchanged if it has no table with this name and these values, or if the table cannot be removed
    safely.
    """
    before = read_toml(text.removeprefix("\ufeff"))
    existing = before.get(name[0])
    table = cast("dict[str, object]", existing).get(name[1]) if isinstance(existing, dict) else None
    known = cast("dict[str, object]", table) if isinstance(table, dict) else {}
    if any(known.get(key) != value for key, value in values.items()):
        return text
    others = {k: v for k, v in cast("dict[str, object]", existing).items() if k != name[1]}
    wanted = {k: v for k, v in before.items() if k != name[0]}
    for after in (_without_block(text, name, values), _without_lines(text, name)):
        try:
            remaining = read_toml(after.removeprefix("\ufeff"))
        except ValueError:
            continue
        if remaining in ({**wanted, name[0]: others}, *([] if others else [wanted])):
            return after
    return text


def _without_block(text: str, name: Sequence[str], values: Mapping[str, object]) -> str:
    """Remove exactly the lines that `put_table` added, and the empty line before them."""
    for newline in ("\r\n", "\n"):
        block = newline.join(table_lines(name, values)) + newline
        at = text.find(block)
        if at == 0 or (at > 0 and text[at - 1] in "\n\ufeff"):
            start = at - len(newline) if text[:at].endswith(newline * 2) else at
            return text[:start] + text[at + len(block) :]
    return text


def _without_lines(text: str, name: Sequence[str]) -> str:
    """Return the text without the lines of a table and its sub-tables.

    A line that starts with `[` counts as the header of a table. The result may be wrong for unusual
    TOML, so the caller must check it.
    """
    lines: list[str] = []
    in_table = False
    for line in re.split(r"(?<=\n)", text):
        header = line.strip().partition("#")[0].rstrip() if line.lstrip().startswith("[") else ""
        if header:
            in_table = f"{header.strip('[]')}.".startswith(f"{'.'.join(name)}.")
        lines += [] if in_table else [line]
    return "".join(lines)


def table_lines(name: Sequence[str], values: Mapping[str, object]) -> list[str]:
    """Return the TOML lines of a table whose values are strings and lists of strings."""
    return [f"[{'.'.join(name)}]", *(f"{k} = {json.dumps(v)}" for k, v in values.items())]


def value_of(text: str, key: str) -> object:
    """Return the value of a top-level key in a TOML text, or None if the key is missing.

    Raises ValueError if the text is not TOML.
    """
    return read_toml(text.removeprefix("\ufeff")).get(key)


def read_toml(text: str) -> dict[str, object]:
    """Parse a TOML text.

    Raises ValueError if the text is not TOML, or has a key with so many parts that it is too slow
    to parse.
    """
    if _LONG_KEY.search(text):
        raise ValueError(f"a key in it has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not TOML: {error}") from None
