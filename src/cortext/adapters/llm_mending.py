"""A history as a provider takes it: each call is followed by its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

INTERRUPTED = (
    "No result was recorded: the call was interrupted or never approved. It may have taken effect "
    "or not; look before doing it again."
)
Json = dict[str, Any]


def mended(items: Sequence[Json], *, waits: bool = False) -> list[Json]:
    """The messages with a sentence in the place of each result that is missing; a result that
    stands further down, since another process wrote meanwhile, comes to its call. With `waits`
    the calls at the end stay open: llm does them when it goes on."""
    results: dict[str, list[Json]] = {}
    for item in items:
        for part in _of_kind(item, "tool_result") if item["role"] == "tool" else ():
            results.setdefault(_key(part), []).append(part)
    last = next((n for n in range(len(items) - 1, -1, -1) if items[n]["role"] != "tool"), -1)
    whole: list[Json] = []
    for number, item in enumerate(items):
        if item["role"] == "tool":
            whole += _left_over(item, results)
            continue
        whole.append(item)
        calls = [part for part in _of_kind(item, "tool_call") if not part.get("server_executed")]
        if not calls or item["role"] != "assistant":
            continue
        answers = [_answer(call, results, left_open=waits and number == last) for call in calls]
        after = items[number + 1] if number + 1 < len(items) else {}
        whole += _together(after, [answer for answer in answers if answer])
    return whole


def _together(after: Json, answers: list[Json]) -> list[Json]:
    if after.get("role") == "tool" and after["parts"] == answers:
        return [after]
    return [{"role": "tool", "parts": answers}] if answers else []


def _answer(call: Json, results: dict[str, list[Json]], *, left_open: bool) -> Json | None:
    found = results.get(_key(call))
    if found:
        return found.pop(0)
    if left_open:
        return None
    answer: Json = {"type": "tool_result", "name": call["name"], "output": INTERRUPTED}
    if call.get("tool_call_id") is not None:
        answer["tool_call_id"] = call["tool_call_id"]
    return answer


def _left_over(item: Json, results: dict[str, list[Json]]) -> list[Json]:
    """What a message of results holds beside those that have come to their calls. A result without
    a call is text: no provider takes it for anything else."""
    left: list[Json] = []
    for part in item["parts"]:
        if part.get("type") != "tool_result":
            left.append(part)
        elif any(part is each for each in results.get(_key(part), ())):
            results[_key(part)] = [each for each in results[_key(part)] if each is not part]
            left.append({"type": "text", "text": f"[result of a tool] {part.get('output', '')}"})
    return [{"role": "user", "parts": left}] if left else []


def _key(part: Json) -> str:
    """What a call and its result have in common: an id, or the name where ids were not kept."""
    id = part.get("tool_call_id")
    return f"id {id}" if id else f"name {part.get('name')}"


def _of_kind(item: Json, kind: str) -> list[Json]:
    return [part for part in item["parts"] if part.get("type") == kind]
