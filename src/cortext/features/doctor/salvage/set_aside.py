"""What was set aside of a file once, for the day on which the file itself holds nothing."""

from __future__ import annotations

import os
from operator import itemgetter

from cortext.durability.read_files import read_file
from cortext.durability.replace_file import all_set_aside
from cortext.features.doctor.problem import WARNING, Trouble
from cortext.features.doctor.salvage.salvage_lines import IsHead, rescue_lines
from cortext.features.doctor.salvage.salvage_result import Rescued
from cortext.formats.record_lines import RecordTable


def from_aside(path: str, table: RecordTable, is_head: IsHead | None = None) -> Rescued | None:
    """The messages of all that was set aside of a file, in the order of time; None if that has
    none. OSError."""
    if not os.path.isdir(os.path.dirname(path)):
        return None
    found = [rescue_lines(read_file(each), table, is_head) for each in all_set_aside(path)]
    once = {
        message.id: (message.timestamp, line, message)
        for rescued in found
        for line, message in zip(rescued.lines, rescued.messages, strict=True)
    }
    if not once:
        return None
    rows = sorted(once.values(), key=itemgetter(0))
    heads = [head for rescued in found for head in rescued.heads]
    answered = frozenset[str]().union(*(rescued.answered for rescued in found))
    text = "messages that were set aside before are taken"
    lines, messages = [row[1] for row in rows], [row[2] for row in rows]
    return Rescued(lines, messages, heads, b"", [Trouble(text, None, WARNING)], answered)
