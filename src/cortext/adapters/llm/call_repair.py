"""A history as a provider takes it: each call is followed by its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortext.adapters.pending_calls import OpenCalls

INTERRUPTED = (
    "No result was recorded: the call was interrupted or never approved. It may have taken effect "
    "or not; look before doing it again."
)
Json = dict[str, Any]
Spot = tuple[int, int]
"""The number of a message, and of a part of it."""


def mended(items: Sequence[Json], *, waits: bool = False) -> list[Json]:
    """The messages with a sentence in the place of each result that is missing; a result that
    stands further down, since another process wrote meanwhile, comes to its call. With `waits`
    the calls at the end stay open: llm does them when it goes on."""
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
    """Where the result of each call stands."""
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
    """Where in a message calls stand that need a result of ours."""
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
    """What a message of results holds beside those that have come to their calls. A result without
    a call is text: no provider takes it for anything else."""
    left: list[Json] = []
    for at, part in enumerate(item["parts"]):
        if part.get("type") != "tool_result":
            left.append(part)
        elif at not in taken:
            left.append({"type": "text", "text": f"[result of a tool] {part.get('output', '')}"})
    return [{"role": "user", "parts": left}] if left else []


def _key(part: Json) -> str:
    """What a call and its result have in common: an id, or the name where ids were not kept."""
    id = part.get("tool_call_id")
    return f"id {id}" if id else f"name {part.get('name')}"
