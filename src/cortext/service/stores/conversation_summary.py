"""A one-line summary of a conversation, for a program that decides which agent answers next.

Structured data is any JSON value that a program stores with a message, such as search results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from cortext.model.safe_text import clean
from cortext.service.stores.ordinal_references import resolve
from cortext.service.stores.port import ConversationSummary, Message, Messages
from cortext.service.stores.request_actions import Action, parse_request
from cortext.service.stores.structured_data import name_of, type_of

LAST = 3
_MOST_DEEDS = 5
_MOST_NAMES = 5
_LONGEST = 80
_LONGEST_IN_LIST = 40
_MOST_DATA = 20
"""How many values of structured data are used for each request of the user: the newest ones."""
_MOST_LOOKED_BACK = 20
"""How many messages before a request are searched for the item that the request refers to."""
_FILLERS = frozenset(
    ("cool", "good", "got it", "great", "hello", "hey", "hi", "hm", "hmm", "nice", "no", "ok",
     "okay", "perfect", "sure", "thank you", "thanks", "yep", "yes")
)  # fmt: skip
"""User messages that request nothing, so the summary leaves them out."""
_REFERENCE = re.compile(
    r"(?:it|this|that)(?: one)?|(?:the )?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|"
    r"ninth|tenth|last|final|former|latter|penultimate|\d{1,3}(?:st|nd|rd|th))"
    r"(?: (?:one|item|result|option|choice))?|(?:option|number|item|result) \d{1,3}|#\d{1,3}",
    re.IGNORECASE,
)
"""A phrase that refers to an item without its name, such as "the second one"."""
_AMBIGUOUS = re.compile(r'[",;\\]')
"""Characters that could make a name look like the next entry of the summary."""


class _Meaning(Struct, frozen=True):
    """How the summary describes structured data of one type.

    `verb` is a verb such as "searched for". `keys` are the keys that may contain its object.
    """

    verb: str
    keys: tuple[str, ...]


_meanings: dict[str, _Meaning] = {}


def register_type(type: str, verb: str, *keys: str) -> None:
    """Register how summaries describe structured data whose `type` is this type.

    After `register_type("search", "searched for", "query")`, the data `{"type": "search", "query":
    "React libraries"}` becomes "searched for React libraries". If several keys are given, the first
    one that the data contains is used.
    """
    _meanings[type] = _Meaning(verb, keys)


for _type, _verb, *_keys in (
    ("search", "searched for", "query", "topic"),
    ("analysis", "analyzed", "subject", "name", "target", "package"),
    ("comparison", "compared", "items", "subjects"),
    ("recommendation", "recommended", "name", "items"),
    ("list", "listed", "topic", "title", "items"),
    ("code", "wrote", "title", "name", "path", "language"),
    ("error", "failed at", "action", "message"),
):
    register_type(_type, _verb, *_keys)
_IN_COMPOUNDS = ("error", "search", "analysis", "comparison", "recommendation")
"""Types that are also recognized inside a longer type, as `search` is in `search_results`."""


class _Finding(Struct, frozen=True):
    """The description of one value of structured data, such as "searched for React libraries".

    `name` is the object of the description, here "React libraries", or "" without one.
    """

    text: str
    name: str
    is_known: bool
    """Whether the type of the data is registered with `register_type`."""


class _Exchange(Struct):
    """A user message (`request`) and the structured data that followed it.

    `start` is the number of messages before the request. `request` is "" for data before the first
    user message.
    """

    request: str
    start: int
    data: list[Any]


def summarize(messages: Messages) -> ConversationSummary:
    """Summarize a conversation: its last messages, its structured data, and one line of text.

    The line describes requests and results, oldest first: "Previous: searched for React libraries,
    analyzed Zustand".
    """
    data = [m.structured_data for m in messages if m.structured_data is not None]
    types = [type for value in data if (type := type_of(value))]
    return ConversationSummary(
        messages[-LAST:], data[-1] if data else None, list(dict.fromkeys(types)), _text(messages)
    )


def _text(messages: Messages) -> str:
    latest: dict[str, None] = {}
    for exchange in _newest_first(messages):
        for deed in reversed(_deeds_of(exchange, messages)):
            latest.setdefault(deed)
        if len(latest) >= _MOST_DEEDS:
            break
    deeds = [*latest][:_MOST_DEEDS][::-1] or _last_words(messages)
    return f"Previous: {', '.join(deeds)}" if deeds else ""


def _newest_first(messages: Sequence[Message]) -> Iterator[_Exchange]:
    data: list[Any] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.structured_data is not None:
            data.append(message.structured_data)
        if message.role == "user":
            yield _Exchange(message.content, place, data[:_MOST_DATA][::-1])
            data = []
    yield _Exchange("", 0, data[:_MOST_DATA][::-1])


def _deeds_of(exchange: _Exchange, messages: Sequence[Message]) -> list[str]:
    """Return phrases for what was done in an exchange, such as "searched for React libraries".

    Structured data of a registered type that names its object is preferred. Next comes the request,
    if its verb is known. Otherwise the other data is used, and the request is quoted.
    """
    findings = [finding for value in exchange.data if (finding := _finding_of(value))]
    found = [finding.text for finding in findings]
    if any(finding.is_known and finding.name for finding in findings):
        return found
    action = parse_request(exchange.request)
    names = [finding.name for finding in findings if finding.name]
    if action is not None:
        start = exchange.start
        before = messages[max(start - _MOST_LOOKED_BACK, 0) : start]
        return [_phrase_action(action, names, before)]
    if names or not _is_worth_quoting(exchange.request):
        return found
    return [_quoted_request(exchange.request), *found]


def _phrase_action(action: Action, names: list[str], before: Sequence[Message]) -> str:
    """Return an action as text, such as "analyzed Zustand".

    If the request says only "it" or "the second one", the name of that item is inserted: the first
    of `names`, or the item found in the messages `before` the request.
    """
    name = action.object
    if _REFERENCE.fullmatch(name):
        name = next(iter(names), "") or name_of(resolve(name, before).item) or name
    return f"{action.verb} {_format_name(name)}".rstrip()


def _last_words(messages: Sequence[Message]) -> list[str]:
    said = (m.content for m in reversed(messages) if m.role == "user" and m.content.strip())
    return [_quoted_request(text) for text in (next(said, ""),) if text]


def _is_worth_quoting(request: str) -> bool:
    said = _short(request).casefold().strip(" .!?,\u2026")
    return said not in _FILLERS and any(map(str.isalnum, said))


def _quoted_request(request: str) -> str:
    return f"asked {_quoted(_short(request))}"


def _finding_of(data: Any) -> _Finding | None:
    """Describe structured data as text, such as "searched for React libraries".

    Return None if the data has no `type`.
    """
    type = type_of(data)
    if not type:
        return None
    words = _words_of(type)
    meaning = _meaning_of(type, words)
    if meaning is None:
        what, name = _short(words), _format_name(name_of(data))
        return _Finding(f"gave {what} for {name}" if name else f"gave {what}", name, False)
    subjects = (_subject(cast("dict[str, Any]", data).get(key)) for key in meaning.keys)
    name = next(filter(None, subjects), "") or _format_name(name_of(data))
    return _Finding(f"{meaning.verb} {name or 'something'}", name, True)


def _words_of(type: str) -> str:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", type)
    return apart if apart == type else apart.lower()


def _meaning_of(type: str, words: str) -> _Meaning | None:
    known = _meanings.get(type) or _meanings.get(type.lower())
    parts = words.lower().split()
    return known or next((_meanings[word] for word in _IN_COMPOUNDS if word in parts), None)


def _subject(value: Any) -> str:
    if isinstance(value, str):
        return _format_name(value)
    if not isinstance(value, Sequence):
        return ""
    things = map(name_of, cast("Sequence[Any]", value))
    names = [_format_name(name, _LONGEST_IN_LIST) for name in things if name.strip()]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES - 1 :] = [f"{len(names) - _MOST_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _format_name(name: str, longest: int = _LONGEST) -> str:
    """Return a name on one line, in quotes if it contains a comma or another separator."""
    line = _short(name, longest)
    return _quoted(line) if _AMBIGUOUS.search(line) else line


def _quoted(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _short(text: str, longest: int = _LONGEST) -> str:
    """Return text on one line, at most `longest` characters, without unprintable characters."""
    line = " ".join(clean(text.lstrip()[: 10 * longest], lines=False).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
