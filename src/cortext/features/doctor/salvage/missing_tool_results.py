"""Create a stub, a placeholder message, for each tool call without a result.

Only tool calls at the end of a conversation are considered. A model refuses a whole conversation
that contains a tool call without its result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from cortext import clock
from cortext.features.doctor.check_results import WARNING, Trouble
from cortext.formats.tool_call_stubs import own_result, read_call
from cortext.model.ids import derived_id
from cortext.model.message import SessionMessage

RESTS = timedelta(hours=1)
"""How long after the last message the result of a tool call may still arrive."""
NO_RESULT = "(no result was recorded: the conversation ended before it came)"


def stub_missing_results(
    messages: Sequence[SessionMessage], answered: Collection[str] = (), pending: object = None
) -> list[SessionMessage]:
    """Return a stub (placeholder) result for each tool call without a result.

    Only calls at the end of the conversation `messages` are considered. `answered` contains the ids
    of calls whose results are stored elsewhere. Return [] if the last message is less than an hour
    old, because the result may still arrive. Also return [] if `pending` is set, because the call
    then waits for the user's approval.
    """
    if pending:
        return []
    last = len(messages) - 1
    while last >= 0 and messages[last].role == "tool":
        last -= 1
    if last < 0 or messages[last].role != "assistant":
        return []
    if not messages[last].tool_calls or clock.now() - messages[-1].timestamp < RESTS:
        return []
    known = {message.tool_call_id for message in messages[last:]} | set(answered)
    calls = [each for each in messages[last].tool_calls or () if own_result(each) is None]
    wanted = [call for call in map(read_call, calls) if call.id and call.id not in known]
    when = messages[-1].timestamp
    return [
        SessionMessage(
            "tool",
            NO_RESULT,
            when,
            derived_id("no result", messages[last].id, call.id),
            tool_call_id=call.id,
            name=call.name,
        )
        for call in wanted
    ]


def describe_missing_results(
    stubs: Sequence[SessionMessage], line: int | None = None
) -> list[Trouble]:
    """Return the damage entry that reports tool calls without a result.

    `stubs` are the placeholder results for these calls. Return [] if `stubs` is empty. `line` is
    the line number to report, or None.
    """
    if not stubs:
        return []
    names = ", ".join(sorted({stub.name or "" for stub in stubs}))
    what, have = ("a tool call", "has") if len(stubs) == 1 else (f"{len(stubs)} tool calls", "have")
    return [Trouble(f"{what} at the end ({names:.60}) {have} no result", line, WARNING)]


def describe_append(path: str, *, torn: bool, stubs: Sequence[SessionMessage]) -> str:
    """Return a sentence that reports which damage was repaired by appending to a file.

    `torn` says that an incomplete last line was moved to another file. `stubs` are the placeholder
    results that were appended for tool calls without a result.
    """
    done = ["ends with a complete line again"] if torn else []
    done += ["records the missing tool results"] if stubs else []
    return f"{path} {' and '.join(done)}"
