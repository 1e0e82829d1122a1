"""Repair of a message history, so that each tool call is directly followed by its result.

Providers of models refuse any other history. The messages are llm's messages as dicts.
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
"""The position of a message part: the index of the message, and the index of the part in it."""


def repair_items(items: Sequence[Json], *, waits: bool = False) -> list[Json]:
    """Return the messages with each tool result directly after its call.

    A result is moved to its call if another process wrote a message between them. A call without a
    result gets a substitute, which says that the call was interrupted. With `waits`, the calls of
    the last message get no substitute, because llm runs these calls when it continues.
    """
    results = _results_of_calls(items)
    taken = set(results.values())
    last = next((n for n in range(len(items) - 1, -1, -1) if items[n]["role"] != "tool"), -1)
    repaired: list[Json] = []
    for number, item in enumerate(items):
        if item["role"] == "tool":
            repaired += _unmatched_parts(item, {at for message, at in taken if message == number})
            continue
        repaired.append(item)
        answers: list[Json] = []
        for at in _call_numbers(item):
            if found := results.get((number, at)):
                answers.append(items[found[0]]["parts"][found[1]])
            elif not (waits and number == last):
                answers.append(_substitute(item["parts"][at]))
        after = items[number + 1] if number + 1 < len(items) else {}
        repaired += _answer_message(after, answers)
    return repaired


def _results_of_calls(items: Sequence[Json]) -> dict[Spot, Spot]:
    """Return the positions of tool calls and results, as a dict from a call to its result.

    A call without a result is left out.
    """
    found: dict[Spot, Spot] = {}
    open_calls: OpenCalls[Spot] = OpenCalls()
    for number, item in enumerate(items):
        for at in _call_numbers(item):
            open_calls.add(_key(item["parts"][at]), number, (number, at))
        for at, part in enumerate(item["parts"]) if item["role"] == "tool" else ():
            if part.get("type") == "tool_result" and (call := open_calls.answer(_key(part))):
                found[call] = number, at
    return found


def _call_numbers(item: Json) -> list[int]:
    """Return the indexes of the message parts that are tool calls and need a result.

    Calls that the server of the model runs need no result from this program.
    """
    return [
        at
        for at, part in enumerate(item["parts"] if item["role"] == "assistant" else ())
        if part.get("type") == "tool_call" and not part.get("server_executed")
    ]


def _answer_message(after: Json, answers: list[Json]) -> list[Json]:
    if after.get("role") == "tool" and after["parts"] == answers:
        return [after]
    return [{"role": "tool", "parts": answers}] if answers else []


def _substitute(call: Json) -> Json:
    answer: Json = {"type": "tool_result", "name": call["name"], "output": INTERRUPTED}
    if call.get("tool_call_id") is not None:
        answer["tool_call_id"] = call["tool_call_id"]
    return answer


def _unmatched_parts(item: Json, taken: set[int]) -> list[Json]:
    """Return the rest of a tool message as one user message, after its results were moved to calls.

    `item` is the tool message, and `taken` has the indexes of the moved results. A result that was
    not moved has no call. It becomes text, because providers refuse a result without a call. Parts
    that are not results stay as they are. The list is empty if no part remains.
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
