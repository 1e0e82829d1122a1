"""Why a search found nothing, as it is said to a person."""

from __future__ import annotations

import os

from cortext.app.hits import Answer, Finder, Question
from cortext.app.nearly import WITHOUT, Nearly, nearly
from cortext.app.nothing import Nothing, why_nothing
from cortext.cli.lists import nothing_yet, short, short_id
from cortext.cli.text import clean, say, to_edge

_HOW = {
    "loose": "no message has these words side by side; these have all of them",
    "without": "no message has all of these words",
    "apart": "no message has all of these words; these conversations have, in different messages",
    "some": "no message has all of these words; these have some of them",
}
_ENDINGS = "no message has all of these words; with other endings, these have"
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
        say(_how(found) if found else "nothing was found")
        for word, other in why.unknown:
            if found and word not in found.without:
                continue  # with another ending it was
            instead = f'; did you mean "{clean(other)}"?' if other else f" ({_IN_PART})"
            say(f'"{clean(word)}" was not found anywhere{instead}')
        if found:
            return found.answer
        for row in why.titles:
            say(to_edge(f"did you mean {short_id(row)}: {row.title}", err=True))
    return Answer([], more=False)


def _how(found: Nearly) -> str:
    words = clean(", ".join(found.without), lines=False)
    if found.how == WITHOUT and not words:
        return _ENDINGS
    return f"{_HOW[found.how]}{f'; without: {words}' if words else ''}"


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
        "--tool": wanted.tool,
        "--type": wanted.kind,
        "--status": wanted.status,
        "--tag": " --tag ".join(wanted.tags),
        "--role": narrow.role,
        "--in": short(narrow.folder),
    }
    value = clean(values.get(option) or "", lines=False)
    if option == "--in" and not os.path.isdir(narrow.folder):
        value += " (there is no such folder)"
    return f"{option} {value}".rstrip()
