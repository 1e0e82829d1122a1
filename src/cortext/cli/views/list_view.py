"""The lists of conversations that `list` and `resume --list` print."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from cortext import paths
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.cli.terminal_text import cells, local, say, say_damaged, show, to_edge
from cortext.cli.views.text_table import align, find_width, format_local_times
from cortext.clock import ago, from_micros
from cortext.features.archive.background_sync import notice, start_in_background
from cortext.features.listing.background_reading import read_the_rest
from cortext.features.listing.conversation_list import (
    EVERYTHING,
    ConversationList,
    ListFilter,
    Listing,
)
from cortext.model.safe_text import clean
from cortext.tools.registry import display_name
from cortext.workspace.type_templates import Types, UnknownTypeError

_FEW = 3
_WIDEST = 32
_NAMES = 13
_FOR_TOOL = 10
_ROOMY = 100
"""A terminal with at least this many columns has room for all columns of the table."""
_LITTLE = 14
"""The most characters of an id or a folder in a terminal that is narrower than `_ROOMY`."""
_TIGHT = 60
"""A terminal with fewer columns shows ages such as `2d` instead of times."""
_LEAST = 16
"""Characters that are reserved for titles in a narrow terminal."""
_SPARE = ("OWNER", "MESSAGES", "STATUS", "ID", "WORKSPACE", "TOOL")
"""Columns of the table that a narrow terminal leaves out, in this order."""
_STEPS = ((60, "m"), (24, "h"), (7, "d"), (52, "w"))
_NUMBER = 3
"""The number of digits with which the id of a conversation starts."""
_LONG = 36
"""The length of a UUID. Such an id is shown cut, because nobody types it."""
_RESUMABLE = ListFilter(with_session=True)
_BEGIN = (
    'hint: begin one with `cortext new brainstorm "your topic"`, or with '
    "`/workspace.brainstorm` in your AI tool"
)


def show_conversations(
    wanted: ListFilter = EVERYTHING, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """Print the table of conversations that `cortext list` shows, or why it is empty.

    `wanted` filters the conversations, and `everywhere` includes all workspaces.
    """
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit)
    if rows:
        show(table(rows, everywhere=everywhere))
    else:
        anything = wanted._replace(order="updated_at") == EVERYTHING
        what = "no conversations here yet" if anything else "no conversation matches"
        _say_none(what, "list", wanted, everywhere=everywhere, begin=anything)


def show_resumable(
    wanted: ListFilter = _RESUMABLE, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """Print the list of resumable conversations for `resume --list`, or why it is empty."""
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit)
    if rows:
        show(entries(rows, everywhere=everywhere))
    else:
        say_nothing_to_resume(wanted, everywhere=everywhere)


def say_nothing_to_resume(wanted: ListFilter = _RESUMABLE, *, everywhere: bool = False) -> None:
    anything = wanted == _RESUMABLE
    what = "no resumable conversations" if anything else "no conversation matches"
    _say_none(what, "resume --list", wanted, everywhere=everywhere, begin=anything)


def _say_none(
    what: str, command: str, wanted: ListFilter, *, everywhere: bool, begin: bool
) -> None:
    """Print why a list is empty: other folders may have conversations, or there are none at all.

    `what` is the sentence to print, and `command` the command that lists the other folders. With
    `begin`, also print how to start a conversation.
    """
    others = 0 if everywhere else len(_elsewhere(wanted))
    if wanted.kind and not others:
        _check_type(wanted.kind)
    if others:
        none = what.removesuffix(" here yet")
        say(f"{none} here; {others} in other folders: `cortext {command} --all`")
    else:
        say(what)
    if begin:
        for line in [_BEGIN] if others else nothing_yet():
            say(line)
    elif wanted.words:
        say("hint: `cortext search` finds what was said, not only titles and summaries")


def _check_type(kind: str) -> None:
    """Raise UnknownTypeError if the conversation type does not exist in this workspace."""
    known = ["chat", *Types(paths.workspace_root()).names()]
    if kind not in known:
        raise UnknownTypeError(kind, known)


def nothing_yet() -> list[str]:
    """Return the lines to print if no conversation exists.

    They name the folders in which cortext searched, and how to start a conversation.
    """
    from cortext.features.doctor.history_locations import history_locations

    places = history_locations()
    names = [display_name(place.tool) for place in places]
    said = [
        f"{place.variable} is {'' if place.is_set else 'not '}set"
        for place in places
        if place.variable
    ]
    return [
        f"no history of {', '.join(names[:-1])} or {names[-1]} was found",
        f"looked in {', '.join(short(place.folder) for place in places)}",
        f"({', '.join(said)})",
        _BEGIN,
    ]


def _elsewhere(wanted: ListFilter) -> Sequence[ConversationRow]:
    with ConversationList(paths.workspace_root(), everywhere=True) as conversations:
        return conversations.list(wanted).rows


def list_here(*, everywhere: bool, wanted: ListFilter, limit: int | None) -> list[ConversationRow]:
    """Return the rows of a list of conversations, and print warnings and notes about them.

    `limit` is the most rows. Without it, a terminal gets as many as the setting `list.limit`, and
    any other output gets all.
    """
    with ConversationList(paths.workspace_root(), everywhere=everywhere) as conversations:
        if limit is None and sys.stdout.isatty():
            limit = int(conversations.config["list.limit"])
        listing = conversations.list(wanted, capture=True)
        _say(conversations, listing)
        rows = listing.rows if limit is None else listing.rows[:limit]
        if sys.stdout.isatty():
            conversations.remember_shown(rows)
        if len(rows) < len(listing.rows):
            say(f"{len(listing.rows)} in all; -n {len(listing.rows)} shows them")
        keep_up(conversations)
    return rows


def keep_up(conversations: ConversationList) -> None:
    """Bring the catalog and the archive up to date in the background, and print notes about that.

    The archive is updated even if the catalog has nothing new: the catalog may have read a
    transcript that the archive has not copied yet.
    """
    if not conversations.has_transcripts:
        return

    if left := conversations.left:
        what = "1 older transcript is" if left == 1 else f"{left} older transcripts are"
        how = "being read now" if read_the_rest() else "not read yet"
        say(f"{what} {how}; the next list has more")
    start_in_background(conversations.config)
    if told := notice():
        say(told)


def as_json(rows: Iterable[ConversationRow]) -> list[dict[str, Any]]:
    """Return the conversations as the dicts that `cortext list --json` prints."""
    return [
        {
            "id": row.key,
            "type": row.kind,
            "title": row.title,
            "status": row.status or None,
            "created_at": _iso(row.created_at),
            "last_active": _iso(row.last_active),
            "messages": row.messages if _counts(row) else None,
            "tokens": row.tokens if _counts(row) else None,
            "summary": row.summary,
            "tags": row.tags,
            "model": row.model or None,
            "agent": row.agent or None,
            "owner": row.owner or None,
            "parent_id": row.parent_id or None,
            "tool": row.tool_name or None,
            "tools": row.tool_names,
            **where_it_is(row),
            "damage": row.note or None,
        }
        for row in rows
    ]


def where_it_is(row: ConversationRow) -> dict[str, str | None]:
    """Return the paths of a conversation for `--json`.

    `workspace` and `folder` are None for a session outside of workspaces. `cwd` is the folder in
    which the conversation took place. `transcript` is the file of a session outside of workspaces.
    """
    return {
        "workspace": None if row.tool else row.workspace,
        "folder": None if row.tool else row.place.folder,
        "cwd": row.folder or None,
        "transcript": row.path if row.tool else None,
    }


def entries(rows: Iterable[ConversationRow], *, everywhere: bool) -> str:
    """Return the numbered list of `resume --list`.

    Each entry has the title, a line with the id, age and status, and the summary. `everywhere` adds
    the folder.
    """
    lines: list[str] = []
    now, width = time.time(), _width()
    for number, row in enumerate(rows, 1):
        where = f" | Tool: {row.tool_name}" if row.tool else ""
        if everywhere:
            folder = short(row.workspace or row.working_dir)
            where += f" | In: {folder or 'no folder known'}"
        key = short_id(row) if width else row.key
        active = ago(row.last_active, now)
        facts = f"   {key} | Last active: {active} | Status: {row.status}{where}"
        lines += [f"{number}. [{row.kind or 'chat'}] {row.title}", *_wrapped(facts, width)]
        # Sessions of tools have no summary until they become conversations.
        if row.summary or not row.tool:
            lines.append(f"   Summary: {row.summary or 'none yet'}")
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    """Return the line, broken at ` | ` into several lines if the terminal is too narrow."""
    if not width or cells(line) <= width:
        return [line]
    lines: list[str] = []
    for fact in line.strip().split(" | "):
        if lines and cells(f"{lines[-1]} | {fact}") <= width:
            lines[-1] += f" | {fact}"
        else:
            lines.append(f"   {fact}")
    return lines


def _width() -> int:
    """Return the columns of the terminal, or 0 if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def table(rows: Sequence[ConversationRow], *, everywhere: bool) -> str:
    """Return the table of `cortext list`, with one line for each conversation.

    In a terminal the lines are numbered. A narrow terminal gets fewer columns, to leave room for
    titles. `everywhere` adds the folder.
    """
    width = _width()
    narrow = 0 < width < _ROOMY
    shown: dict[str, list[str]] = {}
    if width:
        shown["#"] = [str(number) for number in range(1, len(rows) + 1)]
    ids = brief_ids(rows) if narrow else [short_id(row) for row in rows]
    shown["ID"] = ids if width else [row.key for row in rows]
    if everywhere:
        # The end of a path says more than its beginning.
        folders = [short(row.folder) for row in rows]
        if narrow:
            folders = [path.rpartition("/")[2] or path for path in folders]
        shown["WORKSPACE"] = folders
    if 0 < width < _TIGHT:
        now = time.time()
        shown["AGE"] = [age(row.last_active, now) for row in rows]
    else:
        times = format_local_times(row.last_active for row in rows)
        shown["LAST ACTIVE"] = [_shorten_time(at) for at in times] if narrow else times
    if not (narrow and everywhere):
        shown["STATUS"] = [row.status or "-" for row in rows]
    # The messages of a transcript are not counted for a list.
    counts = [str(row.messages) if _counts(row) else "-" for row in rows]
    if not narrow and any(count != "-" for count in counts):
        shown["MESSAGES"] = counts
    if any(row.tool or row.bindings for row in rows):
        shown["TOOL"] = [",".join(row.tool_names) for row in rows]
    owners = () if narrow else [row.owner for row in rows]
    if any(owners):
        shown["OWNER"] = [*owners]
    shown["TITLE"] = [_titled(row) for row in rows]
    return columns([*shown], [list(line) for line in zip(*shown.values(), strict=True)])


