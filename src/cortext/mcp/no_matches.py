"""The answer to an agent whose search finds nothing.

It contains the reason, texts that match partly, and words or titles that the agent may have meant.
All of these come from conversations that the agent may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.features.search.no_results import NoResultsReason, explain_no_results
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.mcp.tool_answers import short

_ARGUMENTS = {"--type": "type", "--since": "date_range", "--until": "date_range"}
_NOTHING_FOUND = "Nothing was found."


class NoMatches(NamedTuple):
    """The explanation of a search without results.

    `first` is a sentence with the reason. `hits` are texts that match partly, and `without` are the
    words of the query that these texts lack. `words` are similar words that occur in conversations.
    If there are no such words, `titles` are conversations with a similar title. `narrowed` are the
    names of arguments that exclude all results: without them, the search would find something.
    """

    first: str
    hits: Sequence[SearchHit] = ()
    without: Sequence[str] = ()
    words: Sequence[str] = ()
    titles: Sequence[ConversationRow] = ()
    narrowed: Sequence[str] = ()


def near(finder: Finder, question: SearchRequest) -> NoMatches:
    """Explain why a search found nothing, and find partial matches and similar words.

    `finder` contains the conversations that the agent may see. `question` is the search.
    """
    why = explain_no_results(finder, question)
    if not why.asked or why.excluded:
        return NoMatches(_explain_exclusion(why))
    if why.empty or why.elsewhere:
        return _explain_filters(why)
    words = [*dict.fromkeys(word for _, word in why.unknown if word)]
    closest = finder.answer(replace(question, best=True))
    if not closest.groups:
        return NoMatches(_NOTHING_FOUND, words=words, titles=() if words else why.titles)
    hits = [hit for group in closest.groups for hit in group.hits]
    without = [short(word) for word in closest.missing]
    return NoMatches(
        f"{_NOTHING_FOUND} No message contains all these words; these texts are the closest.",
        hits[: question.most],
        without,
        words,
    )


def _explain_exclusion(why: NoResultsReason) -> str:
    words = ", ".join(map(short, why.excluded))
    if why.asked:
        return (
            f"{_NOTHING_FOUND} All texts with these words also contain an excluded word: {words}."
        )
    return f"The query has no word to search for{f', it only excludes {words}' if words else ''}."


def _explain_filters(why: NoResultsReason) -> NoMatches:
    given = [*dict.fromkeys(_ARGUMENTS[name] for name in (why.empty or why.narrowed))]
    names = " or ".join(f"`{name}`" for name in given)
    if why.empty:
        return NoMatches(f"{_NOTHING_FOUND} No conversation matches this {names}.")
    if not given:
        given = [*dict.fromkeys(_ARGUMENTS.values())]
        names = " and ".join(f"`{name}`" for name in given)
    return NoMatches(
        f"{_NOTHING_FOUND} Without {names}, the search finds something.", narrowed=given
    )
