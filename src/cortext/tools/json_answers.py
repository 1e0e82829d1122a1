"""The answer of a tool to one question without a terminal, where the tool reports it in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.model import json_codec


class AnswerUsage(NamedTuple):
    """Tokens that the model read, those from a cache too, and those that it wrote."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None


class Report(NamedTuple):
    """An answer, the session that it was given in, and what it took; "" and None are unknown."""

    text: str
    session: str = ""
    usage: AnswerUsage | None = None


def read_events(said: str) -> Iterator[dict[str, Any]]:
    """Return the lines of a text that are JSON objects."""
    return filter(None, map(read_object, said.split("\n")))


def read_object(text: str) -> dict[str, Any]:
    """Return a JSON object; empty if the text is none."""
    try:
        return as_dict(json_codec.decode(text.encode("utf-8", "replace")))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return a foreign value if it is a dict; otherwise an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a foreign value if it is a string; otherwise ""."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """Return a foreign value if it is a number; otherwise None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else None


def sum_of(used: dict[str, Any], *names: str) -> int:
    """Return the sum of some numbers of a dict."""
    return int(sum(as_number(used.get(name)) or 0 for name in names))
