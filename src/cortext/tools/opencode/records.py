"""The messages and parts of an OpenCode session, and their conversion to our messages.

A part becomes text, a tool call or a tool result. Text after a tool call starts a new message,
because older releases store all steps of an answer in one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from cortext.errors import SessionCorruptedError, file_and_reason
from cortext.formats.message_lines import Damage
from cortext.formats.slash_command_frame import as_typed
from cortext.model import json_codec, message_dicts
from cortext.model.answer_usage import TokenUsage
from cortext.model.message import SessionMessage
from cortext.tools import jsonl_transcripts
from cortext.tools.opencode.storage import Raw

_Number = int | float | None
_Amount = jsonl_transcripts.Count | jsonl_transcripts.Cost | None

T = TypeVar("T", bound=Struct)
_MOST_TOKENS = 2**40


class _Times(Struct, gc=False):
    created: _Number = None
    completed: _Number = None
    start: _Number = None
    end: _Number = None


class ModelInfo(Struct, gc=False):
    id: str | None = None
    modelID: str | None = None
    providerID: str | None = None


class _Cache(Struct, gc=False):
    read: _Amount = None
    write: _Amount = None


class _Tokens(Struct, gc=False):
    input: _Amount = None
    output: _Amount = None
    reasoning: _Amount = None
    cache: _Cache | None = None


class _ExitCode(Struct, gc=False):
    exit: int | None = None


class _PathInfo(Struct, gc=False):
    path: str | None = None


class _Attachment(Struct, gc=False):
    mime: str | None = None
    filename: str | None = None
    source: _PathInfo | None = None


class _ToolState(Struct, gc=False):
    status: str | None = None
    input: Any = None
    output: str | None = None
    error: str | None = None
    metadata: _ExitCode | None = None
    time: _Times | None = None
    attachments: list[_Attachment] | None = None


class _Invocation(Struct, gc=False):
    """A tool call in the format of OpenCode's first releases."""

    toolCallId: str | None = None
    toolName: str | None = None
    args: Any = None
    result: Any = None


