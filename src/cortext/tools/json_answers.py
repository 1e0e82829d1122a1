"""What a tool reports of one turn without a terminal, where it is asked to report in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from cortext.model import json_codec

REPORTING: dict[str, Sequence[str]] = {
    "claude": ("--output-format", "json"),
    "opencode": ("--format", "json"),
    "gemini": ("--output-format", "json"),
    "codex": ("--json",),
}
"""The words that ask each tool for it."""


class Usage(NamedTuple):
    """Tokens that the model read, those from a cache too, and those that it wrote."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None


class Report(NamedTuple):
    """An answer, the session that it was given in, and what it took; "" and None are unknown."""

    text: str
    session: str = ""
    usage: Usage | None = None


def read_report(tool: str, said: str) -> Report:
    """What a tool's words mean. What is no report is the answer itself: a release may have another
    form of it, and an answer is never lost."""
    return _READERS[tool](said) or Report(said)


def _claude(said: str) -> Report | None:
    value = _object(said)
    if not isinstance(text := value.get("result"), str):
        return None
    used = _dict(value.get("usage"))
    read = _sum(used, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    usage = Usage(read, _sum(used, "output_tokens"), _number(value.get("total_cost_usd")))
    return Report(text, _string(value.get("session_id")), usage if used else None)


def _gemini(said: str) -> Report | None:
    value = _object(said)
    if not isinstance(text := value.get("response"), str):
        return None
    models = _dict(_dict(value.get("stats")).get("models"))
    used = [_dict(_dict(model).get("tokens")) for model in models.values()]
    read = sum(_sum(one, "prompt") for one in used)
    written = sum(_sum(one, "candidates", "thoughts") for one in used)
    return Report(text, _string(value.get("session_id")), Usage(read, written) if used else None)


def _opencode(said: str) -> Report | None:
    events = list(_events(said))
    parts = [_dict(event.get("part")) for event in events]
    texts = [_string(part.get("text")) for part in parts if part.get("type") == "text"]
    if not texts:
        return None
    ends = [part for part in parts if part.get("type") == "step-finish"]
    used = [_dict(part.get("tokens")) for part in ends]
    cached = sum(_sum(_dict(one.get("cache")), "read", "write") for one in used)
    read = sum(_sum(one, "input") for one in used) + cached
    written = sum(_sum(one, "output", "reasoning") for one in used)
    cost = sum(_number(part.get("cost")) or 0.0 for part in ends)
    session = next((id for event in events if (id := _string(event.get("sessionID")))), "")
    return Report("\n".join(texts), session, Usage(read, written, cost) if used else None)


def _codex(said: str) -> Report | None:
    texts: list[str] = []
    session, usage = "", None
    for event in _events(said):
        item, used = _dict(event.get("item")), _dict(event.get("usage"))
        session = session or _string(event.get("thread_id"))
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            texts.append(_string(item.get("text")))
        if used:
            usage = Usage(_sum(used, "input_tokens"), _sum(used, "output_tokens"))
    return Report("\n".join(texts), session, usage) if texts else None


_READERS: dict[str, Callable[[str], Report | None]] = {
    "claude": _claude,
    "opencode": _opencode,
    "gemini": _gemini,
    "codex": _codex,
}


def _events(said: str) -> Iterator[dict[str, Any]]:
    """The lines that are objects."""
    return filter(None, map(_object, said.split("\n")))


def _object(text: str) -> dict[str, Any]:
    try:
        return _dict(json_codec.decode(text.encode("utf-8", "replace")))
    except ValueError:
        return {}


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else None


def _sum(used: dict[str, Any], *names: str) -> int:
    return int(sum(_number(used.get(name)) or 0 for name in names))