def short_id(row: ConversationRow) -> str:
    """Return an id for display.

    The long id of a tool session is cut; all other ids are complete.
    """
    tool, key = row.tool, row.key
    is_given = tool in ("", AUR) or (tool == DOCUMENT and len(key) != _LONG)
    return key if is_given else key[:_NAMES]


def brief_ids(rows: Sequence[ConversationRow]) -> list[str]:
    """Return the shortest ids that are unique among these rows, for a narrow terminal.

    For a conversation of a workspace, that is its three-digit number. If the number is not unique,
    it is a longer beginning of the id or of the address, which starts with the day.
    """
    long = [row for row in rows if not row.tool and len(row.key) > _LITTLE]
    starts = Counter(start for row in long for start in _starts(row))
    brief = {
        row.identity: next((start for start in _starts(row) if starts[start] == 1), row.key)
        for row in long
    }
    return [brief.get(row.identity) or short_id(row) for row in rows]


def _starts(row: ConversationRow) -> tuple[str, ...]:
    """Return beginnings of a conversation's id and address, the shortest first.

    The user can type a unique beginning to name the conversation.
    """
    return row.id[:_NUMBER], row.id[:_LITTLE], row.address[:_LITTLE]


def _counts(row: ConversationRow) -> bool:
    """Return whether a row knows its number of messages.

    The messages of a transcript are not counted for a list.
    """
    return row.tool in ("", AUR, DOCUMENT)


