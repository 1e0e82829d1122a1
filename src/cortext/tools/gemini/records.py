"""The records of a Gemini CLI transcript, and the messages that result from them.

A record with the id of an earlier message replaces that message. `$set` changes fields of the
session, such as its summary. `$set.messages` replaces the list of messages. `$rewindTo` removes a
message and everything after it.

In version 0.61, each resume writes two lists as `$set.messages`. The first list has only the
context that Gemini CLI adds. It is ignored, because it has no message of the user or the model. The
second list has the whole history, but gives a tool result the id of the message that made the call.
Therefore cortext uses a record from a list only if no earlier record has the same id and type.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from cortext.formats.message_lines import Damage
from cortext.formats.slash_command_frame import as_typed
from cortext.model import json_codec
from cortext.model.message import SessionMessage, unchecked_message
from cortext.model.title import RequestTitle
from cortext.tools import jsonl_transcripts

# The beginning of texts that Gemini CLI adds in the role of the user.
_CONTEXT = ("<session_context>", "<hook_context>")
_SNAPSHOT = "<state_snapshot>"


class _Function(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    args: Any = None
    response: Any = None


class _Media(Struct, gc=False, rename="camel"):
    mime_type: str | None = None
    display_name: str | None = None
    file_uri: str | None = None


class _Part(Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    function_call: _Function | None = None
    function_response: _Function | None = None
    inline_data: _Media | None = None
    file_data: _Media | None = None


_Content = str | list[_Part | str] | _Part | None


class _Call(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    args: Any = None
    result: _Content = None
    status: str | None = None
    timestamp: str | None = None


class GeminiTokens(Struct, gc=False):
    input: jsonl_transcripts.Count | None = None
    output: jsonl_transcripts.Count | None = None
    thoughts: jsonl_transcripts.Count | None = None
    tool: jsonl_transcripts.Count | None = None


_NAMES = {
    "display": "displayContent", "calls": "toolCalls", "started": "startTime",
    "updated": "lastUpdated", "set": "$set", "rewind": "$rewindTo",
}  # fmt: skip


class GeminiRecord(Struct, gc=False, rename=_NAMES):
    """A JSON object in a transcript.

    The object is a line of the file, or the value of `$set` in a line. In a transcript of an older
    release, the object is the whole file.
    """

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: _Content = None
    display: _Content = None
    calls: list[_Call] | None = None
    tokens: GeminiTokens | None = None
    model: str | None = None
    started: str | None = None
    updated: str | None = None
    summary: str | None = None
    directories: list[str] | None = None
    messages: list[GeminiRecord] | None = None
    set: GeminiRecord | None = None
    rewind: str | None = None


class TranscriptState:
    """The messages and facts of a transcript. Call `add` for each record of the transcript.

    Tool results of more than `longest` characters are cut to their beginning and end.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self.damages: list[Damage] = []
        self.earlier: list[GeminiRecord] = []  # records that compactions removed from the history
        self.cuts: list[int] = []  # the number of records in `earlier` after each compaction
        self.started: str = ""
        self.stamp: str = ""
        self.updated: str = ""
        self.model: str = ""
        self.summary: str = ""
        self.request_title: RequestTitle = RequestTitle()
        self.directories: Sequence[str] = ()
        self.spent: dict[str, GeminiTokens] = {}  # includes messages that the user took back
        self._live: dict[_Key, GeminiRecord] = {}
        self._known: dict[_Key, GeminiRecord] = {}
        self._generated_ids: set[str] = set()  # ids of the summaries that compactions wrote

    @property
    def title(self) -> str:
        return self.summary or self.request_title.text

    @property
    def first(self) -> datetime | None:
        return jsonl_transcripts.time_of(self.started or None)

    @property
    def last(self) -> datetime | None:
        times = map(jsonl_transcripts.time_of, (self.stamp or None, self.updated or None))
        return max((time for time in times if time), default=None)

    @property
    def keys(self) -> set[_Key]:
        """The keys (id and type) of all added messages, including messages that were removed."""
        return set(self._known)

    @staticmethod
    def key(record: GeminiRecord) -> _Key:
        return _key(record)

    @property
    def records(self) -> list[GeminiRecord]:
        return [*self.earlier, *self._live.values()]

    def add(self, record: GeminiRecord) -> None:
        if self._longest is not None:
            _shorten(record, self._longest)
        if record.rewind is not None:
            self._rewind(record.rewind)
        elif record.id is not None and record.set is None:
            self.stamp = record.timestamp or self.stamp
            key = _key(record)
            self._known[key] = record
            self._put(record, key)
        else:
            head = record.set or record
            self.started = self.started or head.started or ""
            self.updated = head.updated or self.updated
            self.summary = (head.summary or "").strip() or self.summary
            self.directories = head.directories or self.directories
            if head.messages is not None:
                self._replace(head.messages)

    def _put(self, record: GeminiRecord, key: _Key) -> None:
        if record.id in self._generated_ids:
            return
        self._live[key] = record
        self.started = self.started or record.timestamp or ""
        if record.type == "gemini":
            self.model = record.model or self.model
            if record.tokens:
                self.spent[record.id or ""] = record.tokens
        elif record.type == "user" and not self.request_title.is_final:
            self.request_title.add(said(record))

    def _rewind(self, id: str) -> None:
        keys = list(self._live)
        at = next((at for at, key in enumerate(keys) if key[0] == id), None)
        if at is None:
            note = f"ignored a rewind to {id!r:.60}, which does not exist"
            self.damages.append(Damage(note, fatal=False))
            return
        for key in keys[at:]:
            del self._live[key]

    def _replace(self, listed: list[GeminiRecord]) -> None:
        """Replace all messages by the messages in `listed`, a list that Gemini CLI wrote.

        If the list has a summary in place of older messages, the summary is left out and the older
        messages are kept. If the list has no message of the user or the model, and no summary,
        nothing is replaced.
        """
        for number, record in enumerate(listed):
            record.id = record.id or f"listed-{number}"
        new = [self._known.setdefault(_key(one), one) for one in listed]
        new = [record for record in new if record.id not in self._generated_ids]
        at = next((n for n, one in enumerate(new) if _SNAPSHOT in text_of(one.content)), None)
        if at is not None:
            new = self._compact(new[at], new[at + 1 :])
        elif not any(map(_has_message, new)):
            return
        self._live = {}
        for record in new:
            self._put(record, _key(record))

    def _compact(self, summary: GeminiRecord, tail: list[GeminiRecord]) -> list[GeminiRecord]:
        generated = [summary, *tail[:1]] if tail and tail[0].type == "gemini" else [summary]
        tail = tail[len(generated) - 1 :]  # skip the reply to the summary, which Gemini CLI wrote
        self._generated_ids.update(record.id or "" for record in generated)
        old = [record for record in self._live.values() if record.id not in self._generated_ids]
        same = 0  # the messages that stay may have new ids, but their old ids are kept
        while same < min(len(old), len(tail)) and _is_same_message(old[-1 - same], tail[-1 - same]):
            same += 1
        cut, kept = len(old) - same, set(map(_key, tail))
        self.earlier += [record for record in old[:cut] if _key(record) not in kept]
        self.cuts.append(len(self.earlier))
        return [*tail[: len(tail) - same], *old[cut:]]


