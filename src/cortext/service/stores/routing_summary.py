"""A summary of a conversation in one line, for a program that decides which agent answers next.

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
from cortext.service.stores.structured_data import name_of, type_of
from cortext.service.stores.user_request_parser import Action, parse_request

LAST = 3
_MAX_PHRASES = 5
_MAX_NAMES = 5
_MAX_LENGTH = 80
_MAX_LENGTH_IN_LIST = 40
_MAX_DATA = 20
"""The maximum number of values of structured data for each user request. Newer values are used."""
_MAX_MESSAGES_BACK = 20
"""How many messages before a request are searched for the item that the request means."""
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
"""Matches a phrase that means an item without its name, such as "the second one"."""
_AMBIGUOUS = re.compile(r'[",;\\]')
"""Separators and quotes in the summary. A name that contains such a character is quoted."""


class _Meaning(Struct, frozen=True):
    """The words with which a summary describes structured data of one type.

    The description is `verb`, such as "searched for", and the object of the verb. The object is
    taken from the first of `keys` that has a value in the data.
    """

    verb: str
    keys: tuple[str, ...]


_meanings: dict[str, _Meaning] = {}


def register_type(type: str, verb: str, *keys: str) -> None:
    """Register the words with which a summary describes structured data of a type.

    After `register_type("search", "searched for", "query")`, the data `{"type": "search", "query":
    "React libraries"}` is described as "searched for React libraries". If several keys are given,
    the first key with a value in the data is used.
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
_COMPOUND_TYPES = ("error", "search", "analysis", "comparison", "recommendation")
"""Types that are also found inside a longer type, as `search` in `search_results`."""


class _Finding(Struct, frozen=True):
    """The description of one value of structured data.

    `text` is the description, such as "searched for React libraries". `name` is the object in the
    description, such as "React libraries", or "" if the description has no object.
    """

    text: str
    name: str
    is_known: bool
    """Whether the type of the data is registered with `register_type`."""


class _Exchange(Struct):
    """A user message, and the structured data that follows until the next user message.

    `request` is the text of the user message, or "" for data before the first user message. `start`
    is the number of messages before the user message.
    """

    request: str
    start: int
    data: list[Any]


def summarize(messages: Messages) -> ConversationSummary:
    """Summarize a conversation: its last messages, its structured data, and a text of one line.

    The text describes requests and results, oldest first, as in "Previous: searched for React
    libraries, analyzed Zustand".
    """
    data = [m.structured_data for m in messages if m.structured_data is not None]
    types = [type for value in data if (type := type_of(value))]
    return ConversationSummary(
        messages[-LAST:],
        data[-1] if data else None,
        list(dict.fromkeys(types)),
        _summary_line(messages),
    )


def _summary_line(messages: Messages) -> str:
    latest: dict[str, None] = {}
    for exchange in _exchanges_newest_first(messages):
        for phrase in reversed(_describe_exchange(exchange, messages)):
            latest.setdefault(phrase)
        if len(latest) >= _MAX_PHRASES:
            break
    phrases = [*latest][:_MAX_PHRASES][::-1] or _quote_last_request(messages)
    return f"Previous: {', '.join(phrases)}" if phrases else ""


def _exchanges_newest_first(messages: Sequence[Message]) -> Iterator[_Exchange]:
    data: list[Any] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.structured_data is not None:
            data.append(message.structured_data)
        if message.role == "user":
            yield _Exchange(message.content, index, data[:_MAX_DATA][::-1])
            data = []
    yield _Exchange("", 0, data[:_MAX_DATA][::-1])


