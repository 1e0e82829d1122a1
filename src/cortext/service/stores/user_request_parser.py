"""Find out which action a user requests, and put it into the past tense.

For example, "search for X" becomes "searched for X". No language model is used. A request is
understood if it starts with one of the English verbs in this module; polite words may come first.
In any other text, no action is found.
"""

from __future__ import annotations

import re

from msgspec import Struct

_MAX_CHARACTERS = 2_000
_MAX_SENTENCES = 3
_MAX_OPENINGS = 6

_REGULAR_VERBS = """
add adjust analyse analyze apply archive arrange ask assess audit benchmark book browse calculate
change check classify clean clone close collect combine compare compile complete compute configure
connect continue convert copy correct count create define delete deploy describe design detect
determine diagnose disable discuss display document download edit email enable estimate evaluate
examine execute expand explain explore export extend extract fetch fill filter finish fix follow
generate group handle highlight identify implement import improve inspect install integrate
investigate join list load locate look measure merge migrate modify monitor move open optimise
optimize order organise organize outline parse pick post predict prepare print propose prove publish
pull push query rank recommend reduce refactor remind remove rename repair replace report research
resolve restart restore retrieve review revert save schedule search select share simplify solve sort
start suggest summarise summarize test track transform translate try tune update upgrade upload use
validate verify visualise visualize
"""
_IRREGULAR_VERBS = {
    "build": "built", "choose": "chose", "cut": "cut", "debug": "debugged",
    "draw": "drew", "drop": "dropped", "find": "looked for", "format": "formatted", "get": "got",
    "give": "gave", "make": "made", "map": "mapped", "plan": "planned", "plot": "plotted",
    "put": "put", "read": "read", "redo": "redid", "rewrite": "rewrote", "run": "ran",
    "scan": "scanned", "send": "sent", "set": "set", "show": "showed", "split": "split",
    "stop": "stopped", "submit": "submitted", "tell": "told", "undo": "undid", "write": "wrote",
}  # fmt: skip


def _past_form(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


_PAST_FORMS = {verb: _past_form(verb) for verb in _REGULAR_VERBS.split()} | _IRREGULAR_VERBS

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_OPENING = re.compile(
    r"(?:please|pls|kindly|now|then|next|also|and|so|ok|okay|well|hey|hi|hello|great|thanks|cool|"
    r"thank you|alright|first|finally|just|(?:can|could|would|will) you|you (?:can|could|should)|"
    r"(?:i|we)(?:'d| would) like (?:you )?to|(?:i|we) (?:want|need|have) (?:you )?to|let's|let us|"
    r"help me(?: to)?|go ahead and|try to)\b[\s,:;.!-]*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[\s,]+(?:please|pls|thanks|thank you|thx|for (?:me|us)|right now|asap)$", re.IGNORECASE
)
_SEEKING = re.compile(r"(?:(?:i'm|i am|we're|we are) )?(look|search)ing for (\S.*)", re.IGNORECASE)
_VERB = re.compile(r"([a-z]+)(?:\s+(.*))?", re.IGNORECASE)
_STATEMENT = re.compile(
    r"(?:of|cases?|results?|source)\b|(?:(?!(?:what|who|whose|which|that|how|why|when|where|whether|if)\b)\S+\s+){0,3}"
    r"(?:is|are|was|were|has|have|had|does|did|seems?|looks?|fails?|failed|isn't|aren't|wasn't|"
    r"weren't|doesn't|don't|didn't|hasn't|haven't|won't|can't)\b",
    re.IGNORECASE,
)
"""Matches the text after a word that looks like a verb but is a noun.

Examples are "of files" after "list", and "fails" after "test".
"""
_LISTENER = re.compile(r"^(?:me|us)\s+", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"(?:about|at|between|for|from|in|into|on|out|through|to|up|with)(?:\s+|:\s*)", re.IGNORECASE
)
_SECOND_VERB = re.compile(
    r"\b(and(?: then)?) ([a-z]+)(?= (?:a|all|an|both|each|it|its|my|our|that|the|them|these|this|"
    r"those|your)\b)",
    re.IGNORECASE,
)


class Action(Struct, frozen=True):
    """An action that a user requested.

    `verb` is in the past tense and includes a preposition, such as "searched for". `object` is the
    rest, such as "React libraries".
    """

    verb: str
    object: str


def parse_request(text: str) -> Action | None:
    """Return the first action that a user's text requests, or None if there is none.

    Only the first few sentences are parsed, and only the text before a code block.
    """
    prose = text[:_MAX_CHARACTERS].partition("```")[0].replace("\u2019", "'")
    sentences = filter(None, (each.strip(" \t\r-*>#") for each in _SENTENCE_END.split(prose)))
    for _, sentence in zip(range(_MAX_SENTENCES), sentences, strict=False):
        action = _parse_sentence(" ".join(sentence.split()))
        if action is not None:
            return action
    return None


def _parse_sentence(sentence: str) -> Action | None:
    for _ in range(_MAX_OPENINGS):
        opening = _OPENING.match(sentence)
        if opening is None:
            break
        sentence = sentence[opening.end() :]
    sentence = _CLOSING.sub("", sentence.rstrip(" .!?\u2026:;,")).rstrip(" ,")
    seeking = _SEEKING.fullmatch(sentence)
    if seeking is not None:
        return Action(f"{seeking[1].lower()}ed for", seeking[2])
    verb_match = _VERB.fullmatch(sentence)
    if verb_match is None or verb_match[1].lower() not in _PAST_FORMS:
        return None
    verb, rest = verb_match[1].lower(), _LISTENER.sub("", verb_match[2] or "", count=1)
    if _STATEMENT.match(rest) or (verb == "find" and not rest):
        return None
    if verb == "find" and rest.lower().startswith("out "):
        return Action("found out", rest[4:])
    preposition = _PREPOSITION.match(rest)
    if preposition is None:
        return Action(_PAST_FORMS[verb], _inflect_second_verb(rest))
    past = f"{_PAST_FORMS[verb]} {preposition[0].strip(' :').lower()}"
    return Action(past, _inflect_second_verb(rest[preposition.end() :]))


def _inflect_second_verb(text: str) -> str:
    """Put a second verb into the past tense: "X and sort it" becomes "X and sorted it"."""
    return _SECOND_VERB.sub(
        lambda match: f"{match[1]} {_PAST_FORMS.get(match[2].lower(), match[2])}", text
    )