_Key = tuple[str, str]


def _key(record: GeminiRecord) -> _Key:
    return record.id or "", record.type or ""


def _has_message(record: GeminiRecord) -> bool:
    return record.type == "gemini" or (record.type == "user" and said(record) != "")


def _shorten(record: GeminiRecord, longest: int) -> None:
    """Cut long tool results in a record to their beginning and end, to save memory.

    Only results of more than `longest` characters are cut. The record itself is changed.
    """
    listed = (record.set or record).messages or ()
    for one in (record, *listed):
        for content in (one.content, *[call.result for call in one.calls or ()]):
            for function in _functions(content):
                if len(text := _response(function.response)) > longest:
                    key = "error" if _is_error(function) else "output"
                    function.response = {key: jsonl_transcripts.cut(text, longest)}


def _is_same_message(one: GeminiRecord, other: GeminiRecord) -> bool:
    same = one.id == other.id or text_of(one.content) == text_of(other.content)
    return same and one.type == other.type


def _parts(content: _Content) -> Sequence[_Part | str]:
    return content if isinstance(content, list) else [content] if content else ()


def text_of(content: _Content) -> str:
    """Return the text of a message, without the model's thoughts.

    An image or file becomes a placeholder such as "[image: NAME]".
    """
    if isinstance(content, str):
        return content
    text = ""
    for part in _parts(content):
        if isinstance(part, str):
            text += part
        elif part.text is not None:
            text += "" if part.thought else part.text
        elif media := part.inline_data or part.file_data:
            kind = "image" if (media.mime_type or "").startswith("image/") else "file"
            name = media.display_name or media.file_uri or media.mime_type or "unknown type"
            text += f"\n[{kind}: {name}]" if text else f"[{kind}: {name}]"
    return text


