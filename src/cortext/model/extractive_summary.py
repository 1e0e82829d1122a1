"""Summaries of conversations that consist of their most informative sentences.

No language model is needed for these summaries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from cortext.model import summary_phrases
from cortext.model.message import SessionMessage
from cortext.model.slash_command_prefix import without_command

LONGEST = 200
_HEAD, _TAIL = 4000, 2000  # characters read at both ends of a long message
_FIRST, _LAST = 20, 300  # messages read at both ends of a long conversation

# Possessive quantifiers, so that no text causes backtracking.
_MARKUP = (
    (re.compile(r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)?"), ""),
    (re.compile(r"<(system-reminder|command-name|command-message)>[^<]*+(?:</\1>)?"), ""),
    (re.compile(r"!?\[([^\[\]\n]*+)\]\([^()\s]*+\)"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>\n]*+>"), " "),
    (re.compile(r"https?://(?:[^\s/@]*+@)?([^\s/?#)>]++(?:/[^\s/?#)>]*+)?)[^\s)>]*+"), r"\1"),
)
_COMMAND = re.compile(r"\s*+/[A-Za-z][\w.:-]*+(?=\s|\Z)")
_MARKER = re.compile(r"(?:#{1,6}\s|[-*+•]\s(?:\[[ xX]\]\s)?|\d{1,3}[.)]\s)\s*+|")
_EMPHASIS = re.compile(r"\*\*|~~|`|(?<!\w)[*_](?=\w)|(?<=[\w.!?:])[*_](?!\w)")
_NOISE = re.compile(
    r'[|>{}<]|\$\s|@@|\+\+\+|---|diff --git|Traceback \(|File "|at [^\s(]++ ?\(|import \w++$'
    r"|from \S++ import|\[?\d{4}-\d\d-\d\d[T ]\d|\[?(?:ERROR|WARN|INFO|DEBUG)\b|\[Request"
)
_SYMBOLS = "{}()[]<>=;|\\_&^%$@+~\"'/:#*"
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？؟۔।॥]++[\"'”’」』）)]*+")
_CLAUSE = re.compile(r"\A|[,;:،]\s|\s[—–-]\s|、")


def digest(messages: Sequence[SessionMessage], limit: int = LONGEST) -> str:
    """Return a summary of a conversation, in one line of at most `limit` characters.

    The line contains the first request, the last decision, the latest request and the open
    question, if they exist and differ. The same messages always give the same line. If there are no
    messages, the result is "".
    """
    turns = _turns(messages)
    requests = _requests(turns)
    if not requests:
        return _line([_polish(sentences[0]) for _, sentences in turns[:1]], limit)
    first, question = _best(requests[0]), _open_question(turns)
    decision, shown = _decision(turns)
    parts = {first: _polish(first)}
    if decision:
        parts.setdefault(decision, _polish(shown))
    rest = [s for s in requests[-1] if s not in parts and s != question and _weight(s)]
    if rest and requests[1:]:
        parts[_best(rest)] = "Latest: " + _polish(_best(rest))
    if question:
        parts.setdefault(question, "Open: " + _polish(question))
    # Show the first sentence and the other requests of the first message only if there is room.
    around = {s: _polish(s) for s in requests[0] if s == requests[0][0] or _is_request(s)}
    whole = " ".join((around | parts).values())
    return whole if len(whole) <= limit else _line([*parts.values()], limit)


def open_point(messages: Sequence[SessionMessage]) -> str:
    """Return the question or task that a conversation left open, or "" if there is none."""
    question = _open_question(_turns(messages))
    return _polish(question) if question else ""


def _turns(messages: Sequence[SessionMessage]) -> list[tuple[str, list[str]]]:
    """Return the role and the sentences of each message of the user or the agent.

    Messages in the middle of a long conversation are left out.
    """
    spoken = [m for m in messages if m.role in ("user", "assistant") and m.content]
    spoken = spoken if len(spoken) <= _FIRST + _LAST else spoken[:_FIRST] + spoken[-_LAST:]
    return [(m.role, sentences) for m in spoken if (sentences := _sentences(m.content))]


def _requests(turns: list[tuple[str, list[str]]]) -> list[list[str]]:
    """Return the sentences in which the user requests something, one list for each message.

    `turns` contains the role and the sentences of each message. Small talk and answers to a
    question of the agent are left out.
    """
    requests, is_answer = list[list[str]](), False
    for role, sentences in turns:
        if role == "user":
            ends = sentences[:12] + sentences[12:][-3:]
            requests.append(
                [s for s in ends if _is_informative(s) and (not is_answer or _is_request(s))]
            )
        is_answer = role == "assistant" and _is_question(sentences[-1])
    return [sentences for sentences in requests if sentences]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a message.

    Only the start and the end of a long message are read.
    """
    text = without_command(text)
    head, tail = text[:_HEAD], text[max(_HEAD, len(text) - _TAIL) :]
    if command := _COMMAND.match(head):
        head = head[command.end() :]
    if len(text) <= _HEAD + _TAIL:
        head, tail = head + tail, ""
    tail = tail.partition("\n")[2] or tail  # begin at the start of a line
    if tail.count("```") % 2:  # the text begins inside a code block
        tail = "```\n" + tail
    return _prose(head) + _prose(tail) or _prose(head, code=True)[-1:]