def _describe_exchange(exchange: _Exchange, messages: Sequence[Message]) -> list[str]:
    """Describe an exchange in phrases such as "searched for React libraries".

    An exchange is a user request and the structured data that followed it. `messages` are all
    messages of the conversation. The first of these rules that applies is used:

    - If some data has a registered type and a name, describe the data.
    - If the verb of the request is known, describe the request.
    - If some data has a name, or if the request is not worth quoting, describe the data.
    - Otherwise quote the request, and describe the data.
    """
    findings = [finding for value in exchange.data if (finding := _describe_data(value))]
    descriptions = [finding.text for finding in findings]
    if any(finding.is_known and finding.name for finding in findings):
        return descriptions
    action = parse_request(exchange.request)
    names = [finding.name for finding in findings if finding.name]
    if action is not None:
        start = exchange.start
        earlier = messages[max(start - _MAX_MESSAGES_BACK, 0) : start]
        return [_phrase_action(action, names, earlier)]
    if names or not _is_worth_quoting(exchange.request):
        return descriptions
    return [_quote_request(exchange.request), *descriptions]


def _phrase_action(action: Action, names: list[str], earlier: Sequence[Message]) -> str:
    """Return an action as text: its verb and its object, such as "analyzed Zustand".

    If the object is only a reference such as "it", it is replaced by a name. `names` are the names
    in the results of the action, and the first of them is used. If `names` is empty, the `earlier`
    messages show which item the reference means, and the name of this item is used. If no name is
    found, the reference stays.
    """
    name = action.object
    if _REFERENCE.fullmatch(name):
        name = next(iter(names), "") or name_of(resolve(name, earlier).item) or name
    return f"{action.verb} {_format_name(name)}".rstrip()


def _quote_last_request(messages: Sequence[Message]) -> list[str]:
    requests = (m.content for m in reversed(messages) if m.role == "user" and m.content.strip())
    return [_quote_request(text) for text in (next(requests, ""),) if text]


def _is_worth_quoting(request: str) -> bool:
    words = _shorten(request).casefold().strip(" .!?,\u2026")
    return words not in _FILLERS and any(map(str.isalnum, words))


def _quote_request(request: str) -> str:
    return f"asked {_quote(_shorten(request))}"


def _describe_data(data: Any) -> _Finding | None:
    """Describe structured data as text, such as "searched for React libraries".

    Return None if the data has no `type`.
    """
    type = type_of(data)
    if not type:
        return None
    words = _split_words(type)
    meaning = _find_meaning(type, words)
    if meaning is None:
        type_words, name = _shorten(words), _format_name(name_of(data))
        return _Finding(
            f"gave {type_words} for {name}" if name else f"gave {type_words}", name, False
        )
    subjects = (_format_subject(cast("dict[str, Any]", data).get(key)) for key in meaning.keys)
    name = next(filter(None, subjects), "") or _format_name(name_of(data))
    return _Finding(f"{meaning.verb} {name or 'something'}", name, True)


def _split_words(type: str) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", type)
    return spaced if spaced == type else spaced.lower()


def _find_meaning(type: str, words: str) -> _Meaning | None:
    registered = _meanings.get(type) or _meanings.get(type.lower())
    parts = words.lower().split()
    return registered or next((_meanings[word] for word in _COMPOUND_TYPES if word in parts), None)


def _format_subject(value: Any) -> str:
    if isinstance(value, str):
        return _format_name(value)
    if not isinstance(value, Sequence):
        return ""
    item_names = map(name_of, cast("Sequence[Any]", value))
    names = [_format_name(name, _MAX_LENGTH_IN_LIST) for name in item_names if name.strip()]
    if len(names) > _MAX_NAMES:
        names[_MAX_NAMES - 1 :] = [f"{len(names) - _MAX_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _format_name(name: str, longest: int = _MAX_LENGTH) -> str:
    """Return a name on one line. A name that contains a comma or another separator is quoted."""
    line = _shorten(name, longest)
    return _quote(line) if _AMBIGUOUS.search(line) else line


def _quote(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _shorten(text: str, longest: int = _MAX_LENGTH) -> str:
    """Return text on one line, with at most `longest` characters and only printable characters."""
    line = " ".join(clean(text.lstrip()[: 10 * longest], lines=False).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