def _shorten_time(at: str) -> str:
    """Return a time of this year without the year, and an older time without the hour.

    `at` has the form `2026-01-31 14:05`.
    """
    return at[5:] if at[:4] == time.strftime("%Y") else at[:10]


def age(micros: int, now: float) -> str:
    """Return the time since `micros` in about three characters, such as `5m` or `2w`.

    `micros` is in microseconds since 1970, and `now` in seconds.
    """
    count = max(int(now - micros / 1_000_000) // 60, 0)
    if not count:
        return "now"
    for size, name in _STEPS:
        if count < size:
            return f"{count}{name}"
        count //= size
    return f"{count}y"


def columns(headings: list[str], rows: list[list[str]]) -> str:
    """Return rows of cells as aligned text below headings.

    Lines are cut only at the edge of a terminal. In a narrow terminal, some columns are left out to
    make room for the titles.
    """
    shown = [list(column) for column in zip(headings, *rows, strict=True)]
    widths = [find_width(column) for column in shown]
    if edge := _width():
        # Long names must leave room for the title and the tool.
        widest = _WIDEST - _FOR_TOOL if "TOOL" in headings else _WIDEST
        widest = widest if edge >= _ROOMY else _LITTLE
        widths = [
            min(width, widest) if name in ("ID", "WORKSPACE", "OWNER") else width
            for name, width in zip(headings, widths, strict=True)
        ]
        kept = _kept(dict(zip(headings, widths, strict=True)), edge)
        shown, widths = [shown[n] for n in kept], [widths[n] for n in kept]
    aligned = [
        align(column, width, right=column[0] in ("#", "MESSAGES"))
        for column, width in zip(shown, widths, strict=True)
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*aligned, strict=True)]
    return "\n".join(map(to_edge, lines) if edge else lines)


