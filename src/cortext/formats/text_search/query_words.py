"""The content words of a query: the words that describe its topic.

People search with questions and sentences. Words such as "the" and "did" are in nearly every text,
so they are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortext.formats.text_search.search_query import Query, Term, tokens_of
from cortext.formats.text_search.text_folding import is_one_character_word, split_identifiers

_MOST_WORDS = 16
"""The maximum number of words of a query that are compared. Further words are ignored."""
_LONGEST_SHOWN = 80
"""The maximum number of characters of a typed word that are repeated to the user."""
_COMMON_TEXT = """
a about all also am an and any are as at be been but by can could did do does done for from
get gets getting go goes going got had has have he her here him his how i if in into is it its just
know let like made make makes making me might my need needed needs no not of off on one or our out
please put remember said say see she should so some something tell than that the their them then
there these they thing things think this those to up us use used uses using want wanted wants was
way we were what when where which who whom whose why will with would you your
"""
_COMMON_WORDS = frozenset(_COMMON_TEXT.split())
"""Common words that say little about the topic of a query."""


def content_words(query: Query) -> list[str]:
    """Return the words of a query in lower case, without common words and without repetitions.

    - Each part of an identifier is a word: `shadowBranch` becomes `shadow` and `branch`.
    - A term in a script without spaces, such as Chinese, becomes one word: its characters with
      spaces between them.
    - A word that the user typed with a `*` at its end keeps the `*`.
    - Excluded words are left out.
    - If the query has only common words, they are returned.
    - At most the first 16 words are returned.
    """
    found = [word for term in query.terms for word in _words_of(term)]
    words = [*dict.fromkeys(found)]
    return ([word for word in words if is_content_word(word)] or words)[:_MOST_WORDS]


def is_content_word(word: str) -> bool:
    """Return whether a word says something about the topic, unlike "the" or a single letter."""
    # A single ASCII letter or digit is usually a part of code.
    return word not in _COMMON_WORDS and (len(word) > 1 or not word.isascii())


def term_text(term: Term) -> str:
    """Return the words of a search term as text for the user. Very long text is shortened."""
    whole = "".join(
        token
        if not n or is_one_character_word(token) or is_one_character_word(term.tokens[n - 1])
        else f" {token}"
        for n, token in enumerate(term.tokens)
    )
    return whole if len(whole) <= _LONGEST_SHOWN else f"{whole[:_LONGEST_SHOWN]}…"


def split_phrase(term: Term) -> list[Term]:
    """Return each word of a phrase as its own search term.

    A phrase in a script without spaces, such as Chinese, stays whole.
    """
    if len(term.tokens) == 1 or any(map(is_one_character_word, term.tokens)):
        return [term]
    return [Term((token,)) for token in term.tokens]


def _words_of(term: Term) -> Sequence[str]:
    if any(map(is_one_character_word, term.tokens)):
        return [term.raw.strip() or " ".join(term.tokens)]
    words = tokens_of(split_identifiers(term.raw)) if term.raw else [*term.tokens]
    return [*words[:-1], f"{words[-1]}*"] if term.is_prefix else words
