"""Find the sentences in conversations that decide something about a topic.

No language model is used. A sentence is a decision in three cases:

- Its words say so, such as "we agreed on" or "let's use".
- It is the user's answer to an offer of the agent.
- An agent recommended it, and the user then agreed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.search.offered_choices import chosen, offers, picked, points_at_option
from cortext.formats.history_in_order import is_abandoned
from cortext.formats.text_search.search_query import folded, parse, spaced
from cortext.model import summary_phrases
from cortext.model.message import SessionMessage
from cortext.model.session import Session

_MAX_CONVERSATIONS = 30
_MAX_MESSAGE = 20_000
"""The number of characters at the start of a message that are examined."""
_MIN_SENTENCE, _MAX_SENTENCE = 8, 500
_DECIDED_PHRASES = (
    *summary_phrases.DECIDED,
    *("decided that", "decided:", "we chose", "i chose", "we've chosen", "opted for", "settled on"),
    *("settled:", "the decision", "final decision", "we ruled out", "we rejected", "sticking with"),
    *("from now on", "we're going to use", "we are going to use", "we won't", "is final"),
    *("off the table", "out of scope", "the winner is", "we have to", "we must"),
    *("decision recorded", "decision made", "we voted", "team voted", "final answer"),
)
_CHOSEN_PHRASES = (
    *summary_phrases.CHOSEN,
    *("use ", "go with", "stick with", "keep ", "drop ", "always ", "never ", "don't use"),
    *("do not use", "we won't", "we will ", "we'll ", "i prefer", "i want ", "make it "),
    *("i don't want ", "we don't want "),
    *("go for ", "i'm going with", "let us ", "scrap ", "remove "),
)
"""Phrases that make a user's sentence a decision.

