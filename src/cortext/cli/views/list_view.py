"""The lists of conversations that `list` and `resume --list` print."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from cortext import paths
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import cells, cut_to_terminal, local, say, say_damaged, show
from cortext.cli.views.text_table import align, find_width, format_local_times
from cortext.clock import ago, from_micros
from cortext.features.archive.background_sync import notice, start_in_background
from cortext.features.listing.background_catalog_refresh import (
    start_background_counting,
    start_background_reading,
)
from cortext.features.listing.conversation_list import (
    COUNT_ORDERS,
    EVERYTHING,
    ConversationList,
    ListFilter,
    Listing,
)
from cortext.features.listing.project_names import project_names
from cortext.features.listing.project_names import short_path as short
from cortext.tools.slash_command_files import has_workspace_command
from cortext.workspace.conversation_types import Types, UnknownTypeError

_MAX_NOTES = 3
_MAX_NAME = 32
_ID_BEGINNING = 13
_TOOL_WIDTH = 10
_WIDE = 100
"""A terminal with at least this many columns has room for all columns of the table."""
_MAX_NARROW_NAME = 14
"""The maximum length of an id or a folder in a terminal that is narrower than `_WIDE`."""
_MIN_FOR_TIMES = 60
"""A terminal with fewer columns shows ages such as `2d` instead of times."""
_MIN_TITLE = 16
"""The number of columns that a narrow terminal reserves for titles."""
_OPTIONAL_COLUMNS = ("OWNER", "STATUS", "BRANCH", "MESSAGES", "ID", "FOLDER", "TOOL")
"""The columns that are left out of the table in a narrow terminal. The first is left out first."""
_AGE_UNITS = ((60, "m"), (24, "h"), (7, "d"), (52, "w"))
_ID_DIGITS = 3
"""The number of digits with which the id of a conversation starts."""
_UUID_LENGTH = 36
"""The length of a UUID. An id of this length is cut for display, because nobody types it."""
_RESUMABLE = ListFilter(with_session=True)
_START_HINT = 'hint: to start a conversation: `cortext new brainstorm "your topic"`'
_START_COMMAND = "workspace.brainstorm"


def show_conversations(
    wanted: ListFilter = EVERYTHING, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """Print the table of conversations for `cortext list`. If it is empty, print the reason.

    `wanted` filters the conversations. `everywhere` includes all workspaces. `limit` is the maximum
    number of rows; None means the default.
    """
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit)
    if rows:
        show(table(rows, everywhere=everywhere))
    else:
        is_unfiltered = replace(wanted, order="updated_at") == EVERYTHING
        nothing_yet = "no conversations yet" if everywhere else "no conversations here yet"
        what = nothing_yet if is_unfiltered else "no conversation matches"
        _explain_empty(what, "list", wanted, everywhere=everywhere, how_to_start=is_unfiltered)


def show_resumable(
    wanted: ListFilter = _RESUMABLE, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """Print the conversations that can be resumed, for `resume --list`.

    If the list is empty, print the reason. `wanted` filters the list, `everywhere` includes all
    workspaces, and `limit` is the maximum number of entries.
    """
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit, with_counts=False)
    if rows:
        show(entries(rows, everywhere=everywhere))
    else:
        say_nothing_to_resume(wanted, everywhere=everywhere)


def say_nothing_to_resume(wanted: ListFilter = _RESUMABLE, *, everywhere: bool = False) -> None:
    is_unfiltered = wanted == _RESUMABLE
    what = "no resumable conversations" if is_unfiltered else "no conversation matches"
    _explain_empty(what, "resume --list", wanted, everywhere=everywhere, how_to_start=is_unfiltered)


def _explain_empty(
    what: str, command: str, wanted: ListFilter, *, everywhere: bool, how_to_start: bool
) -> None:
    """Print that a list of conversations is empty, and how many conversations other folders have.

    `what` is the sentence to print, such as "no conversations here yet". `command` is the command
    that prints the list, such as `resume --list`. If other folders have matching conversations,
    suggest this command with `--all`. With `how_to_start`, also print how to start a conversation.
    """
    others = 0 if everywhere else len(_list_everywhere(wanted))
    if wanted.kind and not others:
        _check_type(wanted.kind)
    if wanted.folder and not os.path.isdir(os.path.expanduser(wanted.folder)):
        say(f"{what}: there is no folder or project {short(wanted.folder)}")
    elif others:
        sentence = what.removesuffix(" here yet")
        say(f"{sentence} here; other folders have {others}: `cortext {command} --all`")
    else:
        say(what)
    if how_to_start:
        for line in [_start_hint()] if others else no_history_lines():
            say(line)
    elif wanted.folder:
        say(f"hint: to list the conversations of all folders: `cortext {command} --all`")
    elif wanted.words:
        say("hint: `cortext search` also searches the messages")


def _check_type(kind: str) -> None:
    """Raise UnknownTypeError if this workspace has no conversation type with the name `kind`."""
    known = ["chat", *Types(paths.workspace_root()).names()]
    if kind not in known:
        raise UnknownTypeError(kind, known)


def no_history_lines() -> list[str]:
    """Return the hints to print if there are no conversations at all."""
    where = "hint: `cortext doctor` shows the folders in which cortext looks for conversations"
    return [where, _start_hint()]


def _start_hint() -> str:
    """Return the hint that says how to start a conversation.

    It names the slash command only if `cortext init` installed it in this workspace.
    """
    if not has_workspace_command(paths.workspace_root(), _START_COMMAND):
        return _START_HINT
    return f"{_START_HINT}, or `/{_START_COMMAND}` in your AI tool"


def _list_everywhere(wanted: ListFilter) -> Sequence[ConversationRow]:
    with ConversationList(paths.workspace_root(), everywhere=True) as conversations:
        return conversations.list(wanted).rows


def list_here(
    *, everywhere: bool, wanted: ListFilter, limit: int | None, with_counts: bool = True
) -> list[ConversationRow]:
    """Return the conversations for a list, and print warnings and notes about them.

    `wanted` filters the conversations, and `everywhere` includes all workspaces. `limit` is the
    maximum number of conversations. If it is None, the limit is the setting `list.limit`; without a
    terminal there is no limit. With `with_counts`, also fill in the numbers of messages and tokens
    of tool sessions.
    """
    with ConversationList(paths.workspace_root(), everywhere=everywhere) as conversations:
        if limit is None and sys.stdout.isatty():
            limit = int(conversations.config["list.limit"])
        progress_bar = ProgressBar("counting messages")
        conversations.count_progress = progress_bar.progress
        listing = conversations.list(wanted, capture=True)
        progress_bar.clear()
        _print_notes(conversations, listing)
        rows = listing.rows if limit is None else listing.rows[:limit]
        if with_counts and wanted.order not in COUNT_ORDERS:
            rows = conversations.add_counts(rows)
        if sys.stdout.isatty():
            conversations.remember_shown(rows)
        if len(rows) < len(listing.rows):
            say(f"Showing {len(rows)} of {len(listing.rows)}. To show all: -n {len(listing.rows)}")
        update_in_background(conversations)
    return rows


def update_in_background(conversations: ConversationList) -> None:
    """Start a background update of the catalog and the archive, and print notes about it.

    The catalog is the database of all conversations. The archive has copies of the tools'
    transcripts. The archive is updated even if the catalog is complete, because a transcript can be
    in the catalog but not yet in the archive.
    """
    if not conversations.has_transcripts:
        return

    if left := conversations.left:
        what = "1 older transcript is" if left == 1 else f"{left} older transcripts are"
        how = "being read now" if start_background_reading() else "not read yet"
        say(f"{what} {how}. The next list will have more.")
    elif conversations.uncounted:
        start_background_counting()
    start_in_background(conversations.config)
    if note := notice():
        say(note)


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
            "messages": row.messages if _has_count(row) else None,
            "tokens": row.tokens if _has_count(row) else None,
            "summary": row.summary,
            "tags": row.tags,
            "model": row.model or None,
            "agent": row.agent or None,
            "owner": row.owner or None,
            "parent_id": row.parent_id or None,
            "branch": row.branch or None,
            "tool": row.tool_name or None,
            "tools": row.tool_names,
            **paths_as_json(row),
            "damage": row.note or None,
        }
        for row in rows
    ]


def paths_as_json(row: ConversationRow) -> dict[str, str | None]:
    """Return the paths of a conversation as a dict for `--json` output.

    `cwd` is the folder in which the conversation took place. For a conversation in a workspace,
    `workspace` and `folder` are set. For any other session, `transcript` is the path of its file.
    The remaining values are None.
    """
    return {
        "workspace": None if row.tool else row.workspace,
        "folder": None if row.tool else row.place.folder,
        "cwd": row.folder or None,
        "transcript": row.path if row.tool else None,
    }


def entries(rows: Sequence[ConversationRow], *, everywhere: bool) -> str:
    """Return the text of the numbered list that `resume --list` prints.

    Each entry has the title, a line with the id, age and status, and the summary, if there is one.
    With `everywhere`, the line also has the folder.
    """
    lines: list[str] = []
    now, width = time.time(), _terminal_width()
    names = project_names(row.workspace or row.working_dir for row in rows)
    for number, row in enumerate(rows, 1):
        where = f" | Tool: {row.tool_name}" if row.tool else ""
        if everywhere:
            folder = names[row.workspace or row.working_dir]
            where += f" | In: {folder or 'unknown folder'}"
        key = short_id(row) if width else row.key
        active = ago(row.last_active, now)
        facts = f"   {key} | Last active: {active} | Status: {row.status}{where}"
        lines += [f"{number}. [{row.kind or 'chat'}] {row.title}", *_wrap_facts(facts, width)]
        if row.summary:
            lines.append(f"   Summary: {row.summary}")
    return "\n".join(lines)


def _wrap_facts(line: str, width: int) -> list[str]:
    """Split a line at ` | ` into several lines if it is wider than the terminal.

    `width` is the width of the terminal, or 0 without a terminal.
    """
    if not width or cells(line) <= width:
        return [line]
    lines: list[str] = []
    for fact in line.strip().split(" | "):
        if lines and cells(f"{lines[-1]} | {fact}") <= width:
            lines[-1] += f" | {fact}"
        else:
            lines.append(f"   {fact}")
    return lines


def _terminal_width() -> int:
    """Return the columns of the terminal, or 0 if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def table(rows: Sequence[ConversationRow], *, everywhere: bool) -> str:
    """Return the text of the table that `cortext list` prints, one line for each conversation.

    In a terminal the lines are numbered. In a narrow terminal the table has fewer columns, to leave
    room for titles. With `everywhere`, the table has a column with folders.
    """
    width = _terminal_width()
    narrow = 0 < width < _WIDE
    columns_by_heading: dict[str, list[str]] = {}
    if width:
        columns_by_heading["#"] = [str(number) for number in range(1, len(rows) + 1)]
    ids = brief_ids(rows) if narrow else [short_id(row) for row in rows]
    columns_by_heading["ID"] = ids if width else [row.key for row in rows]
    if everywhere:
        names = project_names(row.folder for row in rows)
        columns_by_heading["FOLDER"] = [names[row.folder] for row in rows]
    if 0 < width < _MIN_FOR_TIMES:
        now = time.time()
        columns_by_heading["AGE"] = [age(row.last_active, now) for row in rows]
    else:
        times = format_local_times(row.last_active for row in rows)
        columns_by_heading["LAST ACTIVE"] = [_shorten_time(at) for at in times] if narrow else times
    if not (narrow and everywhere):
        columns_by_heading["STATUS"] = [row.status or "-" for row in rows]
    counts = [str(row.messages) if _has_count(row) else "-" for row in rows]
    if not narrow and any(count != "-" for count in counts):
        columns_by_heading["MESSAGES"] = counts
    branches = () if narrow else [row.branch for row in rows]
    if any(branches):
        columns_by_heading["BRANCH"] = [*branches]
    if any(row.tool or row.bindings for row in rows):
        columns_by_heading["TOOL"] = [",".join(row.tool_names) for row in rows]
    owners = () if narrow else [row.owner for row in rows]
    if any(owners):
        columns_by_heading["OWNER"] = [*owners]
    columns_by_heading["TITLE"] = [_title_with_tags(row) for row in rows]
    return columns(
        [*columns_by_heading],
        [list(line) for line in zip(*columns_by_heading.values(), strict=True)],
    )


