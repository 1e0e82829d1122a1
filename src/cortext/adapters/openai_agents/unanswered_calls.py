"""Substitute results for tool calls without a result, so that the model knows of these calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cortext.adapters.call_matching import OpenCalls

INTERRUPTED = (
    "No result was recorded: the call was interrupted or never approved. It may have taken effect "
    "or not; look before doing it again."
)
_OUTPUTS: dict[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""Each type of tool call whose result can be a text, with the type of its result.

Other calls get no substitute result, for example a call whose result is a screenshot.
"""
_OTHER_CALLS = frozenset(("computer_call", "local_shell_call", "tool_search_call"))
_CALL_TYPES = frozenset(
    (*_OUTPUTS, *_OUTPUTS.values(), *_OTHER_CALLS, *(f"{kind}_output" for kind in _OTHER_CALLS))
)
"""The types of all tool calls and results. Only such items can be between a call and its result."""


def repair_items(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of a history, with a substitute for each missing tool result.

    The substitute says that the call was interrupted or never approved.
    """
    lost = _find_open_calls(items)
    if not lost:
        return list(items)
    counts = Counter(item.get("call_id") for item in items if item.get("type") in _OUTPUTS)
    repaired: list[dict[str, Any]] = []
    open_calls: list[dict[str, Any]] = []
    for number, item in enumerate(items):
        if open_calls and item.get("type") not in _CALL_TYPES:
            repaired += map(_substitute, open_calls)
            open_calls.clear()
        if number in lost:
            if counts[item["call_id"]] > 1:
                # The runner treats calls with the same id as one call.
                item = {**item, "call_id": f"{item['call_id']}.{number}"}
            open_calls.append(item)
        repaired.append(item)
    return repaired + list(map(_substitute, open_calls))


def _find_open_calls(items: Sequence[dict[str, Any]]) -> set[int]:
    """Return the positions in `items` of the tool calls that have no result."""
    calls: OpenCalls[int] = OpenCalls()
    turn = 0
    for number, item in enumerate(items):
        kind, id = str(item.get("type")), item.get("call_id")
        if kind not in _CALL_TYPES:
            turn = number
        if not id:
            continue
        if kind in _OUTPUTS:
            calls.add(f"{_OUTPUTS[kind]} {id}", turn, number)
        elif kind.endswith("_output"):
            calls.answer(f"{kind} {id}")
    return calls.left()


def _substitute(call: dict[str, Any]) -> dict[str, Any]:
    kind = _OUTPUTS[call["type"]]
    answer: dict[str, Any] = {"call_id": call["call_id"], "output": INTERRUPTED, "type": kind}
    if kind == "shell_call_output":
        outcome = {"type": "exit", "exit_code": 1}
        answer["output"] = [{"stdout": "", "stderr": INTERRUPTED, "outcome": outcome}]
    if kind == "apply_patch_call_output":
        answer["status"] = "failed"
    return answer
