"""The answer to an agent whose search finds nothing.

It contains the reason, and words or titles that the agent may have meant. All of these come from
conversations that the agent may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.features.search.no_results import NoResultsReason, explain_no_results
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.mcp.tool_answers import short

_ARGUMENTS = {"--type": "type", "--since": "date_range", "--until": "date_range"}
_NOTHING_FOUND = "Nothing was found."
_MOST_WORDS, _LONGEST_WORD = 3, 30
"""How many excluded words the answer repeats, and how many characters of each."""


class NoMatches(NamedTuple):
    """The explanation of a search without results.

    `first` is a sentence with the reason. `words` are words in conversations that are similar to
    words of the query. If there are no such words, `titles` are conversations whose titles are
    similar to the query. `narrowed` are the names of the arguments without which the search would
    find something.
    """

    first: str
    words: Sequence[str] = ()
    titles: Sequence[ConversationRow] = ()
    narrowed: Sequence[str] = ()


def explain(finder: Finder, question: SearchRequest) -> NoMatches:
    """Explain why a search found nothing, and find similar words and titles.

    `finder` contains the conversations that the agent may see. `question` is the search.
    """
    why = explain_no_results(finder, question)
    if not why.asked or why.excluded:
        return NoMatches(_explain_exclusion(why))
    if why.empty or why.elsewhere:
        return _explain_filters(why)
    words = [*dict.fromkeys(word for _, word in why.unknown if word)]
    return NoMatches(_NOTHING_FOUND, words=words, titles=() if words else why.titles)


def _explain_exclusion(why: NoResultsReason) -> str:
    words = ", ".join(short(word, _LONGEST_WORD) for word in why.excluded[:_MOST_WORDS])
    if left := len(why.excluded[_MOST_WORDS:]):
        words += f" and {left} more"
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
