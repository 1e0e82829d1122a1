"""Recognize a user's answer that chooses between options that an agent offered.

For example, "The header." alone decides nothing. It is a decision if the agent asked "In the header
or on its own page?".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cortext.model import summary_phrases

_MAX_ANSWER = 160
"""The maximum length of an answer that may be a choice, in characters."""
_PREFERENCE = re.compile(
    r"\b(?:should|shall|prefer|rather|would you like|do you want|soll|sollen|devrait|préfères?"
    r"|prefieres?)\b|(?:ましょう|します)か"
)
_OPTIONS = re.compile(r"\b(?:options|candidates|alternatives|(?:two|three|several) ways|either)\b")
_OR = re.compile(r"\b(?:or|oder|ou|o)\b")
_FACT = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|may|might|which|what|where|when"
    r"|who|whose|why|how|there|it)\b"
)
"""Matches the first word of a question about facts, or of a sentence that states a fact."""
_PERMISSION = re.compile(
    r"\b(?:should|shall|can|could|may) i\b|\b(?:want|like|need) me to\b|\bsoll ich\b"
)
"""Matches a question for permission. An answer to such a question is not a decision."""
_PROPOSAL = re.compile(r"\bi(?:'d| would)? (?:propose|suggest|recommend)\b|\bmy plan is\b")
_YES_OR_NO = re.compile(
    r"(?:yes|yep|yeah|no|nope|ok(?:ay)?|sure|fine|right|agreed|exactly|good|ja|nein|oui|non|sí|si)"
    r"\b[,.!;: —–-]+",
)
_STATEMENT = re.compile(
    r"(?:it|it's|there|they|that|that's|this|these|i|i'm|i've|he|she|you|we|we're|my|our|because"
    r"|but|although|maybe|perhaps|neither|nothing|none|never mind|not)\b"
)
"""Matches the first words of a sentence that gives information and chooses nothing."""
_UNDECIDED = re.compile(
    r"\b(?:later|maybe|perhaps|not sure|depends|let me|hold on|wait|hm+|unsure|either way"
    r"|you decide|up to you|please|thanks?)\b"
)
_AGREEMENT = re.compile(
    r"(?:(?:(?:sounds|looks) (?:good|great|fine|right)|go (?:ahead|on|for it)|works for me|lgtm"
    r"|perfect|do (?:it|that)|of course|makes sense|yes|ok(?:ay)?|sure|great|good|fine)\b[\s,.!]*)+"
)
_OPTION_NAME = re.compile(
    r"(?:(?:ok(?:ay)?|yes|let's take|take|go with|i'd take|i take|the)[, ]+)*"
    r"(?:first|second|third|last|former|latter|1st|2nd|3rd|option [a-d\d]|number \d|[a-d]|\d)"
    r"(?: (?:one|option|way|approach|variant))?(?:,? please)?[.!]*"
)
_ANNOUNCEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|right|understood|done|then)[,.:!]? )*i(?:'ll| will)\b"
)


def offers(sentences: Sequence[str], *, was_asked: bool) -> bool:
    """Return whether an agent's message ends with an offer to choose between options.

    `sentences` are the sentences of the message. `was_asked` is true if the previous message, by
    the user, contains a question.
    """
    if not sentences:
        return False
    last = _plain(sentences[-1])
    if not _is_question(last):
        ends = [_plain(each) for each in sentences[-2:]]
        return any(_OPTIONS.search(each) or _PROPOSAL.search(each) for each in ends) or (
            was_asked and bool(_OR.search(last)) and not _FACT.match(last)
        )
    if _PERMISSION.search(last):
        return False
    return bool(_PREFERENCE.search(last)) or not _FACT.match(last)


def chosen(said: str, answer: Sequence[str]) -> str:
    """Return the first sentence of a user's answer if it chooses an option, otherwise "".

    `said` is the whole answer, and `answer` has its sentences. Call this function only if `offers`
    is true for the agent's message before the answer.
    """
    if not answer or len(said) > _MAX_ANSWER or _is_question(answer[0]) or points_at_option(said):
        return ""
    if _AGREEMENT.fullmatch(_plain(said.strip())):
        return ""
    text = _plain(answer[0])
    lead = _YES_OR_NO.match(text)
    rest = text[lead.end() :] if lead else text
    if (
        _UNDECIDED.search(text)
        or _is_deferred(text)
        or _STATEMENT.match(rest)
        or summary_phrases.ASKING.match(rest)
    ):
        return ""
    words = [word.strip(".,!") for word in rest.split()]
    return answer[0] if len(words) > 1 and not set(words) <= set(summary_phrases.SMALL_TALK) else ""


def points_at_option(said: str) -> bool:
    """Return whether a user's answer only points at an option, such as "the second one".

    The agent's next message then says which option that is.
    """
    return _OPTION_NAME.fullmatch(_plain(said.strip())) is not None


def picked(sentences: Sequence[str]) -> str:
    """Return the first sentence of an agent's message if it announces what the agent will do.

    Otherwise return "". Call this function for the message after a user's answer such as "the
    second one". The sentence then names the chosen option.
    """
    first = sentences[0] if sentences else ""
    return first if _ANNOUNCEMENT.match(_plain(first)) else ""


def _is_deferred(text: str) -> bool:
    return any(cue in text for cue in summary_phrases.DEFERRED)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)] ")[-1:] in ("?", "？", "؟")


def _plain(sentence: str) -> str:
    return sentence.casefold().replace("’", "'")