def short_id(row: ConversationRow) -> str:
    """Return the id of a conversation for display.

    Cut the long id of a tool session. Return any other id unchanged.
    """
    tool, key = row.tool, row.key
    is_readable = tool in ("", AUR) or (tool == DOCUMENT and len(key) != _UUID_LENGTH)
    return key if is_readable else key[:_ID_BEGINNING]


def brief_ids(rows: Sequence[ConversationRow]) -> list[str]:
    """Return a short id for each row, for a narrow terminal. The user can type it to name the row.

    A long id of a conversation becomes its shortest form that no other row has. If there is no such
    form, the id is not shortened. Any other id is shortened as in `short_id`.
    """
    long = [row for row in rows if not row.tool and len(row.key) > _MAX_NARROW_NAME]
    starts = Counter(start for row in long for start in _id_beginnings(row))
    brief = {
        row.identity: next((start for start in _id_beginnings(row) if starts[start] == 1), row.key)
        for row in long
    }
    return [brief.get(row.identity) or short_id(row) for row in rows]


def _id_beginnings(row: ConversationRow) -> tuple[str, ...]:
    """Return the possible short forms of a conversation's id, the shortest first.

    The first two forms are beginnings of the id. The third form is a beginning of `DATE/ID`. The
    user can type a form to name the conversation if no other conversation has the same form.
    """
    return row.id[:_ID_DIGITS], row.id[:_MAX_NARROW_NAME], row.address[:_MAX_NARROW_NAME]


