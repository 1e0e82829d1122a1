"""The answer to an agent whose search finds nothing.

It contains the reason, texts that match partly, and words or titles that the agent may have meant.
All of these come from conversations that the agent may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.features.search.no_results import NoResultsReason, explain_no_results
from cortext.features.search.partial_matches import find_partial_matches, told
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.mcp.tool_answers import short

_ARGUMENTS = {"--type": "type", "--since": "date_range", "--until": "date_range"}
_NOTHING = "Nothing was found."


class Near(NamedTuple):
    """The explanation of a search without results.

    `first` is a sentence with the reason. `hits` are texts that match partly, and `without` are the
    words that are missing in them. `words` are similar words that do occur. `titles` are
    conversations with a similar title, given only if there are no such words. `narrowed` are the
    arguments without which the search finds something.
    """

    first: str
    hits: Sequence[SearchHit] = ()
    without: Sequence[str] = ()
    words: Sequence[str] = ()
    titles: Sequence[ConversationRow] = ()
    narrowed: Sequence[str] = ()


def near(finder: Finder, question: SearchRequest) -> Near:
    """Explain why a search found nothing, and find partial matches and similar words.

    `finder` contains the conversations that the agent may see. `question` is the search.
    """
    why = explain_no_results(finder, question)
    if not why.asked or why.excluded:
        return Near(_excluded(why))
    if why.empty or why.elsewhere:
        return _narrowed(why)
    found, words = (
        find_partial_matches(finder, question),
        [*dict.fromkeys(w for _, w in why.unknown if w)],
    )
    if found is None:
        return Near(_NOTHING, words=words, titles=() if words else why.titles)
    hits = [hit for group in found.answer.groups for hit in group.hits]
    sentence = told(found)
    without = [short(word) for word in found.without]
    return Near(f"{_NOTHING} But {sentence}.", hits[: question.most], without, words)


def _excluded(why: NoResultsReason) -> str:
    words = ", ".join(map(short, why.excluded))
    if why.asked:
        return f"{_NOTHING} All texts with these words have what is excluded too: {words}."
    return f"There is no word to look for{f': {words} is only excluded' if words else ''}."


def _narrowed(why: NoResultsReason) -> Near:
    given = [*dict.fromkeys(_ARGUMENTS[name] for name in (why.empty or why.narrowed))]
    names = " or ".join(f"`{name}`" for name in given)
    if why.empty:
        return Near(f"{_NOTHING} With this {names} there is no conversation at all.")
    if not given:
        given = [*dict.fromkeys(_ARGUMENTS.values())]
        names = " and ".join(f"`{name}`" for name in given)
    return Near(f"{_NOTHING} Without {names} there is something.", narrowed=given)
