"""Tool calls at the end of a conversation that nothing came back from.

A model is not given a call without its result: it refuses the whole conversation.
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
"""How long after a call nobody waits for its result any more."""
NO_RESULT = "(no result was recorded: the conversation ended before it came)"


def stub_missing_results(
    messages: Sequence[SessionMessage], answered: Collection[str] = (), pending: object = None
) -> list[SessionMessage]:
    """A stub for each call at the end that has no result. `answered` are the ids of calls whose
    results are known from elsewhere; with a `pending` run none is missing: whoever waits for an
    approval, however long, gets the result when it is given."""
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
    """What is wrong, if anything is."""
    if not stubs:
        return []
    names = ", ".join(sorted({stub.name or "" for stub in stubs}))
    what = "a tool call" if len(stubs) == 1 else f"{len(stubs)} tool calls"
    return [Trouble(f"{what} at the end ({names:.60}) never got a result", line, WARNING)]


def describe_append(path: str, *, torn: bool, stubs: Sequence[SessionMessage]) -> str:
    """What was done to a file that was only added to."""
    done = ["ends with its last whole line again"] if torn else []
    done += ["says that there was no result"] if stubs else []
    return f"{path} {' and '.join(done)}"
