"""Functions that find the conversation that a query names, and ask the user if several match."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cortext import paths
from cortext.catalog.fulltext.spelling_suggestions import unknown
from cortext.catalog.lookup import OFFERED, is_number, misspelt, nearest, with_words
from cortext.catalog.row import ConversationRow
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import can_ask, cells, clean, fit, one_line, say, to_edge
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.list_view import brief_ids, keep_up, say_missing, say_paused, short, short_id
from cortext.clock import ago
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.listing.conversation_names import Names
from cortext.features.manage.edit_conversation import ours
from cortext.formats.text_search.search_query import parse

_SHOWN = 20
_NARROWEST = 20


def choose(
    query: str,
    *,
    everywhere: bool = False,
    forgiving: bool = False,
    origins: bool = True,
    wanted: ListFilter = EVERYTHING,
) -> ConversationRow:
    """Return the conversation that a query names by its id, its number in a list or its title.

    If several match, ask the user; without a terminal, raise AmbiguousIdError. If none matches,
    raise SessionNotFoundError.

    With `forgiving`, words of the messages or a misspelt title also match, and a note about that is
    printed. Use `forgiving` only if a wrong guess does no harm. If `origins` is False and the query
    is the id of a tool session that became a conversation, raise CortextError: the query may mean
    either of them. `wanted` filters the conversations.
    """
    if not query.strip():
        raise click.UsageError("say which conversation: its id, or words of its title")
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    bar = ProgressBar("reading conversations")
    try:
        found, searched = conversations.find(query, wanted), None
        if not found and forgiving and not is_number(query):
            from cortext.features.search.find_conversation import find_by_text

            found, searched = find_by_text(conversations, query, bar.progress)
    finally:
        bar.clear()
    keep_up(conversations)
    if searched:
        _say_searched(found, *searched)
    if not found and forgiving:
        found = _misspelt(query, conversations, wanted)
    if not found:
        for root in conversations.missing:
            say_missing(root)
        _say_nearest(query, conversations, _say_other_words(query) if forgiving else {})
        raise _not_found(query)
    if conversations.origin and len(found) == 1 and not origins:
        raise _is_another(conversations.origin, found[0])
    row = found[0] if len(found) == 1 else ask(found, query)
    say_paused(
        conversations, [each for each in conversations.idle if each.identity == row.identity]
    )
    return row


def _is_another(origin: str, row: ConversationRow) -> CortextError:
    return CortextError(
        f"{origin} is kept as the conversation {row.key} by now, and there are both",
        hint=f"`cortext delete {row.key}` deletes the conversation; lists have {origin} again then",
    )


def _not_found(query: str) -> SessionNotFoundError:
    error = SessionNotFoundError(query)
    error.hint = "`cortext list --all` shows all that there are"
    if query.strip().isdecimal():
        error.hint = "a number is one of the last list in the same terminal; " + error.hint
    return error


def _say_searched(found: Sequence[ConversationRow], looked: int, of: int) -> None:
    if found:
        which = f"{short_id(found[0])}: {found[0].title}" if len(found) == 1 else "these"
        line = one_line(f"nothing is called that; the words were said in {which}")
        click.echo(to_edge(line, err=True), err=True)
    if looked < of:
        click.echo(f"{of - looked} of {of} were not looked through", err=True)


def choose_ours(query: str) -> ConversationRow:
    """Return the conversation that a query names, so that the caller can change it.

    If the query names a session of a tool or a program, make a conversation of that session and
    print a note.
    """
    row = choose(query)
    if not row.tool:
        return row

    made = ours(row)
    where = "" if made.workspace == paths.workspace_root() else f" in {short(made.workspace)}"
    click.echo(one_line(f"{row.key} is kept as {made.key}{where} from now on"), err=True)
    return made


def choose_active(words: tuple[str, ...]) -> ConversationRow:
    """Return the conversation that the words name; without words, the active conversation.

    This is the conversation of the tool session in which this process runs, or the only active
    conversation. If several are active, ask the user. Raises CortextError if none is active.
    """
    if words:
        return choose(" ".join(words))

    from cortext.features.capture.current_session import conversation_of_session

    conversations = ConversationList(paths.workspace_root())
    bound = conversation_of_session(conversations.root)
    if bound is not None:
        return bound
    active = conversations.active()
    if len(active) == 1:
        return active[0]
    if active:
        return ask(active)
    raise CortextError(
        "no conversation is active", hint="name one: `cortext resume --list` shows them"
    )


def ask(rows: Sequence[ConversationRow], query: str = "") -> ConversationRow:
    """Ask the user to choose a row, by its number or by words that only one row has.

    Exit with 1 if the user declines. Raises AmbiguousIdError if there is no terminal to ask on.
    """
    if not can_ask():
        raise _several(rows, query)
    shown = rows[:_SHOWN]
    for number, (row, name) in enumerate(zip(shown, brief_ids(shown), strict=True), 1):
        click.echo(_to_choose(number, row, name), err=True)
    if len(rows) > _SHOWN:
        click.echo(f"     and {len(rows) - _SHOWN} more", err=True)
    answer = click.prompt("which one? (number, words to filter, q to leave)", err=True).strip()
    if answer == "q":
        click.echo("nothing was done", err=True)
        raise click.exceptions.Exit(1)
    numeric = len(answer) < 7 and answer.isascii() and answer.isdecimal()
    if numeric and 0 < int(answer) <= len(rows):
        return rows[int(answer) - 1]
    words = answer.casefold().split()
    left = [row for row in rows if all(word in _text(row) for word in words)]
    if len(left) == 1:
        return left[0]
    if not left:
        why = f"there are {len(rows)}" if numeric else f"none of them has {answer!r}"
        click.echo(why, err=True)
    return ask(left or rows, query)


def _several(rows: Sequence[ConversationRow], query: str) -> AmbiguousIdError:
    """Print the matching rows with their ids, and return the AmbiguousIdError to raise."""
    names = Names(rows)
    for row in rows[:_SHOWN]:
        click.echo(one_line(f"{names.of(row)}  {_told(row)}"), err=True)
    error = AmbiguousIdError(query, [names.of(row) for row in rows])
    # The ids are already printed, so the error does not repeat them.
    what = f"match {query}" if query else "are active"
    if not query and any(row.status != "active" for row in rows):
        what = "may be meant"
    error.args = (f"{counted(len(rows), 'conversation')} {what}",)
    return error


def _to_choose(number: int, row: ConversationRow, name: str) -> str:
    """Return the line of one row in a numbered choice.

    A long title is cut to leave room for the tool, age, status and id.
    """
    import shutil

    facts = f"  ({', '.join([*_facts(row), name])})"
    room = shutil.get_terminal_size().columns - cells(facts) - len("123. ")
    title = one_line(row.title)
    title = title if cells(title) <= room else fit(title, max(room, _NARROWEST))
    return to_edge(f"{number:3}. {title}{one_line(facts)}", err=True)


def describe(row: ConversationRow) -> str:
    """Return a conversation on one line: its id, tool, age, status, type and title."""
    return one_line(f"{short_id(row)}  {_told(row)}")


def _told(row: ConversationRow) -> str:
    return f"({', '.join(_facts(row))}) [{row.kind or 'chat'}] {row.title}"


def _facts(row: ConversationRow) -> list[str]:
    return [*row.tool_names, ago(row.last_active), row.status or "no session"]


def _text(row: ConversationRow) -> str:
    return f"{row.key} {row.tool} {row.tool_name} {row.kind} {row.title} {row.summary}".casefold()


def _misspelt(
    query: str, conversations: ConversationList, wanted: ListFilter
) -> list[ConversationRow]:
    """Return the conversations whose titles are similar to the query.

    Print that these titles are only similar.
    """
    found: list[ConversationRow] = []
    for everywhere in dict.fromkeys((conversations.everywhere, True)):
        found = found or misspelt(query, conversations.list(wanted, everywhere=everywhere).rows)
    if found:
        which = f"taking it for {found[0].key}: {found[0].title}"
        which = which if len(found) == 1 else "these titles are similar"
        click.echo(one_line(f"nothing is called that; {which}"), err=True)
    return found


def _say_other_words(query: str) -> dict[str, str]:
    """Print "did you mean" for each word of the query that occurs in no text.

    Return the similar words, by the unknown word.
    """
    tokens = [token for term in parse(query).terms for token in term.tokens]
    instead = {word: near for word, near in unknown(tokens).items() if near}
    for word, near in instead.items():
        say(f'"{clean(word)}" was not found anywhere; did you mean "{clean(near)}"?')
    return instead


def _say_nearest(query: str, conversations: ConversationList, instead: dict[str, str]) -> None:
    """Print "did you mean" with conversations that the user may have meant.

    `instead` maps unknown words of the query to similar words. Titles with the similar words come
    first, otherwise titles that are similar to the query.
    """
    here, found = conversations.list().rows, list[ConversationRow]()
    if instead:
        meant = " ".join(instead.get(word, word) for word in query.casefold().split())
        everywhere = conversations.list(everywhere=True).rows
        found = with_words(meant, here) or with_words(meant, everywhere)
    one_word = bool(instead) and len(query.split()) == 1
    for row in found[:OFFERED] if found or one_word else nearest(query, here):
        line = one_line(f"did you mean {short_id(row)}: {row.title}")
        click.echo(to_edge(line if line.endswith("?") else f"{line}?", err=True), err=True)
