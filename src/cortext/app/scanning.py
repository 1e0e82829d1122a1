"""Looking for secrets in everything that is kept. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cortext.app.reading import read_from, transcript_of
from cortext.bridges import jsonl
from cortext.durability.packed import SUFFIX, read_packed
from cortext.durability.read import read_file
from cortext.durability.replace import all_set_aside
from cortext.errors import CortextError
from cortext.index.listed import AUR, Listed
from cortext.model import json, wire
from cortext.model.escapes import Plain
from cortext.model.secret_keys import KEYS
from cortext.model.secret_spots import regions
from cortext.model.secrets import find_secrets, kind_only, mask_text, mask_value
from cortext.stores.layout import Place

if TYPE_CHECKING:
    from cortext.model.message import SessionMessage

Progress = Callable[[int, int], None]
HEAD, DOCUMENT, AGENTS, BACKUP = "head", "document", "agents", "backup"
"""In the place of a role: title, summary and the like; a text file; sub-agents; an old version."""
_SHOWN = 4
_HEAD = 4096
"""Bytes at the beginning of what a sub-agent wrote that say of which session it is."""
_KEY_KINDS = frozenset(rule.kind for rule in KEYS)


class Finding(NamedTuple):
    """A secret in a conversation: its `number` there, the message that has it (0 if none does), who
    said it, and the file. `secret` itself is for whoever masks it, and is never shown."""

    row: Listed
    number: int
    family: str
    message: int
    role: str
    path: str
    secret: str

    @property
    def preview(self) -> str:
        """As much as tells two of them apart: of a key what its provider begins all with."""
        length = len(self.secret)
        shown = self.secret[:_SHOWN] if self.family in _KEY_KINDS and length >= 20 else ""
        return f"{shown}… ({length} characters)"


class Scanned(NamedTuple):
    """What was found, how many conversations were looked through, and what could not be read."""

    found: list[Finding]
    looked: int
    unread: list[str]


def scan(rows: Sequence[Listed], progress: Progress | None = None) -> Scanned:
    """The secrets in these conversations, one after the other, as they are said."""
    found: list[Finding] = []
    unread: list[str] = []
    for done, row in enumerate(rows, 1):
        try:
            found += scan_one(row)
        except (CortextError, OSError) as error:
            unread.append(f"{row.key}: {error}")
        if progress:
            progress(done, len(rows))
    return Scanned(found, len(rows) - len(unread), unread)


def scan_one(row: Listed) -> list[Finding]:
    """Those in one conversation. The same secret in one message is one finding."""
    found: list[Finding] = []
    seen: set[tuple[int, str, str]] = set()
    for message, role, path, value in _texts(row):
        for family, secret in secrets_in(value):
            if (message, role, secret) not in seen:
                seen.add((message, role, secret))
                found.append(Finding(row, len(found) + 1, family, message, role, path, secret))
    return found


def secrets_in(value: Any) -> list[tuple[str, str]]:
    """The kind and the text of each secret in a text or a JSON value, its escapes seen through."""
    found: list[tuple[str, str]] = []

    def note(kind: str, secret: str) -> str:
        found.append((kind, Plain(secret).text))
        return kind_only(kind, secret)

    if isinstance(value, str):
        mask_text(value, note)
    else:
        mask_value(value, note)
    return found


_Texts = Iterator[tuple[int, str, str, Any]]
"""A message's number or 0, its role, the file that it is in, and its text or JSON."""


def _texts(row: Listed) -> _Texts:
    if not row.tool:
        yield from _of_workspace(row)
    elif row.tool == AUR:
        yield from _of_lines(row.path)
        yield from _of_texts(set_aside_of(row.path), BACKUP)
    elif row.is_apart:
        yield from _of_document(row.path)
        yield from _of_texts(set_aside_of(row.path), BACKUP)
    else:
        yield from _of_tool(row)


