"""Find the conversation that a query names, and ask the user if several match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cortext import paths
from cortext.catalog.lookup import is_number, misspelt, nearest
from cortext.catalog.row import ConversationRow
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import can_ask, cells, clean, cut_to_terminal, fit, one_line
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.list_view import (
    brief_ids,
    say_missing,
    say_paused,
    short_id,
    update_in_background,
)
from cortext.clock import ago
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.listing.unique_conversation_names import Names

if TYPE_CHECKING:
    from cortext.features.search.name_or_text_lookup import FoundConversations

_DECLINES = ("q", "quit", "n", "no")
_MAX_SHOWN = 20
_MIN_TITLE = 20


def choose(
    query: str,
    *,
    everywhere: bool = False,
    forgiving: bool = False,
    origins: bool = True,
    wanted: ListFilter = EVERYTHING,
    pause: bool = True,
) -> ConversationRow:
    """Return the conversation that a query names.

    If several conversations match, ask the user to choose.

    Args:
        query: An id, a number in the last printed list, or words of a title.
        everywhere: Whether to include the conversations of all workspaces.
        forgiving: Whether a misspelt title or words of the messages may match. Use this only if a
            wrong guess does no harm.
        origins: Whether the id of an imported tool session may name the conversation that was
            imported from it. If this is False, such an id is an error, because the user may mean
            the session or the conversation.
        wanted: The filter for the conversations.
        pause: Whether to mark the returned conversation as paused if it is idle.

    Raises:
        SessionNotFoundError: No conversation matches.
        AmbiguousIdError: Several conversations match, and there is no terminal to ask on.
        CortextError: The query is the id of an imported session, and `origins` is False.
        UsageError: The query is empty.
    """
    if not query.strip():
        raise click.UsageError("Name a conversation by its id or by words of its title.")
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    bar = ProgressBar("reading conversations")
    try:
        found, texts = conversations.find(query, wanted), None
        if not found and forgiving and not is_number(query):
            from cortext.features.search.name_or_text_lookup import find_by_text

            texts = find_by_text(conversations, query, bar.progress)
            found = () if texts.is_closest else texts.rows
    finally:
        bar.clear()
    update_in_background(conversations)
    if texts and texts.searched:
        _say_searched(found, *texts.searched)
    if not found and forgiving:
        found = _find_similar_titles(query, conversations, wanted)
    if not found and texts and texts.rows:
        return _ask_closest(texts, query)
    if not found:
        for root in conversations.missing:
            say_missing(root)
        _say_nearest(query, conversations)
        raise _not_found_error(query)
    if conversations.origin and len(found) == 1 and not origins:
        raise _imported_error(conversations.origin, found[0])
    row = found[0] if len(found) == 1 else ask(found, query)
    if pause:
        say_paused(
            conversations, [each for each in conversations.idle if each.identity == row.identity]
        )
    return row


def _ask_closest(found: FoundConversations, query: str) -> ConversationRow:
    """Ask the user to choose one of the conversations that match the query only partly.

    Return the chosen conversation. Raises SessionNotFoundError if there is no terminal to ask on.
    """
    from cortext.cli.views.search_output import say_difference

    say_difference(found)
    if can_ask():
        return ask(found.rows, query)
    _print_candidates(found.rows)
    error = SessionNotFoundError(query, noun="conversation")
    error.hint = "name one of the closest conversations above by its id"
    raise error


def _imported_error(origin: str, row: ConversationRow) -> CortextError:
    return CortextError(
        f"the session {origin} was imported as the conversation {row.key}; both exist",
        hint=f"`cortext delete {row.key}` deletes the conversation; lists then show {origin} again",
    )


def _not_found_error(query: str) -> SessionNotFoundError:
    error = SessionNotFoundError(query, noun="conversation")
    error.hint = "`cortext list --all` shows all conversations"
    if query.strip().isdecimal():
        error.hint = "a number refers to the last list in the same terminal; " + error.hint
    return error


def _say_searched(found: Sequence[ConversationRow], searched: int, total: int) -> None:
    if found:
        several = "these conversations:"
        which = f"{short_id(found[0])}: {found[0].title}" if len(found) == 1 else several
        line = one_line(f"No title matches; found in the text of {which}")
        click.echo(cut_to_terminal(line, err=True), err=True)
    if searched < total:
        click.echo(f"{total - searched} of {total} conversations were not searched.", err=True)


def choose_active(words: tuple[str, ...]) -> ConversationRow:
    """Return the conversation with the id or title `words`.

    Without words, return the active conversation. If this process runs inside a tool session, this
    is the conversation of that session. Otherwise, if several conversations are active, ask the
    user to choose. Raises CortextError if no conversation is active.
    """
    if words:
        return choose(" ".join(words))

    from cortext.features.capture.current_conversation import conversation_of_session

    conversations = ConversationList(paths.workspace_root())
    current = conversation_of_session(conversations.root)
    if current is not None:
        return current
    active = conversations.active()
    if len(active) == 1:
        return active[0]
    if active:
        return ask(active)
    raise CortextError(
        "no conversation is active in this folder",
        hint="name a conversation; `cortext resume --list` shows their ids",
    )


def ask(rows: Sequence[ConversationRow], query: str = "") -> ConversationRow:
    """Ask the user to choose one of several conversations, and return it.

    The user types the number of a conversation, or words that only one conversation has. `query` is
    the text that matched all of `rows`. Exit with code 1 if the user types `q`, `n` or `no`. Raises
    AmbiguousIdError if there is no terminal.
    """
    if not can_ask():
        raise _ambiguous_error(rows, query)
    shown = rows[:_MAX_SHOWN]
    for number, (row, name) in enumerate(zip(shown, brief_ids(shown), strict=True), 1):
        click.echo(_choice_line(number, row, name), err=True)
    if len(rows) > _MAX_SHOWN:
        click.echo(f"     and {len(rows) - _MAX_SHOWN} more", err=True)
    answer = click.prompt(
        "Which conversation? (number, or words of the title; q to quit)", err=True
    ).strip()
    if answer.casefold() in _DECLINES:
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)
    numeric = len(answer) < 7 and answer.isascii() and answer.isdecimal()
    if numeric and 0 < int(answer) <= len(rows):
        return rows[int(answer) - 1]
    words = answer.casefold().split()
    left = [row for row in rows if all(word in _searchable_text(row) for word in words)]
    if len(left) == 1:
        return left[0]
    if not left:
        why = f"Choose a number from 1 to {len(rows)}." if numeric else f"No match for {answer!r}."
        click.echo(why, err=True)
    return ask(left or rows, query)


def _ambiguous_error(rows: Sequence[ConversationRow], query: str) -> AmbiguousIdError:
    """Print the matching conversations with their ids, and return the error to raise."""
    names = _print_candidates(rows)
    error = AmbiguousIdError(query, [names.of(row) for row in rows])
    # The ids are already printed, so the error does not repeat them.
    what = f"match {query}" if query else "are active"
    if not query and any(row.status != "active" for row in rows):
        what = "are possible"
    error.args = (f"{counted(len(rows), 'conversation')} {what}",)
    example = clean(brief_ids(rows)[0], lines=False)
    error.hint = f"type more of an id, for example `{example}`, or more words of the title"
    return error


def _print_candidates(rows: Sequence[ConversationRow]) -> Names:
    """Print the first `_MAX_SHOWN` conversations with their ids. Return the ids of all `rows`."""
    names = Names(rows)
    for row in rows[:_MAX_SHOWN]:
        click.echo(one_line(f"{names.of(row)}  {_facts_and_title(row)}"), err=True)
    return names


def _choice_line(number: int, row: ConversationRow, name: str) -> str:
    """Return the line that shows a conversation in a numbered list of choices.

    `name` is the id to show. A long title is cut to leave room for the tool, age, status and id.
    """
    import shutil

    facts = f"  ({', '.join([*_facts(row), name])})"
    room = shutil.get_terminal_size().columns - cells(facts) - len("123. ")
    title = one_line(row.title)
    title = title if cells(title) <= room else fit(title, max(room, _MIN_TITLE))
    return cut_to_terminal(f"{number:3}. {title}{one_line(facts)}", err=True)


def describe(row: ConversationRow) -> str:
    """Return a conversation on one line: its id, tool, age, status, type and title."""
    return one_line(f"{short_id(row)}  {_facts_and_title(row)}")


def _facts_and_title(row: ConversationRow) -> str:
    return f"({', '.join(_facts(row))}) [{row.kind or 'chat'}] {row.title}"


def _facts(row: ConversationRow) -> list[str]:
    return [*row.tool_names, ago(row.last_active), row.status or "no session"]


def _searchable_text(row: ConversationRow) -> str:
    return f"{row.key} {row.tool} {row.tool_name} {row.kind} {row.title} {row.summary}".casefold()


def _find_similar_titles(
    query: str, conversations: ConversationList, wanted: ListFilter
) -> list[ConversationRow]:
    """Return the conversations whose titles are similar to the query.

    If there are any, also print a note about them.
    """
    similar: list[ConversationRow] = []
    for everywhere in dict.fromkeys((conversations.everywhere, True)):
        similar = similar or misspelt(query, conversations.list(wanted, everywhere=everywhere).rows)
    if similar:
        which = f"using the most similar title, {similar[0].key}: {similar[0].title}"
        which = which if len(similar) == 1 else "these titles are similar:"
        click.echo(one_line(f"No title matches; {which}"), err=True)
    return similar


def _say_nearest(query: str, conversations: ConversationList) -> None:
    """Print "did you mean" with the conversations whose titles resemble the query."""
    for row in nearest(query, conversations.list().rows):
        line = one_line(f"did you mean {short_id(row)}: {row.title}")
        click.echo(cut_to_terminal(line if line.endswith("?") else f"{line}?", err=True), err=True)