def _prose(text: str, *, code: bool = False) -> list[str]:
    """Split text into sentences without markup.

    Code, tables and tracebacks are left out unless `code` is true.
    """
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    paragraphs, fenced = [""], False
    for line in text.splitlines():
        bare, last = line.strip(), paragraphs[-1]
        fence = bare.startswith(("```", "~~~"))
        fenced ^= fence
        if fence or (not code and (fenced or _is_code(line))):
            paragraphs.append("")
            continue
        words = _plain(_EMPHASIS.sub("", _MARKER.sub("", bare, 1)))
        if bare.startswith("#") and words[-1:].isalnum():
            words += ":"
        if (last[-1:] == ":" and len(last) < 40) or (len(last) > 50 and words[:1].islower()):
            paragraphs[-1] = f"{last} {words}"
        else:
            paragraphs.append(words)
    return [s for p in paragraphs for s in _split(p) if any(map(str.isalnum, s))]


def _is_code(line: str) -> bool:
    bare = line.strip()
    if bare.endswith("?") or not bare:
        return False
    symbols = sum(map(bare.count, _SYMBOLS)) * (1 if line[:4].strip() else 2)
    return bool(_NOISE.match(bare)) or 6 * symbols > len(bare) or bare[-1] in ";{}"


def _plain(text: str) -> str:
    """Return text on one line, without control, bidi, zero-width and other invisible characters."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    visible = (" " if c.isspace() else c for c in _BLANK.sub("", text))
    return " ".join("".join(c for c in visible if c.isprintable()).split())


def _split(text: str) -> list[str]:
    sentences, start = list[str](), 0
    for end in _END.finditer(text):
        if text[start : end.end()].rpartition(" ")[2].lower() not in summary_phrases.NO_END:
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    return [*sentences, text[start:].strip()]


def _words(sentence: str) -> list[str]:
    words = (word.strip("\"'“”‘’()¡¿.,:;!?…、。！？،؟।-–—") for word in sentence.split())
    return [word for word in words if any(map(str.isalnum, word))]


def _is_informative(sentence: str) -> bool:
    is_small_talk = all(word.lower() in summary_phrases.SMALL_TALK for word in _words(sentence))
    defers = (
        _find_phrase(_polish(sentence), summary_phrases.DEFERRED) >= 0 and _weight(sentence) < 5
    )
    return not is_small_talk and (not defers or _is_request(sentence))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’»)]」』）")[-1:] in tuple("?？؟") or sentence.endswith("か。")


def _weight(sentence: str) -> int:
    """Return the number of informative words in a sentence.

    Words with a capital letter after the first letter count twice. In scripts without spaces, every
    four characters count as a word.
    """
    informative = [word for word in _words(sentence) if word.lower() not in summary_phrases.COMMON]
    long = [word for word in informative if len(word) > 3 or word[1:] != word[1:].lower()]
    named = sum(word[1:] != word[1:].lower() for word in long)
    return named + sum(1 if word.isascii() else max(1, len(word) // 4) for word in long)


def _is_request(sentence: str) -> bool:
    return _is_question(sentence) or bool(summary_phrases.ASKING.match(_polish(sentence)))


def _best(sentences: list[str]) -> str:
    """Return the sentence that says most about the user's request."""

    def score(sentence: str) -> int:
        weight = _weight(sentence)
        return min(weight, 6) + (
            2 if weight > 1 and _is_request(sentence) else sentence == sentences[0]
        )

    return max(sentences, key=score)


