"""Repair of a message history, so that each tool call is directly followed by its result.

Providers of models refuse other histories. The messages are llm's messages as dicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortext.adapters.call_matching import OpenCalls

INTERRUPTED = (
    "No result was recorded: the call was interrupted or never approved. It may have taken effect "
    "or not; look before doing it again."
)
Json = dict[str, Any]
Spot = tuple[int, int]
"""The position of a message part: the number of the message, and of the part in the message."""


def mended(items: Sequence[Json], *, waits: bool = False) -> list[Json]:
    """Return the messages with each tool result directly after its call.

    A result is moved to its call if another process wrote a message in between. A call without a
    result gets a substitute, which says that the call was interrupted. With `waits`, the calls of
    the last message get no substitute, because llm runs them when it continues.
    """
    results = _results(items)
    taken = set(results.values())
    last = next((n for n in range(len(items) - 1, -1, -1) if items[n]["role"] != "tool"), -1)
    whole: list[Json] = []
    for number, item in enumerate(items):
        if item["role"] == "tool":
            whole += _left_over(item, {at for message, at in taken if message == number})
            continue
        whole.append(item)
        answers: list[Json] = []
        for at in _calls(item):
            if found := results.get((number, at)):
                answers.append(items[found[0]]["parts"][found[1]])
            elif not (waits and number == last):
                answers.append(_stand_in(item["parts"][at]))
        after = items[number + 1] if number + 1 < len(items) else {}
        whole += _together(after, answers)
    return whole


def _results(items: Sequence[Json]) -> dict[Spot, Spot]:
    """Return the position of each tool call with a result, and the position of that result."""
    found: dict[Spot, Spot] = {}
    open_calls: OpenCalls[Spot] = OpenCalls()
    for number, item in enumerate(items):
        for at in _calls(item):
            open_calls.add(_key(item["parts"][at]), number, (number, at))
        for at, part in enumerate(item["parts"]) if item["role"] == "tool" else ():
            if part.get("type") == "tool_result" and (call := open_calls.answer(_key(part))):
                found[call] = number, at
    return found


def _calls(item: Json) -> list[int]:
    """Return the numbers of the parts of a message that are tool calls and need a result.

    Calls that the server of the model runs need no result from this program.
    """
    return [
        at
        for at, part in enumerate(item["parts"] if item["role"] == "assistant" else ())
        if part.get("type") == "tool_call" and not part.get("server_executed")
    ]


def _together(after: Json, answers: list[Json]) -> list[Json]:
    if after.get("role") == "tool" and after["parts"] == answers:
        return [after]
    return [{"role": "tool", "parts": answers}] if answers else []


def _stand_in(call: Json) -> Json:
    answer: Json = {"type": "tool_result", "name": call["name"], "output": INTERRUPTED}
    if call.get("tool_call_id") is not None:
        answer["tool_call_id"] = call["tool_call_id"]
    return answer


def _left_over(item: Json, taken: set[int]) -> list[Json]:
    """Return a user message with the parts of a tool message that were not moved to a call.

    `taken` holds the numbers of the moved parts. The list is empty if no part is left. A result
    without a call becomes text, because providers refuse it otherwise.
    """
    left: list[Json] = []
    for at, part in enumerate(item["parts"]):
        if part.get("type") != "tool_result":
            left.append(part)
        elif at not in taken:
            left.append({"type": "text", "text": f"[result of a tool] {part.get('output', '')}"})
    return [{"role": "user", "parts": left}] if left else []


def _key(part: Json) -> str:
    """Return a key that is equal for a tool call and its result.

    The key is the call id, or the tool name if there is no id.
    """
    id = part.get("tool_call_id")
    return f"id {id}" if id else f"name {part.get('name')}"
