"""The history of typed texts, which the arrow keys bring back in the REPL.

All sessions share one history file, which has one JSON string per line.
"""

from __future__ import annotations

import os
import stat

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace, write_all
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_last_lines, read_tail
from cortext.features.errors_log import write_error
from cortext.model import json_codec

# O_NONBLOCK: do not hang if the path is a pipe instead of a file.
_OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOCK_TIMEOUT = 1.0
_MAX_TEXTS = 1000
_MAX_CHARACTERS = 20_000
_MOST_BYTES = 4 << 20
_KEPT_BYTES = 1 << 20


def history_file() -> str:
    return os.path.join(paths.aurora_home(), "spawn", "history")


def latest() -> list[str]:
    """Return the texts that the user typed, the latest first.

    Skip unreadable lines. If the file cannot be read, log the error and return an empty list.
    """
    try:
        lines = read_last_lines(history_file(), _MAX_TEXTS)[0].split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        _log(error)
        return []
    texts = [_decode(line) for line in reversed(lines) if line]
    return [text for text in texts if text]


def add(text: str) -> None:
    """Append a typed text to the history file, unless it is longer than `_MAX_CHARACTERS`.

    An error is only logged, so that the text can still be sent to the agent.
    """
    if len(text) > _MAX_CHARACTERS:
        return
    path = history_file()
    try:
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path, wait=_LOCK_TIMEOUT):
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
    fd = os.open(path, _OPEN_FLAGS, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is not a file")
        write_all(fd, line)
    finally:
        os.close(fd)


def _decode(line: bytes) -> str:
    try:
        text = json_codec.decode(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _log(error: OSError) -> None:
    write_error("aur spawn's history", error)