def _find_phrase(sentence: str, known: Sequence[str]) -> int:
    """Return the index in the sentence at which a known phrase begins, or -1 if there is none.

    The phrases are tried in the order of `known`, and the first phrase that occurs is used. A
    phrase in ASCII letters must begin at the start of a word.
    """
    text = sentence.lower().replace("’", "'")
    for cue in known:
        at = text.find(cue)
        if at == 0 or (at > 0 and not (cue[0].isascii() and text[at - 1].isalnum())):
            return at
    return -1


def _decision(turns: list[tuple[str, list[str]]]) -> tuple[str, str]:
    """Return the last sentence that states a decision, and the part of the sentence to show.

    If no sentence states a decision, both values are the last sentence with advice of the agent. If
    there is no advice either, both values are "". `turns` contains the role and the sentences of
    each message.
    """
    advice = ""
    for role, sentences in reversed(turns):
        # "Let's use X" is a decision if the user says it. An agent only means its next step.
        known = summary_phrases.DECIDED + (
            summary_phrases.CHOSEN if role == "user" else summary_phrases.ADVISED
        )
        text = " ".join(sentences).lower().replace("’", "'")
        known = [cue for cue in known if cue in text]
        for sentence in reversed(sentences if known else []):
            if _is_question(sentence) or _weight(sentence) < 2:
                continue
            at = _find_phrase(
                sentence, [cue for cue in known if cue not in summary_phrases.ADVISED]
            )
            clause = max(m.end() for m in _CLAUSE.finditer(sentence[: max(at, 0)]))
            if at >= 0 and not summary_phrases.NOT_YET.search(sentence[clause:at].lower()):
                return sentence, sentence[clause if len(sentence) > 80 else 0 :]
            if (
                not advice
                and role == "assistant"
                and _find_phrase(sentence, summary_phrases.ADVISED) >= 0
            ):
                advice = sentence
    return advice, advice


def _open_question(turns: list[tuple[str, list[str]]]) -> str:
    """Return the last question that nobody has answered.

    `turns` contains the role and the sentences of each message. If there is no such question,
    return the last sentence with words such as "still open". If there is no such sentence either,
    return "".
    """
    for role, sentences in reversed(turns):
        candidates = sentences if role == "user" else sentences[-2:]
        if asked := [
            s for s in candidates if _is_question(s) and _find_phrase(s, summary_phrases.FILLER) < 0
        ]:
            before = sentences[: sentences.index(asked[-1])]
            return before[-1] if before and not _weight(asked[-1]) else asked[-1]
        is_informative = any(map(_is_informative, sentences))
        deferred = any(_find_phrase(s, summary_phrases.DEFERRED) >= 0 for s in sentences)
        if is_informative if role == "assistant" else not deferred:
            break
    points = [
        s
        for _, sentences in turns[-6:]
        for s in sentences
        if _find_phrase(s, summary_phrases.OPEN) >= 0
    ]
    return points[-1] if points else ""


def _polish(sentence: str) -> str:
    """Remove greetings and polite phrases from a sentence, and add a period at its end."""
    text = sentence
    for _ in range(3):
        if (lead := summary_phrases.LEAD.match(text)) and lead.end() < len(text):
            text = text[lead.end() :]
    please = summary_phrases.PLEASE.match(text)
    if please and 0 < please.end() < len(text):
        text = text[please.end() :].rstrip("? ")
    text = text.rstrip(" :,;")
    if re.sub("[',’]", "", text.partition(" ")[0]).isalpha():
        text = text[:1].upper() + text[1:]
    return text + "." if text[-1:].isalnum() and text[-1] < "ɐ" else text


def _line(parts: list[str], limit: int) -> str:
    """Join the parts of a summary, and shorten the longest parts until all fit into `limit`."""
    parts = parts[: max(1, limit // 40)]
    room = limit - len(parts) + 1
    longest = max([0, *map(len, parts)])
    while longest > 0 and sum(min(len(part), longest) for part in parts) > room:
        longest -= 1
    return " ".join(_cut(part, longest) for part in parts)


def _cut(text: str, longest: int) -> str:
    """Shorten text to `longest` characters, between two words if possible."""
    if len(text) <= longest:
        return text
    end = max(longest - 1, 0)
    while end > 0 and (unicodedata.category(text[end])[0] == "M" or "🏻" <= text[end] <= "🏿"):
        end -= 1
    space = text.rfind(" ", end * 2 // 3, end + 1)
    return (text[: space if space > 0 else end].rstrip(" ,;:.—–-(") + "…")[: max(longest, 0)]
