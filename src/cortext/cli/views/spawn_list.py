"""The list of sessions that `cortext spawn --list-sessions` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from cortext.catalog.row import ConversationRow
from cortext.cli.terminal_text import cells, clean, fit, say, say_damaged, show, spawn
from cortext.cli.views.text_table import align, find_width, format_local_times
from cortext.clock import from_micros
from cortext.features.spawn.aurora_settings import SpawnSettings, load
from cortext.features.spawn.background_cleanup import start_expiry, take_cleanup_notice
from cortext.features.spawn.spawn_list import filter_rows, list_spawned
from cortext.model.json_codec import encode

HEADINGS = ("session_id", "agent", "turn_count", "created_at", "status", "title")
_TURNS, _TIMES, _TITLES = 2, 3, 5
_DATE_WIDTH = 10
_MIN_NAME = 8
_MAX_TITLE = 16
_MIN_ID = 13
"""The minimum number of characters of an id that a narrow terminal shows."""


def load_spawn_settings() -> SpawnSettings:
    """Load the settings of `spawn`, and print warnings about invalid settings.

    If old sessions were deleted in the background since the last call, also print how many.
    """
    settings = load()
    for warning in settings.warnings:
        say(f"warning: {clean(warning, lines=False)}")
    if note := take_cleanup_notice():
        say(note)
    return settings


def show_sessions(
    settings: SpawnSettings,
    *,
    agent: str | None = None,
    status: str | None = None,
    as_json: bool = False,
) -> None:
    """Print the sessions of `spawn` that have this agent and this status.

    None means any agent or any status. Then delete old sessions in the background, if the settings
    ask for it.
    """
    rows = list_spawned()
    show_list(filter_rows(rows, agent, status), of=len(rows), json=as_json)
    start_expiry(settings, rows)


def show_list(
    rows: Sequence[ConversationRow], *, of: int | None = None, json: bool = False
) -> None:
    """Print sessions of `spawn` as a table and a line that counts them, or as JSON.

    `of` is the number of all sessions, for a line such as `2 of 5 sessions`. None means that `rows`
    contains all sessions.
    """
    if json:
        show(encode(as_json(rows)).decode())
    elif rows:
        show(table(rows))
    sys.stdout.flush()
    say_damaged([row.note for row in rows if row.is_damaged])
    if not json:
        say(_count_line(len(rows), len(rows) if of is None else of))


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
    """Return the sessions as the text of a table with headings.

    If stdout is a terminal, lines are cut at its right edge.
    """
    edge = _terminal_width()
    shown = [[name, *column] for name, column in zip(HEADINGS, _columns(rows), strict=True)]
    widths = [find_width(column) for column in shown]
    if edge and sum(widths) + 2 * (len(widths) - 1) > edge:
        widths = _narrow_widths(widths, edge, _unique_length(row.key for row in rows))
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
    """Return the lines of the table, with each column cut or padded to its width.

    If the column of times is narrow, it shows only dates. The last column has the titles, which are
    not cut here.
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


def _narrow_widths(widths: list[int], edge: int, id_length: int) -> list[int]:
    """Return smaller column widths, so that the table fits into a terminal of `edge` columns.

    First shorten times to dates, then cut the names of agents, then cut the ids. If there is room
    left, widen the ids again to `id_length`, the shortest length at which all ids differ.
    """
    narrow = [*widths]
    gaps = 2 * (len(narrow) - 1)
    for column, least in ((_TIMES, _DATE_WIDTH), (1, _MIN_NAME), (0, _MIN_ID)):
        excess = sum(narrow[:-1]) + gaps + min(narrow[-1], _MAX_TITLE) - edge
        if excess > 0:
            least = min(least, narrow[column])
            narrow[column] = least if column == _TIMES else max(narrow[column] - excess, least)
    room = edge - sum(narrow[:-1]) - gaps - min(narrow[-1], _MIN_NAME)
    narrow[0] = max(narrow[0], min(narrow[0] + room, id_length, widths[0]))
    return narrow


def _unique_length(ids: Iterable[str]) -> int:
    """Return the shortest length to which the ids can be cut so that all of them still differ.

    The length includes the character `…` that marks the cut.
    """
    same = 0
    for id, next_id in pairwise(sorted(ids)):
        while same < len(id) and id[: same + 1] == next_id[: same + 1]:
            same += 1
    return same + 2  # 1 for the first character that differs, 1 for the mark of the cut


def _terminal_width() -> int:
    """Return the columns of the terminal, or 0 if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return 0
    import shutil  # also loads bz2 and lzma, which a piped list does not need

    return shutil.get_terminal_size().columns


def _count_line(shown: int, total: int) -> str:
    if not total:
        return f"no sessions yet\nhint: to start a session: `{spawn()} -i`"
    if not shown:
        return f"no match among {_sessions(total)}"
    return _sessions(total) if shown == total else f"{shown} of {_sessions(total)}"


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat().replace("+00:00", "Z")
