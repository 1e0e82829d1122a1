"""The answer that a tool prints as JSON when it runs without a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from cortext.model import json_codec


class AnswerUsage(NamedTuple):
    """The tokens and the cost of an answer. `input_tokens` includes cached tokens."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None


class Report(msgspec.Struct, frozen=True):
    """The answer of a tool, the id of the tool's session, and the tokens and cost of the answer.

    `session` is "" and `usage` is None if the tool did not report them.
    """

    text: str
    session: str = ""
    usage: AnswerUsage | None = None


def read_events(output: str) -> Iterator[dict[str, Any]]:
    """Return an iterator over the JSON objects in the lines of a text. Other lines are skipped."""
    return filter(None, map(read_object, output.split("\n")))


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, or {} if the text is no JSON object."""
    try:
        return as_dict(json_codec.decode(text.encode("utf-8", "replace")))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return a decoded JSON value if it is a dict, otherwise {}."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a decoded JSON value if it is a string, otherwise ""."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """Return a decoded JSON value if it is a number, otherwise None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else None


def sum_of(used: dict[str, Any], *names: str) -> int:
    """Return the sum of the numbers in the dict `used` for the keys `names`.

    A missing number counts as 0.
    """
    return int(sum(as_number(used.get(name)) or 0 for name in names))
