"""The writer of new Claude Code sessions, which `claude --resume ID` can continue."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from cortext.model.ids import new_id
from cortext.tools.claude.records import OURS, SYNTHETIC
from cortext.tools.transcript_folders import own_home
from cortext.tools.writer_protocol import (
    Turn,
    Written,
    increasing_times,
    iso,
    store_lines,
    with_last,
)

_VERSION = "2.1.325"  # the release whose fields are written; older releases can read them too
_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ClaudeWriter:
    """The writer of transcripts in `projects/<folder>/`.

    `home` is the folder to write to, or None for the user's folder of Claude Code.
    """

    tool: ClassVar[str] = "claude"

    def __init__(self, home: str | None = None) -> None:
        self._home = home or own_home(self.tool)

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """Write a new session, as `Writer.write` defines.

        Claude Code treats `title` as a title that the user chose.
        """
        folder, id = os.path.realpath(cwd), new_id()
        path = os.path.join(self._home, "projects", folder_name(folder), f"{id}.jsonl")
        lines = list(_lines(with_last(turns, last), id, folder))
        if last:
            lines[-1]["isMeta"] = True  # hide the turn on the screen, but not from the model
        if title:
            lines.append({"type": "custom-title", "customTitle": title, "sessionId": id})
        store_lines(path, lines)
        return Written(id, path)


def _lines(turns: Sequence[Turn], id: str, cwd: str) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for turn, when in zip(turns, increasing_times(turns), strict=True):
        uuid = new_id()
        user_message = {"role": "user", "content": turn.text}
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": cwd,
            "sessionId": id,
            "version": _VERSION,
            "gitBranch": "",
            "type": turn.role,
            "message": user_message if turn.role == "user" else _assistant(turn),
            "uuid": uuid,
            "timestamp": iso(when),
        }
        parent = uuid


def _assistant(turn: Turn) -> dict[str, Any]:
    return {
        "id": f"{OURS}{new_id().replace('-', '')}",
        "type": "message",
        "role": "assistant",
        # The field is required. With another value, Claude Code would use that model, or show an
        # error that the model cannot be restored.
        "model": SYNTHETIC,
        "content": [{"type": "text", "text": turn.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
    }


def folder_name(path: str) -> str:
    """Return the name of the folder below `projects/` that Claude Code uses for sessions in `path`.

    `path` is the path of a working folder.
    """
    name = re.sub(r"[^A-Za-z0-9]", "-", _units(path))
    if len(name) <= _LONGEST:
        return name
    number = 0
    for unit in _units(path):
        number = (number * 31 + ord(unit)) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >> 31 else number)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return f"{name[:_LONGEST]}-{digits or '0'}"


def _units(text: str) -> str:
    """Return `text` with one character for each of its UTF-16 units of 16 bits.

    Strings in JavaScript consist of these units. So the length of the result is the length that
    Claude Code, a JavaScript program, counts.
    """
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(raw[at] | raw[at + 1] << 8) for at in range(0, len(raw), 2))
