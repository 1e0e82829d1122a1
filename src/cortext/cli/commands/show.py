"""The command `cortext show`: show one conversation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from cortext import paths
from cortext.catalog.lookup import is_number
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import AGENTS, DOCUMENT, Number, all_option, json_option, print_json
from cortext.cli.conversation_choice import ask, choose
from cortext.cli.conversation_completion import complete_id
from cortext.cli.error_output import OptionValueError
from cortext.cli.store_option import store_option
from cortext.cli.terminal_text import clean
from cortext.cli.views.conversation_render import ConversationPage, PageBlock, plain, rendered
from cortext.cli.views.list_view import update_in_background
from cortext.cli.views.pager import can_page, encodable, page_through
from cortext.cli.views.session_blocks import (
    around,
    blocks_around,
    facts,
    in_full,
    line_of_opened,
    mark_opened,
    short,
    sub_agent_blocks,
)
from cortext.durability.read_files import read_file
from cortext.errors import InvalidIdError, SessionNotFoundError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.session_of_row import read_all
from cortext.features.listing.store_sessions import default_store, show_session
from cortext.formats.message_lines import Damage
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Numbers(click.ParamType[range]):
    """The click type of the option `--message`: the number of a message, or a range like 7-12."""

    name = "N[-M]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        match = re.fullmatch(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", str(value), re.ASCII)
        if isinstance(value, range):
            return value
        if match is None or int(match[2] or match[1]) < int(match[1]):
            self.fail(
                f"{value!r} is not a message number; give a number (7) or a range (7-12)",
                param,
                ctx,
            )
        return range(int(match[1]), int(match[2] or match[1]) + 1)


class MessageNumberType(click.ParamType[int | str]):
    """The click type of the option `--at`, which names the part of a conversation to open.

    The value is the number of a message, `document` (the markdown document), or `agents` (the
    sessions of sub-agents).
    """

    name = "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if isinstance(value, int) or value in (DOCUMENT, AGENTS):
            return value
        if not re.fullmatch(r"[1-9]\d{0,8}", str(value), re.ASCII):
            self.fail(
                f"{value!r} is not a message number; give a number, {DOCUMENT} or {AGENTS}",
                param,
                ctx,
            )
        return int(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(w) for w in (DOCUMENT, AGENTS) if w.startswith(incomplete)]


class _ShownSession(msgspec.Struct, frozen=True):
    """The session that `cortext show` shows.

    `session` is None if a conversation has only a document. `damages` are the damaged parts of the
    session. `row` is the conversation, or None if the session belongs to no conversation.
    `markdown` is the path of the conversation's document. `files` has the path of the session file.
    `sub_agents` are the sessions of sub-agents.
    """

    session: Session | None
    damages: Sequence[Damage] = ()
    row: ConversationRow | None = None
    markdown: str = ""
    files: Sequence[str] = ()
    sub_agents: Sequence[Session] = ()


@click.command("show")
@click.argument("query", nargs=-1, shell_complete=complete_id, required=True)
@store_option
@all_option
@click.option("-n", "last", type=Number(min=1), help="Show only the last N messages.")
@click.option(
    "--message",
    "numbers",
    type=Numbers(),
    help="Show only these messages, in full, with their tool calls and results.",
)
@click.option(
    "--at",
    type=MessageNumberType(),
    metavar="N",
    help="Show message N in full, with the messages around it. `cortext search` prints these "
    "numbers. `document` shows the markdown, `agents` the messages of sub-agents.",
)
@click.option(
    "--full/--stubs",
    default=None,
    help="Show tool calls in full, or shortened.  [default: shortened only in a terminal]",
)
@click.option(
    "--plain",
    "as_text",
    is_flag=True,
    help="Print plain text without formatting, even in a terminal.",
)
@click.option("--no-pager", is_flag=True, help="Print everything at once, even in a terminal.")
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
    """Show a conversation or a session.

    QUERY is an id, the beginning of an id, a number that `cortext list` printed, words of the title
    or summary, or words from the messages. The archive has the sessions that a tool has
    deleted, so you can show those too.

    With --store, QUERY is the id of a session in that store, or the beginning of its id.
    """
    if at and (numbers or last):
        raise click.UsageError("--at cannot be combined with --message or -n")
    words = " ".join(query)
    shown = _find_in_store(store, words) if store else _find_conversation(words, everywhere)
    if isinstance(at, str):
        shown, wanted, full, at = _select_part(shown, at), range(1, 1), True, None
    else:
        wanted = _message_numbers(shown, numbers or (range(at, at + 1) if at else None), last)
    if at and shown.session:
        shown, wanted = replace(shown, sub_agents=()), around(shown.session.messages, at)
    terminal = sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    if as_json:
        print_json(_as_dict(shown, wanted))
    else:
        whole = numbers is not None or (not terminal if full is None else full)
        page = _make_page(shown, wanted, whole=whole, alone=numbers is not None, at=at)
        _print(page, rich=terminal and not as_text, paged=terminal and not no_pager, at=at)
    _warn(shown.damages)


def _find_in_store(store: str, id: str) -> _ShownSession:
    session, damages = show_session(store, id)
    return _ShownSession(session, damages)


def _find_conversation(words: str, everywhere: bool) -> _ShownSession:
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    rows = conversations.find(words)
    update_in_background(conversations)
    stores = (default_store(), f"log:{paths.spawn_sessions()}")
    for store in () if rows or is_number(words) else stores:
        with suppress(InvalidIdError, SessionNotFoundError):
            return _find_in_store(store, words)
    if not rows:
        # `choose` also searches the messages, and prints suggestions if nothing matches.
        rows = [choose(words, everywhere=everywhere, forgiving=True)]
    return _read_conversation(rows[0] if len(rows) == 1 else ask(rows, words))


def _read_conversation(row: ConversationRow) -> _ShownSession:
    """Read the session of a conversation, and find its markdown document.

    The session in the result is None if the conversation has only a document.
    """
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


def _message_numbers(shown: _ShownSession, numbers: range | None, last: int | None) -> range:
    """Return the numbers of the messages to show.

    If `numbers` is given, show these messages. Otherwise show the last `last` messages, or all if
    `last` is None. Raises OptionValueError if `numbers` starts after the last message.
    """
    count = len(shown.session.messages) if shown.session else 0
    if numbers is None:
        return range(max(count - last, 0) + 1 if last else 1, count + 1)
    if shown.session is None or numbers.start > count:
        has = f"has {count:,}" if count else "has no messages"
        raise OptionValueError(f"no message {numbers.start}; this conversation {has}")
    return range(numbers.start, min(numbers.stop, count + 1))


def _select_part(shown: _ShownSession, part: str) -> _ShownSession:
    """Limit `shown` to one part of the conversation.

    `part` is DOCUMENT for the markdown document, or AGENTS for the sessions of sub-agents. Raises
    OptionValueError if the conversation has no such part.
    """
    name = shown.row.key if shown.row else shown.session.id if shown.session else ""
    if part == DOCUMENT and shown.markdown:
        return _ShownSession(None, (), shown.row, shown.markdown)
    if part == AGENTS and shown.sub_agents:
        return replace(shown, markdown="")
    raise OptionValueError(f"{name} has no {'document' if part == DOCUMENT else 'sub-agents'}")


def _as_dict(shown: _ShownSession, wanted: range) -> dict[str, Any]:
    """Return the dict that `--json` prints: the session, with only some of its messages.

    `wanted` has the numbers of these messages. For a conversation, the dict also has the path of
    the markdown document. For a session of an AI tool, it has the path of the transcript.
    """
    session, row = shown.session, shown.row
    where: dict[str, Any] = {"markdown": shown.markdown or None} if row else {}
    if row and row.tool:
        where = {"tool": row.tool_name, "transcript": shown.files[0]}
    if shown.sub_agents:
        where["sub_agents"] = [agent_session.to_dict() for agent_session in shown.sub_agents]
    if session is None:
        facts = {"id": row.key, "title": row.title, "kind": row.kind} if row else {}
        return {**facts, "messages": [], **where, "text": _read_text(shown.markdown)}
    session.messages = session.messages[wanted.start - 1 : wanted.stop - 1]
    return {**session.to_dict(), **where}


def _make_page(
    shown: _ShownSession, wanted: range, *, whole: bool, alone: bool, at: int | None = None
) -> ConversationPage:
    session, row = shown.session, shown.row
    files = [shown.markdown] if shown.markdown else []
    if session is None:
        described = [row.key, row.kind, row.status or "no session"] if row else []
        block = PageBlock("", "", _read_text(shown.markdown), markdown=True)
        return ConversationPage(
            row.title if row else "", [" · ".join(filter(None, described)), *files], [block]
        )
    files += shown.files
    if whole:
        blocks = in_full(session, wanted, alone=alone)
    else:
        blocks = blocks_around(session, wanted, at) if at else short(session, wanted)
    if shown.sub_agents and not alone:
        blocks = chain(blocks, sub_agent_blocks(shown.sub_agents, whole=whole))
    title = row.title if row else session.title
    key, status = (row.key, row.status) if row else (session.id, session.status)
    page = ConversationPage(title, [*facts(session, key, status), *files], blocks)
    return mark_opened(page, at, wanted, session) if at else page


def _read_text(path: str) -> str:
    return read_file(path).decode("utf-8", "replace")


def _print(page: ConversationPage, *, rich: bool, paged: bool, at: int | None = None) -> None:
    """Print a page. If `at` is given, the pager opens at the heading of this message."""
    if not rich:
        lines = plain(page)
    else:
        import shutil

        width = shutil.get_terminal_size().columns
        lines = rendered(page, width=width, colour=not os.environ.get("NO_COLOR"))
    lines = map(encodable, lines)
    if paged and can_page():
        if at is None:
            page_through(lines)
        else:
            text = "\n".join(lines)
            page_through([text], first_line=line_of_opened(text, at))
        return
    for line in lines:
        click.echo(line, color=True if rich else None)


def _warn(damages: Sequence[Damage]) -> None:
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {clean(f'{where}: {damage.detail}', lines=False)}", err=True)
    if any(damage.fatal for damage in damages):
        raise click.exceptions.Exit(5)
