"""Read files for a scan: yield the texts and JSON values that may contain a secret."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

from cortext.durability.gzip_members import SUFFIX, read_packed
from cortext.durability.read_files import open_file, read_file
from cortext.errors import reason_of
from cortext.features.secrets.redactor import (
    decode_line,
    has_lines,
    may_hold_secret,
    suspect_lines,
)

_ZSTD_SUFFIX, _ZSTD_MAGIC, _GZIP_MAGIC = ".zst", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08"


class TextPiece(NamedTuple):
    """A text or JSON value that may contain a secret, and the place where it was found.

    `message` is the number of the message that has the text; 0 if the text is outside messages.
    `role` is the role of the message, or the kind of the file. `ours` is False for a tool's own
    file, which cortext never changes.
    """

    message: int
    role: str
    path: str
    value: Any
    ours: bool = True


Unread = list[str]
"""A list of files and folders that could not be read. Each entry has the path and the reason."""


def read_files_pieces(
    paths: Iterable[str], role: str, unread: Unread, *, ours: bool = True, having: bytes = b""
) -> Iterator[TextPiece]:
    """Read files of any kind, also compressed files. Yield the texts that may contain a secret.

    `role` and `ours` become fields of each `TextPiece`. Files that cannot be read are added to
    `unread`. `having` is the id of a session. The index file of Codex has lines about many
    sessions; only its lines with this id are read.
    """
    for path in paths:
        try:
            yield from (
                TextPiece(0, role, path, value, ours)
                for value in _read_values(path, unread, having)
            )
        except OSError as error:
            unread.append(f"{path}: {why(error)}")


def why(error: Exception) -> str:
    """Return the reason for an error, to be used as a part of a sentence."""
    return reason_of(error) if isinstance(error, OSError) else str(error)


def collect_unreadable(unread: Unread | None) -> Callable[[OSError], None] | None:
    """Return a callback for `os.walk` that adds unreadable folders to `unread`.

    Missing folders and files are not added. If `unread` is None, return None.
    """
    if unread is None:
        return None

    def note(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            unread.append(f"{error.filename}: {reason_of(error)}")

    return note


def _read_values(path: str, unread: Unread, having: bytes) -> Iterator[Any]:
    data = content(path, unread)
    if not has_lines(path, data):
        yield from [data.decode("utf-8", "surrogateescape")] if may_hold_secret(data) else ()
        return
    only = having if os.path.basename(path) == "session_index.jsonl" else b""
    for line in suspect_lines(data):
        if line and only in line:
            yield decode_line(line)


def content(path: str, unread: Unread) -> bytes:
    """Return the contents of a file. A compressed file is uncompressed.

    If a compressed file is damaged or cannot be uncompressed, add the reason to `unread`, and
    return the part that can be read.
    """
    if is_zstd(path):
        return _decompress_zstd(path, unread)
    if is_compressed(path):
        return b"".join(read_packed(path, lambda text: unread.append(f"{path}: {text}")))
    return read_file(path)


def is_compressed(path: str) -> bool:
    """Return whether a file is compressed with gzip, judged by its suffix or its first bytes."""
    return path.endswith(SUFFIX) or _has_magic(path, _GZIP_MAGIC)


def is_zstd(path: str) -> bool:
    """Return whether a file is compressed with zstd, judged by its suffix or its first bytes.

    Codex compresses old sessions in this way.
    """
    return path.endswith(_ZSTD_SUFFIX) or _has_magic(path, _ZSTD_MAGIC)


def _has_magic(path: str, magic: bytes) -> bool:
    fd = open_file(path)
    try:
        return os.pread(fd, len(magic), 0) == magic
    finally:
        os.close(fd)


def _decompress_zstd(path: str, unread: Unread) -> bytes:
    import subprocess

    try:
        done = subprocess.run(["zstd", "-dcq", "--", path], capture_output=True, check=False)
    except FileNotFoundError:
        unread.append(f"{path}: cannot unpack the file, because the program zstd is not installed")
        return b""
    if done.returncode:
        unread.append(f"{path}: the file cannot be unpacked completely")
    return done.stdout


def read_line_pieces(path: str, head: str) -> Iterator[TextPiece]:
    """Read a session log, and yield each line that may contain a secret.

    `head` is the value of `TextPiece.role` for lines that are not messages.
    """
    data = read_file(path)
    if not may_hold_secret(data):
        return
    number = 0
    for line in data.split(b"\n"):
        value = decode_line(line)
        role = _role(value)
        number += bool(role)
        if may_hold_secret(line):
            yield TextPiece(number if role else 0, role or head, path, value)


def read_document_pieces(path: str, head: str, backup: str) -> Iterator[TextPiece]:
    """Read a session document and its backup, and yield the texts that may contain a secret.

    `head` and `backup` are values for `TextPiece.role`: `head` for texts outside messages, and
    `backup` for texts in the backup.
    """
    data = read_file(path)
    if may_hold_secret(data):
        value = decode_line(data)
        rest = cast("dict[str, Any]", value) if isinstance(value, dict) else {"text": value}
        messages: Any = rest.get("messages")
        if isinstance(messages, list):
            for number, message in enumerate(cast("list[Any]", messages), 1):
                yield TextPiece(number, _role(message) or head, path, message)
            rest = {key: item for key, item in rest.items() if key != "messages"}
        yield TextPiece(0, head, path, rest)
    older = f"{path.removesuffix('.json')}.backup"
    if os.path.isfile(older) and may_hold_secret(data := read_file(older)):
        yield TextPiece(0, backup, older, decode_line(data))


def _role(value: Any) -> str:
    role: Any = cast("dict[str, Any]", value).get("role") if isinstance(value, dict) else ""
    return role if isinstance(role, str) else ""
