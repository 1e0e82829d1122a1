"""Lists of conversations: which to show, and how. Every list passes here, so it imports little."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

import click

from cortext import paths
from cortext.app.conversations import Conversations, Listing, Wanted
from cortext.cli.options import Since, all_option
from cortext.cli.text import clean
from cortext.clock import ago, from_micros
from cortext.index.listed import Listed

F = TypeVar("F", bound=Callable[..., Any])
_FEW = 3
_STATUSES = ["active", "paused", "completed", "interrupted"]


def filters(command: F) -> F:
    """The options that say which conversations a list holds."""
    options = (
        all_option,
        click.option("--type", "kind", metavar="TYPE", help="Only of this type."),
        click.option("--status", type=click.Choice(_STATUSES), help="Only with this status."),
        click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable."),
        click.option(
            "--since", type=Since(), help="Only those active since: 2026-01-31, 12h, 7d, 4w."
        ),
        click.option("-n", "limit", type=click.IntRange(min=1), help="At most this many."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def wanted(
    kind: str | None,
    status: str | None,
    tags: tuple[str, ...],
    since: int | None,
    **more: Any,
) -> Wanted:
    # `aur` says interrupted where we say paused.
    word = "paused" if status == "interrupted" else status
    return Wanted(kind=kind, status=word, tags=tags, since=since, **more)


def list_here(*, everywhere: bool, wanted: Wanted, limit: int | None) -> list[Listed]:
    """The rows to show: in a terminal the newest, else all."""
    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    if limit is None and sys.stdout.isatty():
        limit = int(conversations.config["list.limit"])
    listing = conversations.list(wanted)
    _say(conversations, listing)
    rows = listing.rows if limit is None else listing.rows[:limit]
    if sys.stdout.isatty() or sys.stdin.isatty():
        conversations.remember_shown(rows)
    if len(rows) < len(listing.rows):
        click.echo(f"{len(listing.rows)} in all; -n {len(listing.rows)} shows them", err=True)
    return rows


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
            "messages": row.messages,
            "tokens": row.tokens,
            "summary": row.summary,
            "tags": row.tags,
            "model": row.model or None,
            "agent": row.agent or None,
            "parent_id": row.parent_id or None,
            "workspace": row.root,
            "folder": row.place.folder,
            "damage": row.note or None,
        }
        for row in rows
    ]


def entries(rows: Iterable[Listed], *, everywhere: bool) -> str:
    """A list as people choose from it: three lines each, numbered."""
    lines: list[str] = []
    now = time.time()
    for number, (root, _, key, status, last_active, text) in enumerate(rows, 1):
        _, kind, title, summary, _ = text.split("\n", 4)
        where = f" | In: {short(root)}" if everywhere else ""
        lines.append(
            f"{number}. [{kind or 'chat'}] {title}\n"
            f"   {key} | Last active: {ago(last_active, now)} | Status: {status}{where}\n"
            f"   Summary: {summary or 'none yet'}"
        )
    return "\n".join(lines)


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
            click.echo(f"warning: {row.note}", err=True)
    for root in listing.missing:
        click.echo(f"warning: the workspace {short(root)} is not there now", err=True)
    say_paused(conversations, conversations.idle)


def say_paused(conversations: Conversations, idle: list[Listed]) -> None:
    """Say once of each conversation that it went to rest by itself."""
    paused = conversations.tell_once(idle)
    rest = timedelta(minutes=conversations.pause_minutes)
    for row in paused[:_FEW]:
        at = (row.active_at + rest).astimezone()
        click.echo(f'"{row.title}" was auto-saved and paused at {at:%H:%M}', err=True)
    if len(paused) > _FEW:
        click.echo(f"and {len(paused) - _FEW} more were auto-saved and paused", err=True)
