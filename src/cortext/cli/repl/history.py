"""What was typed at the prompts of all sessions, for the arrow keys: one JSON text a line."""

from __future__ import annotations

import os

from cortext import paths
from cortext.durability.replace import make_private_dir, write_all
from cortext.durability.tail import read_last_lines
from cortext.model import json

_OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_LATEST = 1000
_LONGEST = 20_000
_MOST_BYTES = 4 << 20
_KEPT_BYTES = 1 << 20


def history_file() -> str:
    return os.path.join(paths.aurora_home(), "spawn", "history")


def latest() -> list[str]:
    """What was typed, the latest first. A line that cannot be read is passed over: it is no part
    of any conversation."""
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
    """Remember one more, for whichever session asks next. Where that fails the log has it: the
    message itself is on its way."""
    if len(text) > _LONGEST:
        return
    path = history_file()
    try:
        make_private_dir(os.path.dirname(path))
        fd = os.open(path, _OPEN, 0o600)
        try:
            _shorten(path, fd)
            write_all(fd, json.encode(text) + b"\n")
        finally:
            os.close(fd)
    except OSError as error:
        _log(error)


def _shorten(path: str, fd: int) -> None:
    size = os.fstat(fd).st_size
    if size > _MOST_BYTES:
        with open(path, "rb") as file:
            file.seek(size - _KEPT_BYTES)
            kept = file.read().partition(b"\n")[2]
        os.ftruncate(fd, 0)
        write_all(fd, kept)


def _decoded(line: bytes) -> str:
    try:
        text = json.decode(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _log(error: OSError) -> None:
    from cortext.app.errors_log import write_error

    write_error("aur spawn's history", error)
