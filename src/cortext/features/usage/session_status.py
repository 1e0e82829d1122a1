"""What an AI tool says about its current session when it runs the command of its status line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MOST_TOKENS = 2**40
_MOST_DOLLARS = 1e9


@dataclass(frozen=True)
class SessionStatus:
    """What a tool says about its current session. Unknown values are "" or None.

    `id` is the tool's session id, and `path` is the path of the transcript. `cost_usd` is the cost
    in US dollars, as the tool counts it. `context_tokens` is the number of tokens in the context of
    the model, and `context_percent` is their part of the largest possible context.
    """

    id: str
    path: str
    cost_usd: float | None
    context_tokens: int | None
    context_percent: float | None


def read_status(payload: dict[str, Any]) -> SessionStatus:
    """Convert the JSON payload of a status line. Fields with an unusable value are left out."""
    context = _table(payload, "context_window")
    # Before the first answer and after a compaction, the tool does not know the number of tokens.
    used = _table(context, "current_usage")
    tokens = sum(int(_number(used, key, _MOST_TOKENS) or 0) for key in _INPUT_TOKENS)
    percent = _number(context, "used_percentage", 100)
    size = _number(context, "context_window_size", _MOST_TOKENS)
    if percent is None and used and size:
        percent = min(100 * tokens / size, 100)
    return SessionStatus(
        _argument(payload, "session_id"),
        _argument(payload, "transcript_path"),
        _number(_table(payload, "cost"), "total_cost_usd", _MOST_DOLLARS),
        tokens if used else None,
        percent,
    )


def _table(payload: dict[str, Any], key: str) -> dict[str, Any]:
    value = payload.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _argument(payload: dict[str, Any], key: str) -> str:
    """Return a text that can be an argument of a program; "" if the value is not such a text."""
    value = payload.get(key)
    if not isinstance(value, str) or "\0" in value:
        return ""
    return value if value.encode("utf-8", "replace").decode() == value else ""


def _number(table: dict[str, Any], key: str, most: float) -> float | None:
    value = table.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        return None
    return value