def _has_count(row: ConversationRow) -> bool:
    """Return whether the number of messages of a conversation is known.

    It is unknown for a tool session whose transcript was not counted yet.
    """
    return row.tool in ("", AUR, DOCUMENT) or row.messages > 0


def _shorten_time(at: str) -> str:
    """Shorten a time of the form `2026-01-31 14:05` for a narrow terminal.

    Return `01-31 14:05` for a time of this year, and `2026-01-31` for any other time.
    """
    return at[5:] if at[:4] == time.strftime("%Y") else at[:10]


def age(micros: int, now: float) -> str:
    """Return how long ago a time was, in about three characters, such as `5m` or `2w`.

    `micros` is the time in microseconds since 1970. `now` is the current time in seconds.
    """
    count = max(int(now - micros / 1_000_000) // 60, 0)
    if not count:
        return "now"
    for size, name in _AGE_UNITS:
        if count < size:
            return f"{count}{name}"
        count //= size
    return f"{count}y"


def columns(headings: list[str], rows: list[list[str]]) -> str:
    """Return a table as text: the headings, and below them one aligned line for each row.

    If stdout is a terminal, lines are cut at its right edge. A narrow terminal shows fewer columns,
    to leave room for the titles.
    """
    shown = [list(column) for column in zip(headings, *rows, strict=True)]
    widths = [find_width(column) for column in shown]
    if edge := _terminal_width():
        # Long names must leave room for the title and the tool.
        widest = _MAX_NAME - _TOOL_WIDTH if "TOOL" in headings else _MAX_NAME
        widest = widest if edge >= _WIDE else _MAX_NARROW_NAME
        widths = [
            min(width, widest) if name in ("ID", "FOLDER", "OWNER", "BRANCH") else width
            for name, width in zip(headings, widths, strict=True)
        ]
        fitting = _fitting_columns(dict(zip(headings, widths, strict=True)), edge)
        shown, widths = [shown[n] for n in fitting], [widths[n] for n in fitting]
    aligned = [
        align(column, width, right=column[0] in ("#", "MESSAGES"))
        for column, width in zip(shown, widths, strict=True)
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*aligned, strict=True)]
    return "\n".join(map(cut_to_terminal, lines) if edge else lines)


