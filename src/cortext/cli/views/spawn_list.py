"""The list of sessions that `cortext spawn --list-sessions` prints."""

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
"""The least number of characters of an id in a narrow terminal."""


def load_spawn_settings() -> SpawnSettings:
    """Load the settings of `spawn`.

    Print warnings about invalid settings, and how many old sessions were deleted in the background.
    """
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
    """Print the sessions of `spawn` with this agent and this status.

    None matches any. Then delete old sessions in the background, if the settings say so.
    """
    rows = list_spawned()
    show_list(filter_rows(rows, agent, status), of=len(rows), json=as_json)
    start_expiry(settings, rows)


def show_list(
    rows: Sequence[ConversationRow], *, of: int | None = None, json: bool = False
) -> None:
    """Print sessions of `spawn` as a table with their number, or as JSON.

    `of` is the number of all sessions; None means that `rows` has all of them.
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
    """Return the sessions as the dicts that `--list-sessions --json` prints."""
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
    """Return the sessions as a table with headings.

    Lines are cut only at the edge of a terminal.
    """
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
    """Return the cells of each column of the table, without the heading."""
    return [
        [row.key for row in rows],
        [row.agent or "-" for row in rows],
        [str(row.messages) for row in rows],
        format_local_times(row.created_at for row in rows),
        ["damaged" if row.is_damaged else row.status for row in rows],
        [row.title for row in rows],
    ]


def _lines(columns: list[list[str]], widths: list[int]) -> list[str]:
    """Return the lines of the table, with columns of these widths.

    A narrow column of times shows only the date.
    """
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
    """Return narrower column widths, so that titles have room in a terminal of `edge` columns.

    Times lose the hour first, then names of agents and ids are cut. Ids keep at least `apart`
    characters, which tell them apart, if there is a little room for titles.
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
    """Return how many characters of the ids must be shown so that no two look the same."""
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