def _kept(widths: dict[str, int], edge: int) -> list[int]:
    """Return the numbers of the columns that fit into a terminal beside the titles.

    `edge` is the width of the terminal. The ids are left out only if the rows are numbered.
    """
    left = dict(widths)
    title = min(left.pop("TITLE", 0), _LEAST)
    for name in _SPARE:
        if sum(left.values()) + 2 * len(left) + title <= edge:
            break
        if name != "ID" or "#" in left:
            left.pop(name, None)
    return [n for n, name in enumerate(widths) if name in left or name == "TITLE"]


def _titled(row: ConversationRow) -> str:
    return " ".join([row.title, *(f"#{tag}" for tag in row.tags)])


def short(path: str) -> str:
    """Return a path for display, with `~` for the home folder."""
    import os

    home = os.path.expanduser("~")
    text = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return clean(text, lines=False)


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat().replace("+00:00", "Z")


def _say(conversations: ConversationList, listing: Listing) -> None:
    damaged = [row.note for row in listing.rows if row.is_damaged]
    say_damaged([*damaged, *conversations.damaged])
    for root in listing.missing:
        say_missing(root)
    say_paused(conversations, conversations.idle)


def say_missing(root: str) -> None:
    """Print a warning that the folder of a workspace does not exist any more."""
    say(f"warning: the workspace {short(root)} is not there now (`list --forget` forgets it)")


def say_paused(conversations: ConversationList, idle: list[ConversationRow]) -> None:
    """Write the status paused for idle conversations, and print a note for each of them.

    Each conversation gets the note only once.
    """
    paused = conversations.pause_idle(idle)
    rest = timedelta(minutes=conversations.pause_minutes)
    for row in paused[:_FEW]:
        at = local(row.active_at + rest)[-5:]
        say(to_edge(f'"{row.title}" was auto-saved and paused at {at}', err=True))
    if len(paused) > _FEW:
        say(f"and {len(paused) - _FEW} more were auto-saved and paused")
