"""Run a search for `cortext search`: index new messages, print hits, or explain an empty result."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from cortext.catalog.row import name_of_tool
from cortext.cli.progress import ProgressBar
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import clean, cut_to_terminal, say, say_damaged, show
from cortext.cli.views.list_view import (
    no_history_lines,
    paths_as_json,
    say_missing,
    short,
    short_id,
    update_in_background,
)
from cortext.cli.views.pager import can_page, encodable, is_long, page_through
from cortext.cli.views.search_hits import HitPage
from cortext.clock import from_micros
from cortext.features.listing.unique_conversation_names import Names, reopens
from cortext.features.search.name_or_text_lookup import FoundConversations
from cortext.features.search.no_results import NoResultsReason, explain_no_results
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.formats.text_search.search_query import parse
from cortext.model import json_codec, message_dicts


def search(
    question: SearchRequest,
    finder: Finder | None = None,
    *,
    as_json: bool = False,
    paged: bool = True,
) -> int:
    """Search, print the hits (matching messages), and return the exit code.

    As with `grep`, the code is 0 if there is a hit, and 1 otherwise. Partial matches are not hits.
    `finder` is the object that searches. If it is None, the function `look` creates it. With
    `paged`, show long output in a pager.
    """
    finder = finder or look()
    bar = ProgressBar("searching tool output")
    question = replace(question, scan=replace(question.scan, progress=bar.progress))
    try:
        answer = finder.answer(question)
    finally:
        bar.clear()
    found = bool(answer.groups)
    if not found:
        answer = _explain_nothing(finder, question)
    say_difference(answer)
    if as_json:
        _show_json(finder, answer, question)
    elif answer.groups:
        _show(finder, answer, question, paged=paged)
    _say_dropped(question)
    _say_loose(answer.exact)
    _say_unscanned(answer)
    if answer.more:
        say(f"More results: add -n {2 * question.most}.")
    update_in_background(finder.conversations)
    finder.close()
    return 0 if found and not (answer.missing or answer.corrections) else 1


def say_difference(answer: SearchPage | FoundConversations) -> None:
    """Print how the results differ from the query: corrected words, and missing words."""
    for typed_word, used in answer.corrections.items():
        say(f'No conversation contains "{clean(typed_word)}". Showing results for "{clean(used)}".')
    if not answer.missing:
        return
    words = clean(", ".join(answer.missing), lines=False)
    if words.startswith('"'):
        phrase, of_it = ("phrase", "it") if len(answer.missing) == 1 else ("phrases", "them")
        say(f"No message has the exact {phrase} {words}. The results have words of {of_it}.")
    else:
        say(f"No conversation has all words. Missing in the first result: {words}.")


def _explain_nothing(finder: Finder, request: SearchRequest) -> SearchPage:
    """Print why nothing was found, and return the closest results.

    Return an empty page if there are no such results.
    """
    closest = print_no_results(finder, request)
    # A missing or unreadable conversation may contain the words.
    say_damaged(finder.conversations.damaged)
    for root in finder.missing:
        say_missing(root)
    return closest


def _say_loose(exact: Sequence[bool]) -> None:
    """Print how many hits match only if punctuation is ignored.

    `exact` has a flag for each hit. The flag is False if the hit matches only without punctuation.
    """
    if count := exact.count(False):
        some = "1 result matches" if count == 1 else f"{count} results match"
        start = some if any(exact) else "No exact match. The results match"
        say(f"{start} only without the punctuation.")


def _say_unscanned(answer: SearchPage) -> None:
    """Print which transcripts were not searched completely."""
    for path in answer.too_large:
        say(f"Not searched, because it is too large: {clean(short(path), lines=False)}")
    if answer.left:
        what = "1 conversation" if answer.left == 1 else f"{answer.left:,} conversations"
        say(f"The tool output of {what} was not searched: it took too long.")


def _say_dropped(request: SearchRequest) -> None:
    query = parse(request.text)
    if query.cut:
        say("The query is too long. Only its first 40 words or 2,000 characters were used.")
    for term in query.dropped if query else ():
        say(f'NOT "{clean(" ".join(term.tokens))}" was ignored: it is alone next to OR.')


def look() -> Finder:
    """Index new messages, and return a finder that searches all conversations."""
    finder, bar = Finder(), ProgressBar("reading conversations")
    try:
        new = finder.refresh(progress=bar.progress)
    finally:
        bar.clear()
    if new.left:
        what = "1 conversation is" if new.left == 1 else f"{new.left:,} conversations are"
        why = f": {clean(new.why, lines=False)}" if new.why else ". The next search will have more"
        say(f"{what} not read yet{why}.")
    return finder


def typed(words: Sequence[str]) -> str:
    """Return the arguments of a command line as one search query.

    The shell has removed the user's quotes, so put an argument with spaces into quotes again. A
    single argument is the whole query; return it unchanged.
    """
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _show(finder: Finder, answer: SearchPage, request: SearchRequest, *, paged: bool) -> None:
    page = HitPage(finder.rows, request)
    lines: list[str] = []
    if not (sys.stdout.isatty() or request.only):
        # A program reads this, so each conversation is one line.
        for group in answer.groups:
            show(page.tab_line(group))
        return
    for number, group in enumerate(answer.groups, 1):
        lines += [""] if number > 1 else []
        lines += page.lines(number, group)
    if sys.stdout.isatty():
        finder.conversations.remember_shown([group.row for group in answer.groups])
        if paged and _show_in_pager(lines):
            return
    for line in lines:
        show(line)


def _show_in_pager(lines: list[str]) -> bool:
    """Show the lines in a pager if they do not fit on the screen.

    Return False if the pager was not used. The caller then prints the lines.
    """
    if not (is_long(len(lines)) and sys.stdin.isatty() and can_page()):
        return False
    page_through(map(encodable, lines))
    return True


def _show_json(finder: Finder, answer: SearchPage, request: SearchRequest) -> None:
    hits = [hit for group in answer.groups for hit in group.hits]
    if not request.best:
        hits.sort(key=lambda hit: hit.time, reverse=True)
    names = Names(finder.rows)
    show(json_codec.encode([_as_json(hit, names) for hit in hits]).decode())


def _as_json(hit: SearchHit, names: Names) -> dict[str, Any]:
    row, name = hit.row, names.of(hit.row)
    return {
        "id": name,
        "title": row.title,
        "type": row.kind,
        "tool": row.tool_name or None,
        "tools": row.tool_names,
        "status": row.status or None,
        "owner": row.owner or None,
        **paths_as_json(row),
        "message": hit.number if hit.number > 0 else None,
        "role": hit.role,
        "timestamp": message_dicts.iso(from_micros(hit.time)) if hit.time else None,
        "exact": hit.exact,
        "text": hit.snippet.text,
        "matches": [list(span) for span in hit.snippet.spans],
        "resume": reopens(row, name, quoted),
    }


def print_no_results(finder: Finder, question: SearchRequest) -> SearchPage:
    """Print why a search found nothing, and return the closest results.

    These are messages that have some of the words. If there are none, the returned page is empty.
    """
    if not finder.rows:
        for line in ("No results: there are no conversations yet.", *no_history_lines()):
            say(line)
        return SearchPage([], more=False)
    why = explain_no_results(finder, question)
    if not why.asked or why.excluded:
        _say_excluded(why)
    elif why.empty or why.elsewhere:
        _say_filtered(why, question)
    else:
        if not question.best:
            closest = finder.answer(replace(question, best=True))
            if closest.groups:
                say("No message contains all words. Showing the closest results.")
                return closest
        say("No results.")
        _say_unknown(why.unknown)
        for row in why.titles:
            say(cut_to_terminal(f"did you mean {short_id(row)}: {row.title}", err=True))
    return SearchPage([], more=False)


def _say_unknown(words: Sequence[tuple[str, str]]) -> None:
    """Print the query words that occur in no conversation.

    Each pair in `words` is such a word and a similar word for "did you mean". If there is no
    similar word, the second string is "".
    """
    for word, other in words:
        if other:
            say(f'"{clean(word)}" was not found anywhere; did you mean "{clean(other)}"?')
    unknown_words = [f'"{clean(word, lines=False)}"' for word, other in words if not other]
    if unknown_words:
        was = "was" if len(unknown_words) == 1 else "were"
        say(f"{', '.join(unknown_words)} {was} not found anywhere.")


def _say_excluded(why: NoResultsReason) -> None:
    words = clean(", ".join(why.excluded), lines=False)
    if why.asked:
        say(f"No results: every match contains an excluded word: {words}")
    elif words:
        say(f"The query only excludes words: {words}. Add a word to search for.")
    else:
        say("The query has no word to search for.")
        say("hint: give words of the conversation: `cortext search retry policy`")


def _say_filtered(why: NoResultsReason, request: SearchRequest) -> None:
    if why.empty:
        options = ", ".join(_format_option(option, request) for option in why.empty)
        any_of = "" if len(why.empty) == 1 else "any of these options: "
        say(f"No results: no conversation matches {any_of}{options}.")
    elif why.narrowed:
        options = " or without ".join(_format_option(option, request) for option in why.narrowed)
        say(f"No results. There are results without {options}.")
    else:
        say("No results with these options together. There are results without them.")


def _format_option(option: str, request: SearchRequest) -> str:
    """Return an option of a search with its value, such as `--tool claude`.

    `request` is the search, which has the value. If the option has no value, return it unchanged.
    """
    wanted, narrow = request.wanted, request.narrow
    values = {
        "--tool": name_of_tool(wanted.tool or ""),
        "--type": wanted.kind,
        "--status": wanted.status,
        "--tag": " --tag ".join(wanted.tags),
        "--owner": wanted.owner,
        "--branch": wanted.branch,
        "--role": narrow.role,
        "--in": short(narrow.folder),
    }
    value = clean(values.get(option) or "", lines=False)
    if option == "--in" and not os.path.isdir(narrow.folder):
        value += " (this folder does not exist)"
    return f"{option} {value}".rstrip()
