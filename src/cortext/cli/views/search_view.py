"""A search as `cortext search` runs it: index new messages, print hits, or explain an empty result.

This module parses no options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from cortext.catalog.row import name_of_tool
from cortext.cli.progress import ProgressBar
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import clean, say, say_damaged, show, to_edge
from cortext.cli.views.list_view import (
    keep_up,
    nothing_yet,
    say_missing,
    short,
    short_id,
    where_it_is,
)
from cortext.cli.views.pager import can_page, encodable, is_long, page_through
from cortext.cli.views.search_hits import HitPage
from cortext.clock import from_micros
from cortext.features.listing.conversation_names import Names, reopens
from cortext.features.search.no_results import NoResultsReason, explain_no_results
from cortext.features.search.partial_matches import find_partial_matches, told
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.formats.text_search.search_query import parse
from cortext.model import json_codec, record_dicts

_IN_PART = "of what tools printed, only a part is searched"


def search(
    question: SearchRequest,
    finder: Finder | None = None,
    *,
    as_json: bool = False,
    paged: bool = True,
) -> int:
    """Search, print the hits, and return the exit code.

    The code is 0 if a text matches the query, and 1 otherwise, as with `grep`. Partial matches give
    1. `finder` is an open finder or None. With `paged`, long output goes to a pager.
    """
    finder = finder or look()
    answer = finder.answer(question)
    found = bool(answer.groups)
    if as_json:
        _show_json(finder, answer, question)
    elif found:
        _show(finder, answer, question, paged=paged)
    if not found:
        answer = _nothing(finder, question, as_json=as_json, paged=paged)
    _say_dropped(question)
    _say_loose(answer.exact)
    if answer.more:
        say(f"there is more: -n {2 * question.most} shows it")
    keep_up(finder.conversations)
    finder.close()
    return 0 if found else 1


def _nothing(finder: Finder, question: SearchRequest, *, as_json: bool, paged: bool) -> SearchPage:
    """Print why nothing was found.

    Also print partial matches, unless `as_json`, and return them.
    """
    near = say_why(finder, question)
    # A missing or unreadable conversation may contain the words.
    say_damaged(finder.conversations.damaged)
    for root in finder.missing:
        say_missing(root)
    if as_json or not near.groups:
        return SearchPage([], more=False)
    _show(finder, near, question, paged=paged)
    return near


def _say_loose(exact: Sequence[bool]) -> None:
    """Print how many hits lack the punctuation of the query. `exact` has a flag for each hit."""
    if count := exact.count(False):
        which = "1 of these has" if count == 1 else f"{count} of these have"
        which = which if any(exact) else "these have"
        say(f"{which} the words, but not the signs with them")


def _say_dropped(question: SearchRequest) -> None:
    query = parse(question.text)
    if query.cut:
        say("of so long a question only the first words were looked for: 40, or 2,000 characters")
    for term in query.dropped if query else ():
        say(f'NOT "{clean(" ".join(term.tokens))}" is left out: it stands alone, beside OR')


def look() -> Finder:
    """Return a finder that searches all conversations, after it has indexed new messages."""
    finder, bar = Finder(), ProgressBar("reading conversations")
    try:
        new = finder.refresh(progress=bar.progress)
    finally:
        bar.clear()
    if new.left:
        what = "1 conversation is" if new.left == 1 else f"{new.left:,} conversations are"
        why = f": {clean(new.why, lines=False)}" if new.why else "; the next search has more"
        say(f"{what} not read yet{why}")
    return finder


def typed(words: Sequence[str]) -> str:
    """Return the words of a command line as one search query.

    The shell has removed quotes, so a word with spaces gets quotes again. A single word is the
    whole query and stays unchanged.
    """
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _show(finder: Finder, answer: SearchPage, question: SearchRequest, *, paged: bool) -> None:
    page = HitPage(finder.rows, question)
    lines: list[str] = []
    for number, group in enumerate(answer.groups, 1):
        lines += [""] if number > 1 else []
        lines += page.lines(number, group)
    if sys.stdout.isatty():
        finder.conversations.remember_shown([group.row for group in answer.groups])
        if paged and _paged(lines):
            return
    for line in lines:
        show(line)


def _paged(lines: list[str]) -> bool:
    """Show the lines in a pager if they do not fit on the screen.

    Return whether they were shown.
    """
    if not (is_long(len(lines)) and sys.stdin.isatty() and can_page()):
        return False
    page_through(map(encodable, lines))
    return True


def _show_json(finder: Finder, answer: SearchPage, question: SearchRequest) -> None:
    hits = [hit for group in answer.groups for hit in group.hits]
    if not question.best:
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
        **where_it_is(row),
        "message": hit.number if hit.number > 0 else None,
        "role": hit.role,
        "timestamp": record_dicts.iso(from_micros(hit.time)) if hit.time else None,
        "exact": hit.exact,
        "text": hit.snippet.text,
        "matches": [list(span) for span in hit.snippet.spans],
        "resume": reopens(row, name, quoted),
    }


def say_why(finder: Finder, question: SearchRequest) -> SearchPage:
    """Print why a search found nothing. Return partial matches, or an empty page."""
    if not finder.rows:
        for line in ("nothing was found: there is no conversation yet", *nothing_yet()):
            say(line)
        return SearchPage([], more=False)
    why = explain_no_results(finder, question)
    if not why.asked or why.excluded:
        _say_excluded(why)
    elif why.empty or why.elsewhere:
        _say_narrowed(why, question)
    else:
        found = find_partial_matches(finder, question)
        say(clean(told(found), lines=False) if found else "nothing was found")
        # A word that was not given up was found with another ending.
        _say_unknown([each for each in why.unknown if not found or each[0] in found.without])
        if found:
            return found.answer
        for row in why.titles:
            say(to_edge(f"did you mean {short_id(row)}: {row.title}", err=True))
    return SearchPage([], more=False)


def _say_unknown(words: Sequence[tuple[str, str]]) -> None:
    """Print the words that occur in no text.

    `words` pairs each of them with a similar word for "did you mean", or with "".
    """
    for word, other in words:
        if other:
            say(f'"{clean(word)}" was not found anywhere; did you mean "{clean(other)}"?')
    lost = [f'"{clean(word, lines=False)}"' for word, other in words if not other]
    if lost:
        was = "was" if len(lost) == 1 else "were"
        say(f"{', '.join(lost)} {was} not found anywhere ({_IN_PART})")


def _say_excluded(why: NoResultsReason) -> None:
    words = clean(", ".join(why.excluded), lines=False)
    if why.asked:
        say(f"nothing was found: all messages with these words have what you exclude too: {words}")
        say(f'hint: a minus excludes; in quotes of its own, "-{words}" is looked for')
    elif words:
        say(f"there is no word to look for: {words} is only excluded")
    else:
        say("there is no word to look for")


def _say_narrowed(why: NoResultsReason, question: SearchRequest) -> None:
    if why.empty:
        for option in why.empty:
            given = _given(option, question)
            say(f"nothing was found: with {given} there is no conversation at all")
    elif why.narrowed:
        options = " or without ".join(_given(option, question) for option in why.narrowed)
        say(f"nothing was found; without {options} there is something")
    else:
        say("nothing was found with these options together; without them there is something")


def _given(option: str, question: SearchRequest) -> str:
    """Return a search option with the value that the user gave, if it has one."""
    wanted, narrow = question.wanted, question.narrow
    values = {
        "--tool": name_of_tool(wanted.tool or ""),
        "--type": wanted.kind,
        "--status": wanted.status,
        "--tag": " --tag ".join(wanted.tags),
        "--owner": wanted.owner,
        "--role": narrow.role,
        "--in": short(narrow.folder),
    }
    value = clean(values.get(option) or "", lines=False)
    if option == "--in" and not os.path.isdir(narrow.folder):
        value += " (there is no such folder)"
    return f"{option} {value}".rstrip()
