"""Recognize a user's answer that chooses between options that an agent offered.

"The header." alone decides nothing. After "In the header or on its own page?" it is a decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cortext.model import summary_phrases

_ANSWER = 160
"""The maximum number of characters of an answer that can be a choice."""
_WANTED = re.compile(
    r"\b(?:should|shall|prefer|rather|would you like|do you want|soll|sollen|devrait|préfères?"
    r"|prefieres?)\b|(?:ましょう|します)か"
)
_OPTIONS = re.compile(r"\b(?:options|candidates|alternatives|(?:two|three|several) ways|either)\b")
_OR = re.compile(r"\b(?:or|oder|ou|o)\b")
_FACT = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|may|might|which|what|where|when"
    r"|who|whose|why|how|there|it)\b"
)
"""The first word of a question about facts, or of a sentence that states a fact."""
_PERMISSION = re.compile(
    r"\b(?:should|shall|can|could|may) i\b|\b(?:want|like|need) me to\b|\bsoll ich\b"
)
"""A question for permission. An answer to such a question is not a decision."""
_PROPOSED = re.compile(r"\bi(?:'d| would)? (?:propose|suggest|recommend)\b|\bmy plan is\b")
_YES_OR_NO = re.compile(
    r"(?:yes|yep|yeah|no|nope|ok(?:ay)?|sure|fine|right|agreed|exactly|good|ja|nein|oui|non|sí|si)"
    r"\b[,.!;: —–-]+",
)
_TELLS = re.compile(
    r"(?:it|it's|there|they|that|that's|this|these|i|i'm|i've|he|she|you|we|we're|my|our|because"
    r"|but|although|maybe|perhaps|neither|nothing|none|never mind|not)\b"
)
"""The first words of a sentence that gives information and chooses nothing."""
_LATER = re.compile(
    r"\b(?:later|maybe|perhaps|not sure|depends|let me|hold on|wait|hm+|unsure|either way"
    r"|you decide|up to you|please|thanks?)\b"
)
_AGREES = re.compile(
    r"(?:(?:(?:sounds|looks) (?:good|great|fine|right)|go (?:ahead|on|for it)|works for me|lgtm"
    r"|perfect|do (?:it|that)|of course|makes sense|yes|ok(?:ay)?|sure|great|good|fine)\b[\s,.!]*)+"
)
_PICKS = re.compile(
    r"(?:(?:ok(?:ay)?|yes|let's take|take|go with|i'd take|i take|the)[, ]+)*"
    r"(?:first|second|third|last|former|latter|1st|2nd|3rd|option [a-d\d]|number \d|[a-d]|\d)"
    r"(?: (?:one|option|way|approach|variant))?(?:,? please)?[.!]*"
)
_DOES = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|right|understood|done|then)[,.:!]? )*i(?:'ll| will)\b"
)


def offers(sentences: Sequence[str], *, was_asked: bool) -> bool:
    """Return whether an agent's message, given as sentences, ends with an offer to choose.

    `was_asked` says whether the user's message before it contains a question.
    """
    if not sentences:
        return False
    last = _plain(sentences[-1])
    if not _is_question(last):
        ends = [_plain(each) for each in sentences[-2:]]
        return any(_OPTIONS.search(each) or _PROPOSED.search(each) for each in ends) or (
            was_asked and bool(_OR.search(last)) and not _FACT.match(last)
        )
    if _PERMISSION.search(last):
        return False
    return bool(_WANTED.search(last)) or not _FACT.match(last)


def chosen(said: str, answer: Sequence[str]) -> str:
    """Return the first sentence of a user's answer if it chooses an option, otherwise "".

    `said` is the whole answer, and `answer` has its sentences. The message before the answer must
    be an offer, as `offers` recognizes it.
    """
    if not answer or len(said) > _ANSWER or _is_question(answer[0]) or picks(said):
        return ""
    if _AGREES.fullmatch(_plain(said.strip())):
        return ""
    text = _plain(answer[0])
    lead = _YES_OR_NO.match(text)
    rest = text[lead.end() :] if lead else text
    if (
        _LATER.search(text)
        or _is_deferred(text)
        or _TELLS.match(rest)
        or summary_phrases.ASKING.match(rest)
    ):
        return ""
    words = [word.strip(".,!") for word in rest.split()]
    return answer[0] if len(words) > 1 and not set(words) <= set(summary_phrases.SMALL_TALK) else ""


def picks(said: str) -> bool:
    """Return whether a user's answer only points at an option, such as "the second one".

    The agent's next message then says which option that is.
    """
    return _PICKS.fullmatch(_plain(said.strip())) is not None


def picked(sentences: Sequence[str]) -> str:
    """Return an agent's first sentence if it says what the agent will do, otherwise "".

    The sentence then names the option that the user pointed at.
    """
    first = sentences[0] if sentences else ""
    return first if _DOES.match(_plain(first)) else ""


def _is_deferred(text: str) -> bool:
    return any(cue in text for cue in summary_phrases.DEFERRED)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)] ")[-1:] in ("?", "？", "؟")


def _plain(sentence: str) -> str:
    return sentence.casefold().replace("’", "'")
