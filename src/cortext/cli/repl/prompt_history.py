"""The input history of the REPL, for the arrow keys: a file with one JSON string per line.

All sessions share the file.
"""

from __future__ import annotations

import os
import stat

from cortext import paths
from cortext.durability.file_lock import FileLock
from cortext.durability.last_lines import read_last_lines
from cortext.durability.read_files import read_tail
from cortext.durability.replace_file import make_private_dir, replace, write_all
from cortext.features.errors_log import write_error
from cortext.model import json_codec

# O_NONBLOCK: do not hang if the path is a pipe instead of a file.
_OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PATIENCE = 1.0
_LATEST = 1000
_LONGEST = 20_000
_MOST_BYTES = 4 << 20
_KEPT_BYTES = 1 << 20


def history_file() -> str:
    return os.path.join(paths.aurora_home(), "spawn", "history")


def latest() -> list[str]:
    """Return the texts that the user typed, the latest first.

    Skip unreadable lines. If the file cannot be read, log the error and return an empty list.
    """
    try:
        lines = read_last_lines(history_file(), _LATEST)[0].split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        _log(error)
        return []
    found = [_decoded(line) for line in reversed(lines) if line]
    return [text for text in found if text]


def add(text: str) -> None:
    """Append a text that the user typed to the history.

    A failure is only logged, so that the message is sent anyway. Very long texts are not added.
    """
    if len(text) > _LONGEST:
        return
    path = history_file()
    try:
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path, wait=_PATIENCE):
            _shorten(path)
            _append(path, json_codec.encode(text) + b"\n")
    except OSError as error:
        _log(error)


def _shorten(path: str) -> None:
    """Remove the oldest lines of the history file if it is larger than `_MOST_BYTES`."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return
    if size > _MOST_BYTES:
        replace(path, [read_tail(path, _KEPT_BYTES).partition(b"\n")[2]])


def _append(path: str, line: bytes) -> None:
    fd = os.open(path, _OPEN, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is not a file")
        write_all(fd, line)
    finally:
        os.close(fd)


def _decoded(line: bytes) -> str:
    try:
        text = json_codec.decode(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _log(error: OSError) -> None:
    write_error("aur spawn's history", error)
