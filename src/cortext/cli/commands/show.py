"""`cortext show`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cortext import paths
from cortext.catalog.lookup import is_number
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import (
    AGENTS,
    DOCUMENT,
    Number,
    all_option,
    complete_id,
    json_option,
    print_json,
    store_option,
)
from cortext.cli.select_conversation import ask, choose
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import keep_up
from cortext.cli.views.page_render import ConversationPage, PageBlock, plain, rendered
from cortext.cli.views.pager import can_page, encodable, page_through
from cortext.cli.views.session_blocks import (
    around,
    facts,
    in_full,
    opened_at,
    short,
    side_by_side,
    told_around,
)
from cortext.durability.read_files import read_file
from cortext.errors import InvalidIdError, SessionNotFoundError
from cortext.features.capture.capture import capture_pending
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.session_of_row import read_all
from cortext.features.listing.store_sessions import default_store, show_session
from cortext.formats.record_lines import Damage
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Numbers(click.ParamType[range]):
    """One message by its number, or several: 7, or 7-12."""

    name = "N[-M]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        found = re.fullmatch(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", str(value), re.ASCII)
        if isinstance(value, range):
            return value
        if found is None or int(found[2] or found[1]) < int(found[1]):
            self.fail(f"{value!r} is no message; give 7 or 7-12, counted from 1", param, ctx)
        return range(int(found[1]), int(found[2] or found[1]) + 1)


class MessageNumberType(click.ParamType[int | str]):
    """Where a search found something: the number of a message, or what is none."""

    name = "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if isinstance(value, int) or value in (DOCUMENT, AGENTS):
            return value
        if not re.fullmatch(r"[1-9]\d{0,8}", str(value), re.ASCII):
            self.fail(f"{value!r} is no message; give 7, {DOCUMENT} or {AGENTS}", param, ctx)
        return int(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(w) for w in (DOCUMENT, AGENTS) if w.startswith(incomplete)]


class _ShownSession(NamedTuple):
    """What is to be shown: a session, and of a conversation the row and its files, and what its
    sub-agents said."""

    session: Session | None
    damages: Sequence[Damage] = ()
    row: ConversationRow | None = None
    markdown: str = ""
    files: Sequence[str] = ()
    side: Sequence[Session] = ()


@click.command("show")
@click.argument("query", nargs=-1, shell_complete=complete_id, required=True)
@store_option
@all_option
@click.option("-n", "last", type=Number(min=1), help="Only the last N messages.")
@click.option(
    "--message",
    "numbers",
    type=Numbers(),
    help="Only these messages, in full, with their tool calls and results.",
)
@click.option(
    "--at",
    type=MessageNumberType(),
    metavar="N",
    help="Message N, as a search tells it, in full, with what was said before and after; or "
    "`document`, or `agents` for what sub-agents said.",
)
@click.option(
    "--full/--stubs",
    default=None,
    help="Tool calls in full, or short.  [default: short in a terminal, else in full]",
)
@click.option("--plain", "as_text", is_flag=True, help="The text as it is, also in a terminal.")
@click.option("--no-pager", is_flag=True, help="All at once, also in a terminal.")
@json_option
def command(
    query: tuple[str, ...],
    store: str | None,
    everywhere: bool,
    last: int | None,
    numbers: range | None,
    at: int | str | None,
    full: bool | None,
    as_text: bool,
    no_pager: bool,
    as_json: bool,
) -> None:
    """Show a conversation: its id, the beginning of it, words of its title and summary, or words
    that were said in it. Sessions of AI tools are shown as well, also those that only our archive
    still has.

    So are those of `spawn`, and those that programs keep. With --store, or if no conversation is
    found, a session by its id or the beginning of it.
    """
    if at and (numbers or last):
        raise click.UsageError("--at says which messages are shown: leave out --message and -n")
    words = " ".join(query)
    found = _in_store(store, words) if store else _conversation(words, everywhere)
    if isinstance(at, str):
        found, wanted, full, at = _beside(found, at), range(1, 1), True, None
    else:
        wanted = _wanted(found, numbers or (range(at, at + 1) if at else None), last)
    if at and found.session:
        found, wanted = found._replace(side=()), around(found.session.messages, at)
    terminal = sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    if as_json:
        print_json(_as_dict(found, wanted))
    else:
        whole = numbers is not None or (not terminal if full is None else full)
        page = _page(found, wanted, whole=whole, alone=numbers is not None, at=at)
        _print(page, rich=terminal and not as_text, paged=terminal and not no_pager)
    _warn(found.damages)


def _in_store(store: str, id: str) -> _ShownSession:
    session, damages = show_session(store, id)
    return _ShownSession(session, damages)


def _conversation(words: str, everywhere: bool) -> _ShownSession:
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    rows = conversations.find(words)
    keep_up(conversations)
    stores = (default_store(), f"log:{paths.spawn_sessions()}")
    for store in () if rows or is_number(words) else stores:
        with suppress(InvalidIdError, SessionNotFoundError):
            return _in_store(store, words)
    if not rows:
        # It looks into what was said, and says what is near, and what is wrong.
        rows = [choose(words, everywhere=everywhere, forgiving=True)]
    return _read(rows[0] if len(rows) == 1 else ask(rows, words))


def _read(row: ConversationRow) -> _ShownSession:
    """Return a conversation with its session. If it has no session, return only its markdown."""
    row = capture_pending(row)
    document = "" if row.tool else document_in(row.place.folder)
    markdown = f"{row.place.folder}/{document}" if document else ""
    try:
        read = read_all(row)
    except SessionNotFoundError:
        if not markdown:
            raise
        return _ShownSession(None, (), row, markdown)
    return _ShownSession(read.session, read.damages, row, markdown, [read.path], read.side)


def _wanted(found: _ShownSession, numbers: range | None, last: int | None) -> range:
    """Return the numbers of the messages to show.

    `numbers` is the range that the user gave. Otherwise `last` is how many messages at the end to
    show. Raises UsageError if `numbers` starts after the last message.
    """
    count = len(found.session.messages) if found.session else 0
    if numbers is None:
        return range(max(count - last, 0) + 1 if last else 1, count + 1)
    if found.session is None or numbers.start > count:
        name = found.row.key if found.row else found.session.id if found.session else ""
        there = f"{count} messages, counted from 1" if count else "no messages"
        raise click.UsageError(f"{name} has {there}")
    return range(numbers.start, min(numbers.stop, count + 1))


def _beside(found: _ShownSession, what: str) -> _ShownSession:
    """Return only the markdown document of a conversation, or the sessions of its sub-agents.

    `what` is DOCUMENT or AGENTS. Raises UsageError if the conversation has no such part.
    """
    name = found.row.key if found.row else found.session.id if found.session else ""
    if what == DOCUMENT and found.markdown:
        return _ShownSession(None, (), found.row, found.markdown)
    if what == AGENTS and found.side:
        return found._replace(markdown="")
    raise click.UsageError(f"{name} has no {'document' if what == DOCUMENT else 'sub-agents'}")


def _as_dict(found: _ShownSession, wanted: range) -> dict[str, Any]:
    """Return a session with the wanted messages as a dict for `--json`.

    A conversation also has the path of its markdown or of its transcript.
    """
    session, row = found.session, found.row
    where: dict[str, Any] = {"markdown": found.markdown or None} if row else {}
    if row and row.tool:
        where = {"tool": row.tool_name, "transcript": found.files[0]}
    if found.side:
        where["sub_agents"] = [one.to_dict() for one in found.side]
    if session is None:
        facts = {"id": row.key, "title": row.title, "kind": row.kind} if row else {}
        return {**facts, "messages": [], **where, "text": _text(found.markdown)}
    session.messages = session.messages[wanted.start - 1 : wanted.stop - 1]
    return {**session.to_dict(), **where}


def _page(
    found: _ShownSession, wanted: range, *, whole: bool, alone: bool, at: int | None = None
) -> ConversationPage:
    session, row = found.session, found.row
    files = [found.markdown] if found.markdown else []
    if session is None:
        described = [row.key, row.kind, row.status or "no session"] if row else []
        block = PageBlock("", "", _text(found.markdown), markdown=True)
        return ConversationPage(
            row.title if row else "", [" · ".join(filter(None, described)), *files], [block]
        )
    files += found.files
    if whole:
        blocks = in_full(session, wanted, alone=alone)
    else:
        blocks = told_around(session, wanted, at) if at else short(session, wanted)
    if found.side and not alone:
        blocks = chain(blocks, side_by_side(found.side, whole=whole))
    title = row.title if row else session.title
    key, status = (row.key, row.status) if row else (session.id, session.status)
    page = ConversationPage(title, [*facts(session, key, status), *files], blocks)
    return opened_at(page, at, wanted, session) if at else page


def _text(path: str) -> str:
    return read_file(path).decode("utf-8", "replace")


def _print(page: ConversationPage, *, rich: bool, paged: bool) -> None:
    if not rich:
        lines = plain(page)
    else:
        import shutil

        width = shutil.get_terminal_size().columns
        lines = rendered(page, width=width, colour=not os.environ.get("NO_COLOR"))
    lines = map(encodable, lines)
    if paged and can_page():
        page_through(lines)
        return
    for line in lines:
        click.echo(line, color=True if rich else None)


def _warn(damages: Sequence[Damage]) -> None:
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {clean(f'{where}: {damage.detail}', lines=False)}", err=True)
    if any(damage.fatal for damage in damages):
        raise click.exceptions.Exit(5)