def _of_workspace(row: Listed) -> _Texts:
    place = row.place
    if os.path.isfile(place.head) and _is_suspect(data := read_file(place.head)):
        yield 0, HEAD, place.head, _value(data)
    if os.path.isfile(place.lines):
        yield from _of_lines(place.lines)
    yield from _of_texts(text_files(place), DOCUMENT)
    yield from _of_texts([*set_aside_of(place.head), *set_aside_of(place.lines)], BACKUP)


def text_files(place: Place) -> Iterator[str]:
    """The files of a conversation beside its session; nothing hidden, and no links."""
    for folder, folders, names in os.walk(place.folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = f"{folder}/{name}"
            if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                yield path


def set_aside_of(path: str) -> list[str]:
    """What was kept of a file when it was found damaged, or replaced."""
    return all_set_aside(path) if os.path.isdir(os.path.dirname(path)) else []


def _of_texts(paths: Iterable[str], role: str) -> _Texts:
    for path in paths:
        if _is_suspect(data := read_file(path)):
            yield 0, role, path, data.decode("utf-8", "surrogateescape")


def _of_lines(path: str) -> _Texts:
    """The lines of a file. Only messages have numbers; the first line of a log is its head."""
    data = read_file(path)
    if not _is_suspect(data):
        return
    number = 0
    for line in data.split(b"\n"):
        value = _value(line)
        role = _role(value)
        number += bool(role)
        if _is_suspect(line):
            yield number if role else 0, role or HEAD, path, value


def _role(value: Any) -> str:
    role: Any = cast("dict[str, Any]", value).get("role") if isinstance(value, dict) else ""
    return role if isinstance(role, str) else ""


def _of_document(path: str) -> _Texts:
    data = read_file(path)
    if _is_suspect(data):
        value = _value(data)
        head = cast("dict[str, Any]", value) if isinstance(value, dict) else {"text": value}
        messages: Any = head.get("messages")
        if isinstance(messages, list):
            for number, message in enumerate(cast("list[Any]", messages), 1):
                yield number, _role(message) or HEAD, path, message
            head = {key: item for key, item in head.items() if key != "messages"}
        yield 0, HEAD, path, head
    backup = f"{path.removesuffix('.json')}.backup"
    if os.path.isfile(backup) and _is_suspect(older := read_file(backup)):
        yield 0, BACKUP, backup, _value(older)


def _of_tool(row: Listed) -> _Texts:
    found = transcript_of(row)
    path = found[1].path
    if row.tool != "opencode" and row.tool != "gemini" and not _has_suspects(path, row.key):
        return
    read = read_from(row, found)
    for number, message in enumerate(read.session.messages, 1):
        yield number, message.role, path, _said(message)
    for session in read.side:
        for message in session.messages:
            yield 0, AGENTS, path, _said(message)


def _said(message: SessionMessage) -> dict[str, Any]:
    return wire.message_to_dict(message)


def _has_suspects(path: str, id: str) -> bool:
    """Whether the bytes of a transcript, or of what its sub-agents wrote, look like it: most do
    not, and are not decoded."""
    folder = os.path.dirname(path)
    inside = [f"{top}/{name}" for top, _, names in os.walk(f"{folder}/{id}") for name in names]
    for name in sorted(os.listdir(folder)):
        beside = f"{folder}/{name}"
        of_agent = name.startswith("agent-") and id.encode() in jsonl.read_head(beside, _HEAD)
        if of_agent or (f"-{id}" in name and beside != path):
            inside.append(beside)
    return any(_is_suspect(data) for each in (path, *inside) for data in _blocks(each))


def _blocks(path: str) -> Iterable[bytes]:
    if path.endswith(SUFFIX):
        return [b"".join(read_packed(path))]
    return [read_file(path)]


def _is_suspect(data: bytes) -> bool:
    return bool(regions(data.decode("utf-8", "replace")))


def _value(data: bytes) -> Any:
    """The JSON of a line, or its text if it is none."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value = json.decode(data)
    except ValueError:
        return text
    # Of a key that stands twice, JSON has the second value only.
    return value if secrets_in(value) or not find_secrets(text) else text
