"""Add a stub result for each tool call at the end of a conversation that has no result.

A model refuses a whole conversation that contains a tool call without its result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from cortext import clock
from cortext.features.doctor.problem import WARNING, Trouble
from cortext.formats.tool_call_stubs import own_result, read_call
from cortext.model.ids import derived_id
from cortext.model.message import SessionMessage

RESTS = timedelta(hours=1)
"""How long after the last message the result of a tool call may still arrive."""
NO_RESULT = "(no result was recorded: the conversation ended before it came)"


def stub_missing_results(
    messages: Sequence[SessionMessage], answered: Collection[str] = (), pending: object = None
) -> list[SessionMessage]:
    """Return a stub message for each tool call at the end of a conversation that has no result.

    `answered` contains the ids of calls whose results are stored elsewhere. If `pending` is set,
    return []: the run waits until a user approves the call, and the result comes then. Also return
    [] within an hour after the last message.
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
    """Return the damage entry for missing results of tool calls; [] if there are no `stubs`."""
    if not stubs:
        return []
    names = ", ".join(sorted({stub.name or "" for stub in stubs}))
    what = "a tool call" if len(stubs) == 1 else f"{len(stubs)} tool calls"
    return [Trouble(f"{what} at the end ({names:.60}) never got a result", line, WARNING)]


def describe_append(path: str, *, torn: bool, stubs: Sequence[SessionMessage]) -> str:
    """Return a sentence that reports what an append repaired in a file.

    `torn` says that the append moved a torn last line away. `stubs` are the results that were
    appended for tool calls without a result.
    """
    done = ["ends with its last whole line again"] if torn else []
    done += ["says that there was no result"] if stubs else []
    return f"{path} {' and '.join(done)}"