def said(record: GeminiRecord) -> str:
    """Return the text of a message as the user typed it, or "" if Gemini CLI wrote the text."""
    text = text_of(record.content)
    if text.lstrip().startswith(_CONTEXT):
        return ""
    return (text_of(record.display) if record.display else "") or as_typed(text)


class GeminiMessages:
    """A converter of Gemini CLI's records to messages of cortext.

    A record without a time gets the time of the record before it. If the first records have no
    time, they get the time `when`.
    """

    def __init__(self, when: datetime) -> None:
        self.messages: list[SessionMessage] = []
        self._when = when
        self._answered: set[str] = set()

    def tell(self, record: GeminiRecord) -> None:
        self._when = jsonl_transcripts.time_of(record.timestamp) or self._when
        id = record.id or ""
        if record.type == "user":
            if (text := said(record)).strip():
                self.messages.append(jsonl_transcripts.message("user", text, self._when, id))
            for function in _functions(record.content):
                if function.response is not None:
                    self._answer(id, _Call(function.id, function.name, result=record.content))
        elif record.type == "gemini":
            calls, text = _calls(record), text_of(record.content)
            if calls or text.strip():
                call_dicts = [_call_to_dict(call) for call in calls] if calls else None
                self.messages.append(
                    jsonl_transcripts.message("assistant", text, self._when, id, call_dicts)
                )
            for call in calls:
                self._answer(id, call)

    def _answer(self, record: str, call: _Call) -> None:
        key = call.id or call.name or ""
        if call.result is None or key in self._answered:
            return  # newer releases also record a result as a separate turn
        if call.id:
            self._answered.add(key)
        text, failed = _result(call)
        data = {"is_error": True} if failed else None
        when = jsonl_transcripts.time_of(call.timestamp) or self._when
        self.messages.append(
            unchecked_message(
                "tool", text, when, f"{record}/{key}", None, call.id, call.name, None, data
            )
        )


def _functions(content: _Content) -> Sequence[_Function]:
    """Return the tool calls and tool results in the content of a message."""
    if content is None or isinstance(content, str):
        return ()
    functions: list[_Function] = []
    for part in content if isinstance(content, list) else (content,):
        if isinstance(part, str):
            continue
        if part.function_call:
            functions.append(part.function_call)
        if part.function_response:
            functions.append(part.function_response)
    return functions


def _calls(record: GeminiRecord) -> list[_Call]:
    """Return the tool calls of a message, from its list of calls and from its content.

    After a compaction of the history, the calls are in the content.
    """
    calls = record.calls or []
    functions = _functions(record.content)
    content_calls = (
        [function for function in functions if function.response is None] if functions else ()
    )
    if not content_calls:
        return calls
    known = {call.id for call in calls}
    return calls + [
        _Call(function.id, function.name, function.args)
        for function in content_calls
        if (function.id not in known if function.id else not calls)
    ]


def _call_to_dict(call: _Call) -> dict[str, Any]:
    return {"id": call.id or "", "name": call.name or "tool", "arguments": call.args}


def _result(call: _Call) -> tuple[str, bool]:
    """Return the result of a tool call as text, and whether the call failed."""
    responses = _functions(call.result)
    if len(responses) > 1:  # each parallel call may hold the results of all parallel calls
        responses = [one for one in responses if one.id == call.id] or responses
    failed, texts = call.status in ("error", "cancelled"), list[str]()
    for one in responses:
        failed = failed or _is_error(one)
        if text := _response(one.response):
            texts.append(text)
    if text := text_of(call.result):
        texts.append(text)
    return "\n".join(texts), failed


def _is_error(function: _Function) -> bool:
    response = function.response
    return isinstance(response, dict) and "error" in cast("dict[str, Any]", response)


def _response(response: Any) -> str:
    if response is None or isinstance(response, str):
        return response or ""
    if isinstance(response, dict):
        get = cast("dict[str, Any]", response).get
        for key in ("output", "error", "content", "result"):
            if isinstance(text := get(key), str):
                return text
    return json_codec.encode(response).decode("utf-8", "surrogatepass")
