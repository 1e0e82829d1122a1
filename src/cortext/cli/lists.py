"""Lists of conversations, as people see them. No option is parsed here: a list without options
does without the parser (`quick.py`), which takes longer to load than the list to make."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from cortext import paths
from cortext.app.conversations import EVERYTHING, Conversations, Listing, Wanted
from cortext.cli.text import cells, fit, local, say, show, to_edge
from cortext.clock import ago, from_micros
from cortext.index.listed import Listed
from cortext.model.text import clean

_FEW = 3
_WIDEST = 32
_NAMES = 13
_FOR_TOOL = 10
_RESUMABLE = Wanted(with_session=True)


def show_conversations(
    wanted: Wanted = EVERYTHING, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """A table of conversations, or why there is none."""
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit)
    if rows:
        show(table(rows, everywhere=everywhere))
    elif wanted._replace(order="updated_at") != EVERYTHING:
        say("no conversation matches")
    else:
        _say_none("no conversations here yet")


def show_resumable(
    wanted: Wanted = _RESUMABLE, *, everywhere: bool = False, limit: int | None = None
) -> None:
    """What can be resumed, to choose from, or why there is nothing."""
    rows = list_here(everywhere=everywhere, wanted=wanted, limit=limit)
    if rows:
        show(entries(rows, everywhere=everywhere))
    elif wanted != _RESUMABLE:
        say("no conversation matches")
    else:
        say_nothing_to_resume()


def say_nothing_to_resume() -> None:
    _say_none("no resumable conversations")


def _say_none(what: str) -> None:
    say(what)
    say('hint: begin one with `cortext new brainstorm "your topic"`')


def list_here(*, everywhere: bool, wanted: Wanted, limit: int | None) -> list[Listed]:
    """The rows to show: in a terminal the newest, else all."""
    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    if limit is None and sys.stdout.isatty():
        limit = int(conversations.config["list.limit"])
    listing = conversations.list(wanted)
    _say(conversations, listing)
    rows = listing.rows if limit is None else listing.rows[:limit]
    if sys.stdout.isatty():
        conversations.remember_shown(rows)
    if len(rows) < len(listing.rows):
        say(f"{len(listing.rows)} in all; -n {len(listing.rows)} shows them")
    if conversations.changed or conversations.left:
        _keep_up(conversations)
    return rows


def _keep_up(conversations: Conversations) -> None:
    """Let catalog and archive follow what tools wrote, without anybody waiting for it."""
    from cortext.app.background import notice, start_in_background
    from cortext.app.catching_up import read_the_rest

    if left := conversations.left:
        what = "1 older transcript is" if left == 1 else f"{left} older transcripts are"
        how = "being read now" if read_the_rest() else "not read yet"
        say(f"{what} {how}; the next list has more")
    start_in_background(conversations.config)
    if told := notice():
        say(told)


def as_json(rows: Iterable[Listed]) -> list[dict[str, Any]]:
    """What `--json` prints of each conversation."""
    return [
        {
            "id": row.key,
            "type": row.kind,
            "title": row.title,
            "status": row.status or None,
            "created_at": _iso(row.created_at),
            "last_active": _iso(row.last_active),
            "messages": None if row.tool else row.messages,
            "tokens": None if row.tool else row.tokens,
            "summary": row.summary,
            "tags": row.tags,
            "model": row.model or None,
            "agent": row.agent or None,
            "parent_id": row.parent_id or None,
            "workspace": None if row.tool else row.root,
            "folder": None if row.tool else row.place.folder,
            "tool": row.tool or None,
            "cwd": row.cwd if row.tool else None,
            "transcript": row.path if row.tool else None,
            "damage": row.note or None,
        }
        for row in rows
    ]


def entries(rows: Iterable[Listed], *, everywhere: bool) -> str:
    """A list as people choose from it: three lines each, numbered."""
    lines: list[str] = []
    now = time.time()
    for number, row in enumerate(rows, 1):
        root, _, key, status, last_active, text = row
        _, kind, title, summary, _ = text.split("\n", 4)
        where = ""
        if not root.startswith("/"):
            where = f" | Tool: {row.tool}"
        if everywhere:
            where += f" | In: {short(row.cwd) or 'no folder known'}"
        lines.append(
            f"{number}. [{kind or 'chat'}] {title}\n"
            f"   {key} | Last active: {ago(last_active, now)} | Status: {status}{where}\n"
            f"   Summary: {summary or 'none yet'}"
        )
    return "\n".join(lines)


def table(rows: Sequence[Listed], *, everywhere: bool) -> str:
    """A list as people skim it: a line each."""
    headings = ["ID", "LAST ACTIVE", "STATUS", "MESSAGES", "TITLE"]
    lines = [
        [_name(row), local(row.active_at), row.status or "-", _counted(row), _titled(row)]
        for row in rows
    ]
    if everywhere:
        headings.insert(1, "WORKSPACE")
        for line, row in zip(lines, rows, strict=True):
            line.insert(1, short(row.cwd))
    if any(row.tool for row in rows):
        headings.insert(-1, "TOOL")
        for line, row in zip(lines, rows, strict=True):
            line.insert(-1, row.tool)
    return columns(headings, lines)


def _name(row: Listed) -> str:
    """What names it; of a tool's long id, a terminal gets as much as names a session."""
    return row.key[:_NAMES] if row.tool and sys.stdout.isatty() else row.key


def _counted(row: Listed) -> str:
    """How many messages; nobody counts those of a transcript to list it."""
    return "-" if row.tool else str(row.messages)


def columns(headings: list[str], rows: list[list[str]]) -> str:
    """Columns of text; only a terminal cuts lines off at its edge."""
    widths = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]
    if sys.stdout.isatty():
        # What names a conversation must not push out what it is about, nor where it was had.
        widest = _WIDEST - _FOR_TOOL if "TOOL" in headings else _WIDEST
        widths = [
            min(width, widest) if name in ("ID", "WORKSPACE") else width
            for name, width in zip(headings, widths, strict=True)
        ]
    return "\n".join(
        to_edge(
            "  ".join(
                cell.rjust(width) if heading == "MESSAGES" else fit(cell, width)
                for heading, cell, width in zip(headings, row, widths, strict=True)
            ).rstrip()
        )
        for row in (headings, *rows)
    )


def _titled(row: Listed) -> str:
    return " ".join([row.title, *(f"#{tag}" for tag in row.tags)])


def short(path: str) -> str:
    """A path as people write it, with `~` for home."""
    import os

    home = os.path.expanduser("~")
    text = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return clean(text, lines=False)


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat().replace("+00:00", "Z")


def _say(conversations: Conversations, listing: Listing) -> None:
    for row in listing.rows:
        if row.is_damaged:
            say(f"warning: {row.note}")
    for root in listing.missing:
        say_missing(root)
    say_paused(conversations, conversations.idle)


def say_missing(root: str) -> None:
    """Name a workspace that was moved or deleted."""
    say(f"warning: the workspace {short(root)} is not there now (`list --forget` forgets it)")


def say_paused(conversations: Conversations, idle: list[Listed]) -> None:
    """Say once of each conversation that it went to rest by itself."""
    paused = conversations.tell_once(idle)
    rest = timedelta(minutes=conversations.pause_minutes)
    for row in paused[:_FEW]:
        at = local(row.active_at + rest)[-5:]
        say(to_edge(f'"{row.title}" was auto-saved and paused at {at}', err=True))
    if len(paused) > _FEW:
        say(f"and {len(paused) - _FEW} more were auto-saved and paused")
