"""A search as a person has it: what is new is read, what was found is shown, and where nothing was,
why. No option is parsed here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cortext.app.hits import Answer, Finder, Question
from cortext.app.search import Hit
from cortext.cli.lists import keep_up, short_id
from cortext.cli.text import clean, say, show, to_edge
from cortext.cli.waiting import Bar

if TYPE_CHECKING:
    from cortext.cli.hit_page import Names


def search(question: Question, finder: Finder | None = None, *, as_json: bool = False) -> int:
    """Find it and show it; 1 if there is nothing, as `grep` has it."""
    finder = finder or look()
    answer = finder.answer(question)
    if as_json:
        _show_json(finder, answer, question)
    elif answer.groups:
        _show(finder, answer, question)
    if not answer.groups:
        _say_nothing(finder, question)
    if answer.more:
        say(f"there is more: -n {2 * question.most} shows it")
    keep_up(finder.conversations)
    return 0 if answer.groups else 1


def look() -> Finder:
    """All that can be searched, with what is new in it."""
    finder, bar = Finder(), Bar("reading conversations")
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
    """The question that words of a command line are: the shell has taken the quotes of a phrase.
    What stands alone is a question as it is."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _show(finder: Finder, answer: Answer, question: Question) -> None:
    from cortext.cli.hit_page import HitPage

    page = HitPage(finder.rows, question)
    for number, group in enumerate(answer.groups, 1):
        if number > 1:
            show("")
        for line in page.lines(number, group):
            show(line)
    if sys.stdout.isatty():
        finder.conversations.remember_shown([group.row for group in answer.groups])


def _show_json(finder: Finder, answer: Answer, question: Question) -> None:
    from cortext.cli.hit_page import Names
    from cortext.model import json

    hits = [hit for group in answer.groups for hit in group.hits]
    if not question.best:
        hits.sort(key=lambda hit: hit.time, reverse=True)
    names = Names(finder.rows)
    show(json.encode([_as_json(hit, names) for hit in hits]).decode())


def _as_json(hit: Hit, names: Names) -> dict[str, Any]:
    from cortext.cli.hit_page import reopens
    from cortext.clock import from_micros
    from cortext.model import wire

    row = hit.row
    return {
        "id": row.key,
        "title": row.title,
        "type": row.kind,
        "tool": row.tool or None,
        "tools": sorted(row.tools),
        "status": row.status or None,
        "folder": row.had_in or row.cwd or None,
        "path": row.path if row.tool else row.place.folder,
        "message": hit.number if hit.number > 0 else None,
        "role": hit.role,
        "timestamp": wire.iso(from_micros(hit.time)) if hit.time else None,
        "text": hit.snippet.text,
        "matches": [list(span) for span in hit.snippet.spans],
        "resume": reopens(row, names),
    }


def _say_nothing(finder: Finder, question: Question) -> None:
    from cortext.app.nothing import why_nothing

    why = why_nothing(finder, question)
    if not why.asked:
        say("there is no word in that: signs alone cannot be found")
        return
    if why.elsewhere:
        say("nothing was found with these options; without them there is something")
        return
    say("nothing was found")
    for word, near in why.unknown:
        instead = f'; did you mean "{clean(near)}"?' if near else ""
        say(f'"{clean(word)}" was never said{instead}')
    if why.apart:
        say("each of these words was said, but not all in one message: OR between them finds them")
    for row in why.titles:
        say(to_edge(f"did you mean {short_id(row)}: {row.title}", err=True))