Phrases that are not in `summary_phrases.CHOSEN` count only at the start of a sentence.
"""
_CHOSEN_AT_START = tuple(cue for cue in _CHOSEN_PHRASES if cue not in summary_phrases.CHOSEN)
# "It is what it is." contains "it is." too, so `_IT_IS_CLAIM` checks that phrase.
_CHOSEN_ANYWHERE = tuple(cue for cue in summary_phrases.CHOSEN if cue != "it is.")
_LEAD_WORDS = re.compile(
    r"(?:(?:ok(?:ay)?|alright|fine|good|right|so|then|and|also|please|now)[,:]? )+"
)
"""Matches words that may come before the phrase that makes a sentence a decision."""
_DECISION_START = re.compile(
    r"let(?:'s| us) (?!see|look|talk|discuss|think|start|begin|try|continue|check|wait|test|debug"
    r"|find|go (?:over|through|back|on)|say|have a look|know|me)"
    r"|(?:switch to|swap|exclude|park|ship) |replace [\w ]{1,40} (?:with|by) "
    r"|we (?:stay|ship|stick|skip|settle) |[^,]{2,60}, so (?:we |let's )?(?:use|keep|take|drop) "
    r"|[^,;:]{2,60} for now(?:[,.!]|$)"
    r"|no (?!(?:idea|problem|worries|rush|hurry|need|thanks|thank|clue|luck|matter|doubt|way|one"
    r"|tests?|errors?|failures?|change|difference|it|that|this|i|we|you|not|there)\b)[\w-]+"
)
"""Matches the start of a user's sentence that is a decision, whatever follows."""
_IT_IS_CLAIM = re.compile(
    r"(?!.*\b(?:what|how|who|where|why|which|whatever|wonder|know|than|like)\b)[^,;:?]{2,60} it is"
    r"(?:[,.!;]|$)"
)
_EXCLUSION_AT_END = re.compile(
    r"(?:[^\s,]+ ){3,}[^\s,]+, (?:and )?no (?!(?:other|idea|problem|worries|rush|hurry|need|thanks"
    r"|matter|doubt|errors?|failures?|change|difference)\b)[\w-]+(?: [\w-]+){0,3}[.!]*$"
)
"""Matches a sentence that excludes something at its end: "we stay on luxon, no new library"."""
_FIX_REQUEST = re.compile(r"make it (?:work|compile|pass|run|build)\b")
_CONFIRMATION = re.compile(
    r"(?:that's |it's |and that's )?(?:settled|final|decided|a decision|done deal)[.!]*"
)
"""Matches a sentence such as "that's settled". It makes the sentence before it a decision."""
_YES = re.compile(
    r"(?:yes|yep|yeah|ok(?:ay)?|sure|agreed|sounds good|perfect|great|good|do (?:it|that)|go ahead|"
    r"fine|right|exactly|please do|ja|oui|sí|si|d'accord|vale|はい|好的?|да)\b[\s,.!]*+",
    re.IGNORECASE,
)
_MAX_ANSWER = 160
"""The maximum length of a user's message that may be a plain yes, in characters."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")
_LIST_MARKER = re.compile(r"[\s>#*+•-]*+(?:\d{1,3}[.)]\s+)?+(?:\[[ xX]\]\s*)?+")
_HEADING = re.compile(
    r"\W*(?:final |key |the )?(?:decisions?|decided|agreed|entscheidung(?:en)?)\W*"
)
_MARKUP = re.compile(r"\*\*|__|`|~~")
_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r"[,;:،]\s|\s[—–-]\s|、")


class Decision(msgspec.Struct, frozen=True):
    """A sentence that decides something, and the message that contains it.

    `number` is the number of the message, counted from 1. `message_id` is "" if the message has no
    id. `time` is in microseconds since 1970. `score` says how well the sentence fits the topic.
    """

    row: ConversationRow
    number: int
    message_id: str
    role: str
    time: int
    sentence: str
    score: int


def get_decisions(
    topic: str,
    find: Callable[[str], Sequence[ConversationRow]],
    read: Callable[[ConversationRow], Session],
    *,
    most: int = 10,
) -> list[Decision]:
    """Return at most `most` decisions about a topic, the best match first.

    Equal matches are sorted by time, the newest first. `find` is a search function: it gets a query
    and returns the conversations that match, the best first. `read` returns the session of a row.
    """
    stems = _stems(topic)
    if not stems:
        return []
    rows: dict[tuple[str, str], ConversationRow] = {}
    for query in dict.fromkeys((topic, " OR ".join(f"{stem}*" for stem in stems))):
        for row in find(query):
            rows.setdefault(row.identity, row)
    found: list[Decision] = []
    for row in list(rows.values())[:_MAX_CONVERSATIONS]:
        try:
            messages = read(row).messages
        except (OSError, CortextError):
            continue  # the conversation was deleted after it was found
        found += _decisions_about(row, messages, stems)
    found.sort(key=lambda each: (each.score, each.time), reverse=True)
    unique = {each.sentence.casefold(): each for each in reversed(found)}
    return [each for each in found if unique[each.sentence.casefold()] is each][:most]


def decisions_in(messages: Sequence[SessionMessage]) -> Iterator[tuple[int, str]]:
    """Yield each sentence that is a decision, with the number of its message, counted from 1."""
    advice: tuple[int, str] | None = None
    is_offered = is_picked = was_asked = False
    for number, message in enumerate(messages, 1):
        if message.role not in ("user", "assistant") or is_abandoned(message):
            continue
        text, by_person = message.content[:_MAX_MESSAGE], message.role == "user"
        decided = list(_decisive_sentences(text, by_person=by_person))
        sentences = [each for line in text.split("\n") for each in _sentences(line)]
        answer = ""
        if by_person:
            answer = chosen(text, sentences) if is_offered else ""
        elif is_picked:
            answer = picked(sentences)
        decided += [answer] if answer and answer not in decided else []
        yield from ((number, sentence) for sentence in decided)
        is_picked = by_person and is_offered and points_at_option(text)
        is_offered = not by_person and offers(sentences, was_asked=was_asked)
        was_asked = by_person and "?" in text
        if not by_person:
            advised = _find_advice(text)
            advice = (number, advised) if advised and advised not in decided else None
        elif advice:
            if len(text) <= _MAX_ANSWER and _YES.match(text.strip()):
                yield advice
            advice = None


def _decisions_about(
    row: ConversationRow, messages: Sequence[SessionMessage], stems: Sequence[str]
) -> Iterator[Decision]:
    """Yield the decisions of a conversation about a topic.

    `stems` are the words of the topic without their endings.
    """
    title = _count_stems(f"{row.title} {row.summary}", stems)
    for number, sentence in decisions_in(messages):
        message = messages[number - 1]
        context = " ".join(m.content[:_MAX_MESSAGE] for m in messages[max(number - 2, 0) : number])
        in_sentence, nearby = _count_stems(sentence, stems), _count_stems(context, stems)
        # Topic words in the sentence weigh more than topic words around it.
        score = 4 * in_sentence + 2 * nearby + title
        if in_sentence or nearby or title == len(stems):
            time = micros(message.timestamp)
            yield Decision(row, number, message.id, message.role, time, sentence, score)


def _decisive_sentences(text: str, *, by_person: bool) -> Iterator[str]:
    """Yield the sentences of a message that are decisions, judged without the other messages.

    `by_person` is true for a message of the user.
    """
    in_decision_list = False
    for line in text.split("\n"):
        if _HEADING.fullmatch(line.casefold()):
            in_decision_list = True
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            in_decision_list = in_decision_list and not line.strip()
            continue
        is_item = line.lstrip()[:1] in ("-", "*", "+", "•") or line.lstrip()[:1].isdigit()
        if in_decision_list and is_item:
            yield _clean(line)
            continue
        in_decision_list = False
        before = ""
        for sentence in _sentences(line):
            if by_person and before and _CONFIRMATION.fullmatch(sentence.casefold()):
                yield before
            decides = _is_decision(sentence, by_person=by_person)
            if decides:
                yield sentence
            before = "" if decides else sentence


def _is_decision(sentence: str, *, by_person: bool) -> bool:
    """Return whether a sentence is a decision, judged by its words alone.

    `by_person` is true for a sentence of the user. More phrases count as decisions then.
    """
    if sentence.rstrip("\"'”’)] ")[-1:] in ("?", "？", "؟"):
        return False
    text = sentence.casefold().replace("’", "'")
    if _IT_IS_CLAIM.match(text) and not summary_phrases.NOT_YET.search(text):
        return True
    if by_person:
        lead = _LEAD_WORDS.match(text)
        bare = text[lead.end() :] if lead else text
        if (
            bare.startswith(_CHOSEN_AT_START) and not _FIX_REQUEST.match(bare)
        ) or _DECISION_START.match(bare):
            return True
        if _EXCLUSION_AT_END.match(text) and not summary_phrases.ASKING.match(bare):
            return True
    for cue in (*_DECIDED_PHRASES, *(_CHOSEN_ANYWHERE if by_person else ())):
        at = text.find(cue)
        if at == 0 or (at > 0 and not (cue[0].isascii() and text[at - 1].isalnum())):
            clause = max((m.end() for m in _CLAUSE.finditer(text[:at])), default=0)
            if not summary_phrases.NOT_YET.search(text[clause:at]):
                return True
    return False


def _find_advice(text: str) -> str:
    """Return the last sentence of an agent's message that recommends something, or ""."""
    advice = ""
    for line in text.split("\n"):
        for sentence in _sentences(line):
            lowered = sentence.casefold().replace("’", "'")
            if any(cue in lowered for cue in summary_phrases.ADVISED):
                advice = sentence
    return advice


def _sentences(line: str) -> Iterator[str]:
    for part in _SENTENCE_END.split(line):
        sentence = _clean(part)
        if len(sentence) >= _MIN_SENTENCE:
            yield sentence


def _clean(text: str) -> str:
    lead = _LIST_MARKER.match(text)
    bare = _MARKUP.sub("", text[lead.end() if lead else 0 :])
    return " ".join(bare.split())[:_MAX_SENTENCE]


def _stems(topic: str) -> list[str]:
    """Return the words of a topic without their endings, and without common words."""
    tokens = [token for term in parse(topic).terms for token in term.tokens]
    content_tokens = [token for token in tokens if token not in summary_phrases.COMMON] or tokens
    return list(dict.fromkeys(token[: max(4, len(token) - 3)] for token in content_tokens))


def _count_stems(text: str, stems: Sequence[str]) -> int:
    """Return the number of stems with which a word in the text begins.

    A stem is a word without its ending.
    """
    words = " " + " ".join(_WORD.findall(spaced(folded(text))))
    return sum(f" {stem}" in words for stem in stems)
