"""Conversion of events of Google's Agent Development Kit (ADK) to cortext records and back.

A record is one stored message. An event with several tool results becomes several records, one for
each result, so that users and other frameworks can read each result. The last record of an event
also holds the whole event in its `extra`, so the event comes back unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from cortext.adapters.call_matching import OpenCalls
from cortext.adapters.exact_json import from_store, to_store
from cortext.adapters.missing_framework import needs
from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.message import SessionMessage

with needs("google-adk"):
    from google.adk.events.event import Event
    from google.genai import types

KEY = "google_adk"
"""The key under which the `extra` of a record holds an ADK event."""
PART = "part_of"
"""The key in the ADK data that marks a record with only a part of an event.

Its value is the id of the record that holds the whole event.
"""
ASSISTANT = "assistant"
"""The author of an event that is made from an assistant message of another program."""
INTERRUPTED = (
    "No result was recorded: the call was interrupted. It may have taken effect or not; look "
    "before doing it again."
)
Json = dict[str, Any]


def raw_of(event: Event) -> bytes:
    return event.model_dump_json(exclude_none=True).encode("utf-8")


def records_of(raw: bytes, id: str = "") -> list[SessionMessage]:
    """Convert an event to the records (stored messages) that store it. `raw` is the event as JSON.

    The last record holds the whole event. Its id is `id`, or the id of the event if `id` is "".
    """
    data = cast("Json", json_codec.decode(raw))
    id = id or data["id"]
    when = datetime.fromtimestamp(data["timestamp"], UTC)
    shown = _readable_records(data)
    part = {KEY: {PART: id}}
    return [
        *(
            SessionMessage(id=f"{id}.{number}", timestamp=when, extra=part, **one)
            for number, one in enumerate(shown[:-1])
        ),
        SessionMessage(id=id, timestamp=when, extra={KEY: to_store(raw)}, **shown[-1]),
    ]


def own_event(record: SessionMessage) -> Any:
    """Return the ADK data in a record, or None if another program wrote the record.

    If the record holds a whole event, the data is this event. If the record holds only a part of an
    event, the data contains the id of the record that holds the whole event (see `is_part`).
    """
    return record.extra.get(KEY)


def is_part(stored: Any) -> bool:
    """Return whether a record stores only a part of an event.

    In this case, another record stores the whole event. `stored` is the ADK data of the record, as
    `own_event` returned it.
    """
    return PART in stored


def event_of(stored: Any) -> Event:
    return Event.model_validate_json(from_store(stored))


def made_of(record: SessionMessage, names: Mapping[str, str], invocation: str) -> list[Event]:
    """Return ADK events with the content of a record that another program wrote.

    `names` maps the ids of earlier tool calls to tool names. `invocation` is the invocation id of
    the new events.
    """
    fields: Json = {"invocation_id": invocation, "timestamp": record.timestamp.timestamp()}
    if record.role == "tool":
        call = record.tool_call_id or ""
        part = _result_part(call, names.get(call, "tool"), record.content)
        return [_event(record.id, ASSISTANT, "user", [part], fields)] if call else []
    text = [types.Part(text=record.content)] if record.content.strip() else []
    if record.role != "assistant":
        # A system prompt of another program is not an instruction to this agent.
        return [_event(record.id, "user", "user", text, fields)] if text else []
    calls = [call for call in record.tool_calls or () if tool_call_stubs.id_of(call)]
    parts = [*text, *map(_call_part, calls)]
    events = [_event(record.id, ASSISTANT, "model", parts, fields)] if parts else []
    results = [
        _result_part(
            tool_call_stubs.id_of(call), tool_call_stubs.read_call(call).name, result.value
        )
        for call in calls
        if (result := tool_call_stubs.own_result(call)) is not None
    ]
    if results:
        events.append(_event(f"{record.id}.1", ASSISTANT, "user", results, fields))
    return events


def repair_events(
    events: Sequence[Event], invocation: str, among: Sequence[Event] | None = None
) -> list[Event]:
    """Return the events with a substitute result after each interrupted tool call.

    A call without a result counts as interrupted, except for two kinds of calls: calls that wait
    for a client or a task, and calls of the current run of the agent. `invocation` is the id of
    this run. If `events` is only a part of a session, pass all events of the session as `among`, to
    find call ids that occur more than once.
    """
    open_calls = _open_calls(events)
    others = events if among is None else among
    count = Counter(call.id for one in others for call in one.get_function_calls() if open_calls)
    # A long-running call waits for its client. A call that began a task waits for the task.
    waiting = {id for event in events for id in event.long_running_tool_ids or ()}
    waiting |= {event.isolation_scope for event in events if event.isolation_scope}
    repaired: list[Event] = []
    for number, event in enumerate(events):
        calls = [] if event.invocation_id == invocation else event.get_function_calls()
        ids = {call.id for call in calls if (number, call.id) in open_calls} - waiting
        repeated = {id for id in ids if count[id] > 1}
        if repeated:
            event = _with_unique_ids(event, repeated)
            ids = ids - repeated | {f"{id}.{event.id}" for id in repeated}
        repaired.append(event)
        if ids:
            interrupted = [call for call in event.get_function_calls() if call.id in ids]
            repaired.append(_substitute_event(event, interrupted))
    return repaired


def _open_calls(events: Sequence[Event]) -> set[tuple[int, str | None]]:
    """Return the tool calls without a result, as pairs of event number and call id."""
    calls: OpenCalls[tuple[int, str | None]] = OpenCalls()
    for number, event in enumerate(events):
        for answer in event.get_function_responses():
            calls.answer(answer.id or "")
        for call in event.get_function_calls():
            if call.id:
                calls.add(call.id, number, (number, call.id))
    return calls.left()


def _with_unique_ids(event: Event, ids: set[str | None]) -> Event:
    """Return a copy of an event in which the calls with these ids have new, unique ids.

    Unique ids are needed, because the framework treats calls with the same id as one call.
    """
    renamed = event.model_copy(deep=True)
    for call in renamed.get_function_calls():
        if call.id in ids:
            call.id = f"{call.id}.{event.id}"
    return renamed


def repair_last(events: list[Event], invocation: str) -> None:
    """Add a substitute result to `events` for each interrupted tool call of the previous agent run.

    ADK calls a run of the agent an invocation. `invocation` is the id of the run that begins now.
    The previous run is the run of the last event. If the last event already belongs to the new run,
    do nothing. Runs before the previous one need no repair, because they were repaired earlier.
    """
    if not events or events[-1].invocation_id == invocation:
        return
    start = len(events)
    while start and events[start - 1].invocation_id == events[-1].invocation_id:
        start -= 1
    events[start:] = repair_events(events[start:], invocation, events)


def _substitute_event(event: Event, calls: list[types.FunctionCall]) -> Event:
    parts = [_result_part(call.id or "", call.name or "", {"error": INTERRUPTED}) for call in calls]
    fields: Json = {
        "invocation_id": event.invocation_id,
        "timestamp": event.timestamp,
        "branch": event.branch,
        "isolation_scope": event.isolation_scope,
    }
    return _event(f"{event.id}.interrupted", event.author, "user", parts, fields)


def _event(id: str, author: str, role: str, parts: list[types.Part], fields: Json) -> Event:
    return Event(id=id, author=author, content=types.Content(role=role, parts=parts), **fields)


def _call_part(call: Json) -> types.Part:
    read = tool_call_stubs.read_call(call)
    given = types.FunctionCall(id=read.id, name=read.name, args=read.arguments)
    return types.Part(function_call=given)


def _result_part(id: str, name: str, value: Any) -> types.Part:
    response = cast("Json", value) if isinstance(value, dict) else {"result": value}
    return types.Part(function_response=types.FunctionResponse(id=id, name=name, response=response))


def _readable_records(data: Json) -> list[Json]:
    """Return the readable fields of each record that stores an event, such as role and content.

    There is one record for each tool result. The last record has the text and the tool calls.
    """
    content = cast("Json", data.get("content") or {})
    parts = cast("list[Json]", content.get("parts") or [])
    shown: list[Json] = []
    calls: list[Json] = []
    for part in parts:
        if call := part.get("function_call"):
            arguments: Json = call.get("args") or {}
            name = call.get("name", "")
            calls.append({"id": call.get("id", ""), "name": name, "arguments": arguments})
        elif answer := part.get("function_response"):
            text = _response_text(answer.get("response"))
            id = answer.get("id")
            name = answer.get("name")
            shown.append({"role": "tool", "content": text, "tool_call_id": id, "name": name})
    text = "\n".join(line for line in map(_part_text, parts) if line) or _transcription(data)
    if text or calls:
        role = "user" if data.get("author") == "user" else "assistant"
        shown.append({"role": role, "content": text, "tool_calls": calls or None})
    return shown or [{"role": "system", "content": ""}]


def _part_text(part: Json) -> str:
    if part.get("thought"):
        return ""
    if isinstance(part.get("text"), str):
        return part["text"]
    for name, key in (("executable_code", "code"), ("code_execution_result", "output")):
        if name in part:
            return str(part[name].get(key, ""))
    blob = part.get("inline_data") or part.get("file_data")
    if not blob:
        return ""
    kind = str(blob.get("mime_type", "")).partition("/")[0]
    return f"[{kind}]" if kind in ("image", "audio", "video") else "[file]"


def _transcription(data: Json) -> str:
    names = ("input_transcription", "output_transcription")
    transcriptions: list[Json] = [data.get(name) or {} for name in names]
    return "\n".join(_texts(one.get("text") for one in transcriptions)) or data.get(
        "error_message", ""
    )


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]


def _response_text(response: Any) -> str:
    if isinstance(response, dict):
        values = cast("Json", response)
        if list(values) == ["result"] and isinstance(values["result"], str):
            return values["result"]
    return json_codec.encode(response).decode("utf-8")
