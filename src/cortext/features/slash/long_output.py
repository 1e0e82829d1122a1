"""Split long texts for agents into pieces, because an AI tool cuts the output of a command.

Claude Code shows 30,000 characters, Codex shows 10,000 bytes, and other tools show about as much as
Claude Code. The pieces are stored in a private file. The agent runs a command to get the next
piece.
"""

from __future__ import annotations

import os
import re

from cortext.durability.durable_files import write_new
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.features.resume.agent_temp_files import PIECES, folder_of, prepare_handoff_dir
from cortext.model import json_codec
from cortext.tools.registry import get_tool

LONGEST = 28_000
"""The maximum size of a piece in bytes. It leaves room for text that cortext and the tool add."""
_MOST_LINES = 1_500
_TOKEN = re.compile(r"([0-9a-f]{16})\.([0-9]{1,4})")


def in_pieces(text: str, tool: str = "") -> str:
    """Return the first piece of a long text, or the whole text if it is short.

    The first piece ends with the command that prints the next piece. `tool` is the AI tool that
    shows the text. It decides how long a piece may be.
    """
    found = get_tool(tool)
    pieces = split(text, (found.output_limit if found else 0) or LONGEST)
    if len(pieces) == 1:
        return text
    name = os.urandom(8).hex()
    write_new(os.path.join(prepare_handoff_dir(PIECES), name), [json_codec.encode(pieces)])
    return _format_piece(name, 1, pieces)


def next_piece(token: str) -> str:
    """Return a further piece of a long text.

    `token` identifies the piece. Each piece ends with a command that contains the token of the next
    piece. Raises CortextError if there is no such piece.
    """
    found = _TOKEN.fullmatch(token)
    path = os.path.join(folder_of(PIECES), found[1]) if found else ""
    if not found or not os.path.isfile(path):
        raise CortextError("this text has no further piece", hint="ask for the conversation again")
    return _format_piece(found[1], int(found[2]), json_codec.decode(read_file(path)))


def split(text: str, longest: int = LONGEST) -> list[str]:
    """Split a text into pieces of at most `longest` bytes and 1,500 lines.

    The text is split between lines. Only a line that is longer than a piece is split itself.
    """
    pieces: list[str] = []
    lines: list[str] = []
    size = 0
    for line in _short_lines(text, longest):
        taken = len(line.encode("utf-8", "surrogatepass")) + 1
        if lines and (size + taken > longest or len(lines) >= _MOST_LINES):
            pieces.append("\n".join(lines))
            lines, size = [], 0
        lines.append(line)
        size += taken
    return [*pieces, "\n".join(lines)]


def _short_lines(text: str, longest: int) -> list[str]:
    # A character takes four bytes at most.
    most = longest // 4
    return [
        line[start : start + most]
        for line in text.split("\n")
        for start in range(0, max(1, len(line)), most)
    ]


def _format_piece(name: str, number: int, pieces: list[str]) -> str:
    if not 0 < number <= len(pieces):
        raise CortextError("this text has no further piece")
    if number == len(pieces):
        return pieces[-1]
    return (
        f"{pieces[number - 1]}\n\n"
        f"[This is piece {number} of {len(pieces)}. Before you answer, get the next piece: run "
        f"`cortext slash briefing --rest {name}.{number + 1}` in a shell.]"
    )
