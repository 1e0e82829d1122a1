"""Why a search found nothing, as it is said to a person."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortext.catalog.row import name_of_tool
from cortext.cli.terminal_text import clean, say, to_edge
from cortext.cli.views.list_view import nothing_yet, short, short_id
from cortext.features.search.no_results import Nothing, why_nothing
from cortext.features.search.partial_matches import nearly, told
from cortext.features.search.results import Answer, Finder, Question

_IN_PART = "of what tools printed, only a part is searched"


def say_why(finder: Finder, question: Question) -> Answer:
    """Say it; what comes near, if anything does."""
    if not finder.rows:
        for line in ("nothing was found: there is no conversation yet", *nothing_yet()):
            say(line)
        return Answer([], more=False)
    why = why_nothing(finder, question)
    if not why.asked or why.excluded:
        _say_excluded(why)
    elif why.empty or why.elsewhere:
        _say_narrowed(why, question)
    else:
        found = nearly(finder, question)
        say(clean(told(found), lines=False) if found else "nothing was found")
        # What is not given up was found with another ending.
        _say_unknown([each for each in why.unknown if not found or each[0] in found.without])
        if found:
            return found.answer
        for row in why.titles:
            say(to_edge(f"did you mean {short_id(row)}: {row.title}", err=True))
    return Answer([], more=False)


def _say_unknown(words: Sequence[tuple[str, str]]) -> None:
    """Each with what may be meant; those for which there is nothing, together."""
    for word, other in words:
        if other:
            say(f'"{clean(word)}" was not found anywhere; did you mean "{clean(other)}"?')
    lost = [f'"{clean(word, lines=False)}"' for word, other in words if not other]
    if lost:
        was = "was" if len(lost) == 1 else "were"
        say(f"{', '.join(lost)} {was} not found anywhere ({_IN_PART})")


def _say_excluded(why: Nothing) -> None:
    words = clean(", ".join(why.excluded), lines=False)
    if why.asked:
        say(f"nothing was found: all messages with these words have what you exclude too: {words}")
        say(f'hint: a minus excludes; in quotes of its own, "-{words}" is looked for')
    elif words:
        say(f"there is no word to look for: {words} is only excluded")
    else:
        say("there is no word to look for")


def _say_narrowed(why: Nothing, question: Question) -> None:
    if why.empty:
        for option in why.empty:
            given = _given(option, question)
            say(f"nothing was found: with {given} there is no conversation at all")
    elif why.narrowed:
        options = " or without ".join(_given(option, question) for option in why.narrowed)
        say(f"nothing was found; without {options} there is something")
    else:
        say("nothing was found with these options together; without them there is something")


def _given(option: str, question: Question) -> str:
    """An option as it was given, where that can be told."""
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