class MessagePart(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    tool: str | None = None
    callID: str | None = None
    state: _ToolState | None = None
    time: _Times | None = None
    mime: str | None = None
    filename: str | None = None
    source: _PathInfo | None = None
    agent: str | None = None
    prompt: str | None = None
    toolInvocation: _Invocation | None = None


class _Ignored(Struct, gc=False):
    """A placeholder for an object that is not read."""


class _Assistant(Struct, gc=False):
    """The metadata of an answer in the format of OpenCode's first releases."""

    modelID: str | None = None
    cost: _Amount = None
    tokens: _Tokens | None = None


class _Metadata(Struct, gc=False):
    time: _Times | None = None
    assistant: _Assistant | None = None


class MessageInfo(Struct, gc=False):
    """A message as OpenCode stores it.

    `parts` is used only by OpenCode's first releases. Later releases store parts separately.
    """

    role: str | None = None
    time: _Times | None = None
    summary: bool | _Ignored | None = None
    cost: _Amount = None
    tokens: _Tokens | None = None
    modelID: str | None = None
    model: ModelInfo | None = None
    parts: list[MessagePart] | None = None
    metadata: _Metadata | None = None

    @property
    def used(self) -> str:
        """The model that wrote the answer, or that the user chose; "" if none is known."""
        old = self.metadata.assistant if self.metadata else None
        asked = self.model.modelID if self.model else None
        return self.modelID or asked or (old.modelID if old else None) or ""

    @property
    def times(self) -> _Times:
        return self.time or (self.metadata.time if self.metadata else None) or _Times()

    @property
    def spent(self) -> tuple[int, int, float]:
        """The number of input tokens, the number of output tokens, and the cost in US dollars."""
        used = self.token_usage
        read = used.input + used.cache_read + used.cache_write
        return read, used.output, self.recorded_cost

    @property
    def recorded_cost(self) -> float:
        """The cost in US dollars that OpenCode recorded, or 0 if it recorded no cost."""
        old = self.metadata.assistant if self.metadata else None
        return max(float(self.cost or (old.cost if old else None) or 0.0), 0.0)

    @property
    def token_usage(self) -> TokenUsage:
        """The number of tokens of each kind.

        OpenCode does not count reasoning as output. The result counts reasoning as output.
        """
        old = self.metadata.assistant if self.metadata else None
        tokens = self.tokens or (old.tokens if old else None) or _Tokens()
        cache = tokens.cache or _Cache()
        reasoning = _count(tokens.reasoning)
        return TokenUsage(
            input=_count(tokens.input),
            output=_count(tokens.output) + reasoning,
            cache_read=_count(cache.read),
            cache_write=_count(cache.write),
            reasoning=reasoning,
        )


def _count(amount: _Amount) -> int:
    """Return a number of tokens, or 0 for a missing or negative amount."""
    return min(max(int(amount or 0), 0), _MOST_TOKENS)


_CONTENT_TYPES = frozenset(("text", "file", "subtask", "tool", "tool-invocation", "compaction"))
"""The types of parts that matter for messages. Other types only mark the steps of an answer."""
_decode_info = msgspec.json.Decoder(MessageInfo).decode
_decode_part = msgspec.json.Decoder(MessagePart).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_info(raw: Raw, damages: list[Damage]) -> MessageInfo | None:
    try:
        return _decode_info(raw.data)
    except _UNREADABLE:
        return _tolerant(raw, MessageInfo, damages)


def read_parts(
    rows: Iterable[tuple[str, bytes]], damages: list[Damage]
) -> list[tuple[str, MessagePart]]:
    """Return the parts of a message that have content, each with its id.

    Unreadable parts are added to `damages`.
    """
    parts: list[tuple[str, MessagePart]] = []
    try:
        for id, data in rows:
            try:
                part = _decode_part(data)
            except _UNREADABLE:
                part = _tolerant(Raw(id, data), MessagePart, damages)
            if part and part.type in _CONTENT_TYPES:
                parts.append((id, part))
    except (SessionCorruptedError, OSError) as error:
        damages.append(Damage(file_and_reason(error)))
    return parts


def _tolerant(raw: Raw, kind: type[T], damages: list[Damage]) -> T | None:
    """Decode a damaged row as a struct of type `kind`, and leave out fields of a wrong type.

    The result is None if the row cannot be decoded. Each problem is added to `damages`.
    """
    notes: list[str] = []
    try:
        value = jsonl_transcripts.fit(
            message_dicts.as_dict(json_codec.decode(raw.data.strip(b"\0"), notes)), kind, notes
        )
    except ValueError as error:
        damages.append(Damage(f"{raw.id}: {error}"))
        return None
    damages += [Damage(f"{raw.id}: {note}", fatal=False) for note in notes]
    return value


class OpenCodeMessages:
    """A converter of OpenCode's messages and their parts to messages of cortext.

    `cuts` has one number for each compaction of the history: the number of messages before the
    compaction. Tool results of more than `longest` characters are cut to their beginning and end.
    """

    def __init__(self, longest: int | None) -> None:
        self.messages: list[SessionMessage] = []
        self.cuts: list[int] = []
        self._longest = longest
        self._summary_is_due = False

    def tell(self, id: str, info: MessageInfo, parts: Sequence[tuple[str, MessagePart]]) -> None:
        when = jsonl_transcripts.time_of(info.times.created) or self._last
        for _, part in parts:
            if part.type == "compaction":
                self.cuts.append(len(self.messages))
                self._summary_is_due = True
                break
        if info.role == "user":
            if text := _join_texts([_text(part) for _, part in parts]):
                self.messages.append(jsonl_transcripts.message("user", as_typed(text), when, id))
        elif info.summary is True:
            if not self._summary_is_due:
                self.cuts.append(len(self.messages))
            self._summary_is_due = False
        elif info.role == "assistant":
            self._add_answer(id, parts, when)

    @property
    def _last(self) -> datetime:
        return self.messages[-1].timestamp if self.messages else datetime.fromtimestamp(0, UTC)

    def _add_answer(
        self, id: str, parts: Sequence[tuple[str, MessagePart]], when: datetime
    ) -> None:
        texts, calls, called = list[str](), list[tuple[str, MessagePart]](), False
        for part_id, part in parts:
            if part.type == "tool" or part.type == "tool-invocation":
                called = True
                if call := _call(part_id, part):
                    calls.append((part_id, call))
            elif text := _text(part):
                if called:
                    self._add_step(id, texts, calls, when)
                    id, texts, calls, called = part_id, [], [], False
                texts.append(text)
        self._add_step(id, texts, calls, when)

    def _add_step(
        self, id: str, texts: list[str], calls: list[tuple[str, MessagePart]], when: datetime
    ) -> None:
        """Add a message with the texts and tool calls of one step of an answer.

        The results of the tool calls are added as the next messages.
        """
        text = _join_texts(texts)
        if not text and not calls:
            return
        call_dicts = [
            {"id": c.callID, "name": c.tool, "arguments": _arguments(c)} for _, c in calls
        ]
        self.messages.append(jsonl_transcripts.message("assistant", text, when, id, call_dicts))
        for part_id, call in calls:
            if result := self._result(part_id, call, when):
                self.messages.append(result)

    def _result(self, id: str, call: MessagePart, when: datetime) -> SessionMessage | None:
        state = call.state
        if state is None or (state.output is None and state.error is None):
            return None  # the call was still running
        failed = state.error is not None or state.status == "error"
        text = (state.error if state.output is None else state.output) or ""
        if state.attachments:
            files = [_placeholder(one) for one in state.attachments]
            text = "\n".join([text, *files] if text else files)
        code = state.metadata.exit if state.metadata else None
        facts: dict[str, Any] = {} if code is None else {"exit_code": code}
        if failed:
            facts["is_error"] = True
        return jsonl_transcripts.message(
            "tool",
            jsonl_transcripts.cut(text, self._longest),
            (state.time and jsonl_transcripts.time_of(state.time.end or state.time.start)) or when,
            f"{id}/result",
            answers=call.callID,
            name=call.tool,
            data=facts or None,
        )


def _call(id: str, part: MessagePart) -> MessagePart | None:
    """Return a part of a message as a tool call in the format of newer releases of OpenCode.

    The result is None if the part is not a tool call. `id` is used if the call has no id.
    """
    old = part.toolInvocation
    if part.type == "tool-invocation" and old:
        output = old.result if isinstance(old.result, str) or old.result is None else _json(old)
        state = _ToolState("completed", old.args, output)
        return MessagePart(
            "tool", tool=old.toolName or "tool", callID=old.toolCallId or id, state=state
        )
    if part.type != "tool":
        return None
    part.tool, part.callID = part.tool or "tool", part.callID or id
    return part


def _arguments(call: MessagePart) -> Any:
    return call.state.input if call.state else None


def _json(old: _Invocation) -> str:
    return json_codec.encode(old.result).decode("utf-8", "surrogatepass")


def _join_texts(texts: list[str]) -> str:
    text = "\n".join(filter(None, texts))
    return "" if text.isspace() else text


def _text(part: MessagePart) -> str:
    """Return the text of a part, or a placeholder for a file.

    The result is "" for a part without text, and for text that OpenCode itself added.
    """
    if part.synthetic or part.ignored:
        return ""
    if part.type == "text":
        return part.text or ""
    if part.type == "file":
        return _placeholder(part)
    if part.type == "subtask":
        return f"[sub-agent {part.agent or ''}] {part.prompt or ''}".strip()
    return ""


def _placeholder(file: _Attachment | MessagePart) -> str:
    kind = "image" if (file.mime or "").startswith("image/") else "file"
    path = file.source.path if file.source else None
    return f"[{kind}: {file.filename or path or file.mime or 'unknown type'}]"
