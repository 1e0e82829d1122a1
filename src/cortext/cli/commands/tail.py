"""The command `cortext tail`: show new messages of a conversation as they are written."""

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
from cortext.cli.common_options import Number, all_option, json_option
from cortext.cli.conversation_choice import ask, choose
from cortext.cli.conversation_completion import complete_id
from cortext.cli.terminal_text import clean
from cortext.cli.views.conversation_render import ConversationPage, PageBlock, plain, rendered
from cortext.cli.views.list_view import update_in_background
from cortext.cli.views.session_blocks import facts, in_full, short
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.store_sessions import default_store
from cortext.features.watch.conversation_tail import ConversationTail
from cortext.features.watch.live_sources import LiveSource, open_live_source, open_stored_source
from cortext.formats.message_lines import Damage
from cortext.formats.tool_call_stubs import id_of
from cortext.model import json_codec, message_dicts
from cortext.model.session import Session

_CHECK_INTERVAL = 200
"""The time between two checks for new messages, in milliseconds."""


@click.command("tail")
@click.argument("query", nargs=-1, metavar="ID...", shell_complete=complete_id, required=True)
@all_option
@click.option(
    "-n",
    "last",
    type=Number(min=0),
    default=20,
    show_default=True,
    help="Start with the last N messages.",
)
@click.option("--no-follow", is_flag=True, help="Print these messages, and exit.")
@click.option(
    "--full/--stubs",
    default=None,
    help="Show tool calls in full, or shortened.  [default: shortened only in a terminal]",
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
    """Follow a conversation: print its last messages, then each new message.

    The command runs until Ctrl+C, or until the conversation is completed or deleted.

    ID names a conversation of a workspace, or a session of an AI tool or of `spawn`. It can be
    anything that `cortext show` accepts. With --json, each message is a JSON object on its own
    line.
    """
    source, row = _find(" ".join(query), everywhere)
    tail = ConversationTail(source)
    output = _TailOutput(tail, row, full=full, as_json=as_json)
    count = len(tail.session.messages)
    output.print_first(range(max(count - last, 0) + 1, count + 1))
    _warn(tail.damages)
    if not no_follow:
        _follow(tail, output)


def _find(words: str, everywhere: bool) -> tuple[LiveSource, ConversationRow | None]:
    """Find a conversation by its id or by words, in the same way as `cortext show`.

    Return two values: an object that reads the messages, and the row of the conversation. If the
    session was found only in a session store, the row is None. Raises CortextError if the
    conversation has no session.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    rows = conversations.find(words)
    update_in_background(conversations)
    for store in () if rows else (default_store(), f"log:{paths.spawn_sessions()}"):
        with suppress(InvalidIdError, SessionNotFoundError):
            return open_stored_source(store, words), None
    if not rows:
        rows = [choose(words, everywhere=everywhere, forgiving=True)]
    row = rows[0] if len(rows) == 1 else ask(rows, words)
    if not row.status:
        raise CortextError(
            f"{row.key} has no session to follow",
            hint=f"to show its markdown: `cortext show {row.key}`",
        )
    return open_live_source(row), row


def _follow(tail: ConversationTail, output: _TailOutput) -> None:
    end_reason, wait = tail.over, _make_wait()
    while not end_reason:
        wait()
        news = tail.news()
        if news is None:
            continue
        if news.note:
            click.echo(news.note, err=True)
        output.print_new(news.new)
        _warn(news.damages)
        end_reason = news.over
    click.echo(f"No more messages will follow: {end_reason}.", err=True)


def _make_wait() -> Callable[[], None]:
    """Return a function that sleeps until the next check for new messages.

    The function raises BrokenPipeError if stdout is a pipe and the program that reads it has ended.
    Without this error, `tail` would run until it prints the next message.
    """
    if not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
        return lambda: time.sleep(_CHECK_INTERVAL / 1000)
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)

    def wait() -> None:
        if poller.poll(_CHECK_INTERVAL):
            raise BrokenPipeError

    return wait


def _warn(damages: Sequence[Damage]) -> None:
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {clean(f'{where}: {damage.detail}', lines=False)}", err=True)


class _TailOutput:
    """The output of `tail`. It prints messages as they arrive, in the layout of `cortext show`.

    `full` says whether tool calls are printed in full. If it is None, tool calls are short on a
    terminal and full otherwise.
    """

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

    def print_first(self, numbers: range) -> None:
        """Print the title and facts of the conversation, and the messages with these numbers."""
        if self._as_json:
            self._print_json(numbers)
            return

        session, row = self._tail.session, self._row
        title = row.title if row else session.title
        key, status = (row.key, row.status) if row else (session.id, session.status)
        self._print(ConversationPage(title, facts(session, key, status), self._blocks(numbers)))

    def print_new(self, numbers: Sequence[int]) -> None:
        if self._as_json:
            self._print_json(numbers)
        elif numbers:
            answered = () if self._whole else _answered_calls(self._tail.session, numbers)
            self._print(
                ConversationPage("", (), chain(answered, self._blocks(numbers))), with_title=False
            )

    def _blocks(self, numbers: Sequence[int]) -> Iterator[PageBlock]:
        session = self._tail.session
        for run in _split_ranges(numbers):
            yield from in_full(session, run, alone=False) if self._whole else short(session, run)

    def _print(self, page: ConversationPage, *, with_title: bool = True) -> None:
        if self._rich:
            import shutil

            width = shutil.get_terminal_size().columns
            lines = rendered(page, width=width, colour=not os.environ.get("NO_COLOR"))
        else:
            lines = plain(page)
        encoding = sys.stdout.encoding or "utf-8"
        text = "\n".join(lines if with_title else islice(lines, 1, None))
        text = text.encode(encoding, "replace").decode(encoding)
        click.echo(text, color=True if self._rich else None)

    def _print_json(self, numbers: Sequence[int]) -> None:
        messages = self._tail.session.messages
        dicts = ({"number": n, **message_dicts.message_to_dict(messages[n - 1])} for n in numbers)
        click.echo(b"".join(json_codec.encode(each) + b"\n" for each in dicts), nl=False)


def _split_ranges(numbers: Sequence[int]) -> Iterator[range]:
    """Split sorted numbers into ranges of consecutive numbers."""
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


def _answered_calls(session: Session, numbers: Sequence[int]) -> Iterator[PageBlock]:
    """Yield short blocks for earlier tool calls whose results have just arrived.

    The calls were printed before, but without their results. `numbers` are the numbers of the
    messages that have just arrived.
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
