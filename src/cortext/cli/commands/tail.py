"""`cortext tail`."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import Number, all_option, complete_id, json_option
from cortext.cli.select_conversation import ask, choose
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import keep_up
from cortext.cli.views.page_render import ConversationPage, PageBlock, plain, rendered
from cortext.cli.views.session_blocks import facts, in_full, short
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.store_sessions import default_store
from cortext.features.watch.follow_conversation import ConversationTail
from cortext.features.watch.followed_sources import LiveSource, open_live_source, open_stored_source
from cortext.formats.record_lines import Damage
from cortext.formats.tool_call_stubs import id_of
from cortext.model import json_codec, record_dicts
from cortext.model.session import Session

_EVERY = 200
"""Milliseconds between two looks."""


@click.command("tail")
@click.argument("query", nargs=-1, metavar="ID...", shell_complete=complete_id, required=True)
@all_option
@click.option(
    "-n",
    "last",
    type=Number(min=0),
    default=20,
    show_default=True,
    help="Begin with the last N messages.",
)
@click.option("--no-follow", is_flag=True, help="Show these, and end.")
@click.option(
    "--full/--stubs",
    default=None,
    help="Tool calls in full, or short.  [default: short in a terminal, else in full]",
)
@json_option
def command(
    query: tuple[str, ...],
    everywhere: bool,
    last: int,
    no_follow: bool,
    full: bool | None,
    as_json: bool,
) -> None:
    """Show a conversation as it grows: its last messages, and then each new one as soon as it is
    written, until Ctrl+C, or until the conversation is completed or deleted.

    ID is as for `cortext show`: conversations of workspaces, sessions of AI tools and of `spawn`.
    With --json each message is an object on a line of its own.
    """
    growing, row = _find(" ".join(query), everywhere)
    tail = ConversationTail(growing)
    shown = _TailOutput(tail, row, full=full, as_json=as_json)
    count = len(tail.session.messages)
    shown.begin(range(max(count - last, 0) + 1, count + 1))
    _warn(tail.damages)
    if not no_follow:
        _follow(tail, shown)


def _find(words: str, everywhere: bool) -> tuple[LiveSource, ConversationRow | None]:
    """Return the source of new messages of the conversation that `words` name, and its row.

    The search is that of `cortext show`. The row is None for a session found in a store. Raises
    CortextError if the conversation has no session.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    rows = conversations.find(words)
    keep_up(conversations)
    for store in () if rows else (default_store(), f"log:{paths.spawn_sessions()}"):
        with suppress(InvalidIdError, SessionNotFoundError):
            return open_stored_source(store, words), None
    if not rows:
        rows = [choose(words, everywhere=everywhere, forgiving=True)]
    row = rows[0] if len(rows) == 1 else ask(rows, words)
    if not row.status:
        raise CortextError(
            f"{row.key} has no session that could grow",
            hint=f"`cortext show {row.key}` shows its markdown",
        )
    return open_live_source(row), row


def _follow(tail: ConversationTail, shown: _TailOutput) -> None:
    over, rest = tail.over, _rest()
    while not over:
        rest()
        news = tail.news()
        if news is None:
            continue
        if news.note:
            click.echo(news.note, err=True)
        shown.more(news.new)
        _warn(news.damages)
        over = news.over
    click.echo(f"nothing more will come: {over}", err=True)


def _rest() -> Callable[[], None]:
    """Return a function that waits until the next check.

    If stdout is a pipe, that function raises BrokenPipeError once the reader has gone, even if
    there is nothing to write.
    """
    if not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
        return lambda: time.sleep(_EVERY / 1000)
    waiter = select.poll()
    waiter.register(sys.stdout.fileno(), 0)

    def rest() -> None:
        if waiter.poll(_EVERY):
            raise BrokenPipeError

    return rest


def _warn(damages: Sequence[Damage]) -> None:
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {clean(f'{where}: {damage.detail}', lines=False)}", err=True)


class _TailOutput:
    """Messages as `show` has them, each batch as soon as it is there."""

    def __init__(
        self,
        tail: ConversationTail,
        row: ConversationRow | None,
        *,
        full: bool | None,
        as_json: bool,
    ) -> None:
        self._tail, self._row, self._as_json = tail, row, as_json
        self._rich = sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
        self._whole = not self._rich if full is None else full

    def begin(self, numbers: range) -> None:
        """Print the title and facts of the conversation, and the messages with these numbers."""
        if self._as_json:
            self._print_json(numbers)
            return

        session, row = self._tail.session, self._row
        title = row.title if row else session.title
        key, status = (row.key, row.status) if row else (session.id, session.status)
        self._print(ConversationPage(title, facts(session, key, status), self._blocks(numbers)))

    def more(self, numbers: Sequence[int]) -> None:
        if self._as_json:
            self._print_json(numbers)
        elif numbers:
            late = () if self._whole else _late(self._tail.session, numbers)
            self._print(ConversationPage("", (), chain(late, self._blocks(numbers))), headed=False)

    def _blocks(self, numbers: Sequence[int]) -> Iterator[PageBlock]:
        session = self._tail.session
        for run in _runs(numbers):
            yield from in_full(session, run, alone=False) if self._whole else short(session, run)

    def _print(self, page: ConversationPage, *, headed: bool = True) -> None:
        if self._rich:
            import shutil

            width = shutil.get_terminal_size().columns
            lines = rendered(page, width=width, colour=not os.environ.get("NO_COLOR"))
        else:
            lines = plain(page)
        encoding = sys.stdout.encoding or "utf-8"
        text = "\n".join(lines if headed else islice(lines, 1, None))
        text = text.encode(encoding, "replace").decode(encoding)
        click.echo(text, color=True if self._rich else None)

    def _print_json(self, numbers: Sequence[int]) -> None:
        messages = self._tail.session.messages
        dicts = ({"number": n, **record_dicts.message_to_dict(messages[n - 1])} for n in numbers)
        click.echo(b"".join(json_codec.encode(each) + b"\n" for each in dicts), nl=False)


def _runs(numbers: Sequence[int]) -> Iterator[range]:
    """Yield ranges of consecutive numbers."""
    if isinstance(numbers, range):
        yield numbers
        return
    start = end = 0
    for number in numbers:
        if number != end:
            if end:
                yield range(start, end)
            start = number
        end = number + 1
    if end:
        yield range(start, end)


def _late(session: Session, numbers: Sequence[int]) -> Iterator[PageBlock]:
    """Yield the stubs of tool calls again whose results are among the new messages.

    The calls were shown before without their results.
    """
    first = numbers[0]
    messages = session.messages
    answered = {messages[n - 1].tool_call_id for n in numbers if messages[n - 1].role == "tool"}
    answered.discard(None)
    for number in range(first - 1, 0, -1) if answered else ():
        calls = {id_of(data) for data in messages[number - 1].tool_calls or ()}
        if not answered.isdisjoint(calls):
            answered -= calls
            blocks = short(session, range(number, number + 1))
            yield from (block for block in blocks if block.role == "tool" and block.text)
        if not answered:
            return