def _fitting_columns(widths: dict[str, int], edge: int) -> list[int]:
    """Return the indexes of the table columns that fit into a terminal.

    `widths` maps each heading to the width of its column. `edge` is the width of the terminal. The
    result always includes the titles. It also includes the ids, unless the rows are numbered.
    """
    fitting = dict(widths)
    title = min(fitting.pop("TITLE", 0), _MIN_TITLE)
    for name in _OPTIONAL_COLUMNS:
        if sum(fitting.values()) + 2 * len(fitting) + title <= edge:
            break
        if name != "ID" or "#" in fitting:
            fitting.pop(name, None)
    return [n for n, name in enumerate(widths) if name in fitting or name == "TITLE"]


def _title_with_tags(row: ConversationRow) -> str:
    return " ".join([row.title, *(f"#{tag}" for tag in row.tags)])


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat().replace("+00:00", "Z")


def _print_notes(conversations: ConversationList, listing: Listing) -> None:
    damaged = [row.note for row in listing.rows if row.is_damaged]
    say_damaged([*damaged, *conversations.damaged])
    for root in listing.missing:
        say_missing(root)
    say_paused(conversations, conversations.idle)


def say_missing(root: str) -> None:
    """Print a warning that the folder of a workspace does not exist any more."""
    say(f"warning: the workspace {short(root)} does not exist; forget it: `cortext list --forget`")


def say_paused(conversations: ConversationList, idle: list[ConversationRow]) -> None:
    """Mark the conversations in `idle` as paused, and print a note for each that changed.

    Idle conversations are active, but have had no new message for a while.
    """
    paused = conversations.pause_idle(idle)
    idle_time = timedelta(minutes=conversations.pause_minutes)
    for row in paused[:_MAX_NOTES]:
        at = local(row.active_at + idle_time)[-5:]
        say(cut_to_terminal(f'"{row.title}" was auto-saved and paused at {at}', err=True))
    if len(paused) > _MAX_NOTES:
        say(f"and {len(paused) - _MAX_NOTES} more were auto-saved and paused")
