"""The list of `spawn --list-sessions`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from cortext.catalog.row import ConversationRow
from cortext.cli.terminal_text import cells, clean, fit, say, say_damaged, show, spawn
from cortext.cli.views.text_table import align, find_width, format_local_times
from cortext.clock import from_micros
from cortext.features.spawn.cleanup import start_expiry, take_cleanup_notice
from cortext.features.spawn.spawn_list import filter_rows, list_spawned
from cortext.features.spawn.spawn_settings import SpawnSettings, load
from cortext.model.json_codec import encode

HEADINGS = ("session_id", "agent", "turn_count", "created_at", "status", "title")
_TURNS, _TIMES, _TITLES = 2, 3, 5
_DATE = 10
_LITTLE = 8
_TITLE = 16
_SHORT = 13
"""Columns of an id that are enough to name a session."""


def load_spawn_settings() -> SpawnSettings:
    """Load the settings of `spawn`. Print their warnings and the notice of the last clean-up."""
    settings = load()
    for warning in settings.warnings:
        say(f"warning: {clean(warning, lines=False)}")
    if went := take_cleanup_notice():
        say(went)
    return settings


def show_sessions(
    settings: SpawnSettings,
    *,
    agent: str | None = None,
    status: str | None = None,
    as_json: bool = False,
) -> None:
    """Print the sessions that match the filters.

    Then start the clean-up of old sessions, if the settings ask for it.
    """
    rows = list_spawned()
    show_list(filter_rows(rows, agent, status), of=len(rows), json=as_json)
    start_expiry(settings, rows)


def show_list(
    rows: Sequence[ConversationRow], *, of: int | None = None, json: bool = False
) -> None:
    """Print the rows as a table with their count, or as JSON.

    `of` is the number of all sessions; None if `rows` are all of them.
    """
    if json:
        show(encode(as_json(rows)).decode())
    elif rows:
        show(table(rows))
    sys.stdout.flush()
    say_damaged([row.note for row in rows if row.is_damaged])
    if not json:
        say(_count(len(rows), len(rows) if of is None else of))


def as_json(rows: Sequence[ConversationRow]) -> list[dict[str, Any]]:
    """Return the `--json` output of each session."""
    return [
        {
            "session_id": row.key,
            "agent": row.agent,
            "turn_count": row.messages,
            "created_at": _iso(row.created_at),
            "last_turn_at": _iso(row.last_active) if row.messages else None,
            "status": row.status,
            "title": row.title,
            "path": row.path,
            "damage": row.note or None,
        }
        for row in rows
    ]


def table(rows: Sequence[ConversationRow]) -> str:
    """Return a line for each row. Only a terminal cuts lines off at its edge."""
    edge = _edge()
    shown = [[name, *column] for name, column in zip(HEADINGS, _columns(rows), strict=True)]
    widths = [find_width(column) for column in shown]
    if edge and sum(widths) + 2 * (len(widths) - 1) > edge:
        widths = _narrowed(widths, edge, _apart(row.key for row in rows))
    lines = _lines(shown, widths)
    if edge:
        lines = [line if cells(line) <= edge else fit(line, edge) for line in lines]
    return "\n".join(lines)


def _columns(rows: Sequence[ConversationRow]) -> list[list[str]]:
    """Return the cells below each heading."""
    return [
        [row.key for row in rows],
        [row.agent or "-" for row in rows],
        [str(row.messages) for row in rows],
        format_local_times(row.created_at for row in rows),
        ["damaged" if row.is_damaged else row.status for row in rows],
        [row.title for row in rows],
    ]


def _lines(columns: list[list[str]], widths: list[int]) -> list[str]:
    """Return the columns side by side. Times lose the hour if there is no room for it."""
    shown: list[Sequence[str]] = []
    for number, (column, width) in enumerate(zip(columns, widths, strict=True)):
        if number == _TITLES:
            shown.append(column)
        elif number == _TIMES:
            shown.append([cell[:width].ljust(width) for cell in column])
        else:
            shown.append(align(column, width, right=number == _TURNS))
    return ["  ".join(cells).rstrip() for cells in zip(*shown, strict=True)]


def _narrowed(widths: list[int], edge: int, apart: int) -> list[int]:
    """Return widths that leave room for titles in a terminal.

    Times lose the hour first, then agents and ids lose their ends. Ids keep at least `apart`
    columns as long as there is a little room for titles.
    """
    narrow = [*widths]
    gaps = 2 * (len(narrow) - 1)
    for column, least in ((_TIMES, _DATE), (1, _LITTLE), (0, _SHORT)):
        over = sum(narrow[:-1]) + gaps + min(narrow[-1], _TITLE) - edge
        if over > 0:
            least = min(least, narrow[column])
            narrow[column] = least if column == _TIMES else max(narrow[column] - over, least)
    room = edge - sum(narrow[:-1]) - gaps - min(narrow[-1], _LITTLE)
    narrow[0] = max(narrow[0], min(narrow[0] + room, apart, widths[0]))
    return narrow


def _apart(ids: Iterable[str]) -> int:
    """Return how many columns the ids need so that no two of them look the same."""
    same = 0
    for one, next_one in pairwise(sorted(ids)):
        while same < len(one) and one[: same + 1] == next_one[: same + 1]:
            same += 1
    return same + 2  # the first character that differs, and the mark of the cut


def _edge() -> int:
    """Return the columns of the terminal, or 0 if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return 0

    return shutil.get_terminal_size().columns


def _count(shown: int, of: int) -> str:
    if not of:
        return f"no sessions yet\nhint: `{spawn()} -i` begins one"
    if not shown:
        return f"no session matches, of {_sessions(of)}"
    return _sessions(of) if shown == of else f"{shown} of {_sessions(of)}"


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat().replace("+00:00", "Z")
