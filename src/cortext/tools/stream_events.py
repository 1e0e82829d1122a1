"""What tools write while they answer, to pieces of text: those that write a line of JSON for each
thing that happens, and any other program."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, cast

from cortext.errors import CortextError
from cortext.model import json_codec

LONGEST = 64 << 20
"""Bytes of an answer, counted as JSON: all of it is one line of a session's file."""
LONGEST_TURN = LONGEST + (1 << 20)
"""Bytes of such a line, with what stands there besides."""
_LONGEST_LINE = 2 * LONGEST_TURN
"""Bytes of what a tool writes as one line: an answer, or a file that it read."""


class Heard(NamedTuple):
    """What came of some bytes: a piece of the answer, and what to write to the tool."""

    text: str
    reply: bytes = b""


class Speech:
    """The raw output of any program, which gets the prompt and nothing after it.

    `tokens` are those of the answer, as the tool counts; `problem` is what it says went wrong,
    `remark` what it has to say besides; `over` once it said that it has answered; `session` is the
    id of what it keeps of the turn.
    """

    stays: ClassVar[bool] = False
    """Whether the tool is written to until it has answered; else the prompt is all it reads."""
    by_file: ClassVar[bool] = False
    """Whether the end of what it writes is lost in a pipe."""

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        self.cwd = cwd
        self.model = model
        self.tokens: int | None = None
        self.problem: str = ""
        self.remark: str = ""
        self.over: bool = False
        self.session: str = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def opening(self, prompt: str) -> bytes:
        """What is written first."""
        return prompt.encode("utf-8", "replace")

    def hear(self, data: bytes) -> Heard:
        """The next bytes of its output, cut anywhere; b"" at the end of it."""
        return Heard(self._decoder.decode(data, final=not data))


class Lines(Speech):
    """JSON, a line each. What is no JSON object is passed over: tools print warnings among them."""

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._rest = bytearray()
        self._part: object = None
        self._said = False

    def hear(self, data: bytes) -> Heard:
        texts: list[str] = []
        replies: list[dict[str, Any]] = []
        for line in self._lines(data):
            try:
                value: Any = json_codec.decode(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                texts.extend(self.event(cast("dict[str, Any]", value), replies))
        return Heard(
            "".join(texts), b"".join(json_codec.encode(reply) + b"\n" for reply in replies)
        )

    def _lines(self, data: bytes) -> Iterator[bytes]:
        *whole, rest = data.split(b"\n") if data else (b"", b"")
        for line in whole:
            self._rest += line
            yield bytes(self._rest)
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > _LONGEST_LINE:
            raise CortextError(f"it wrote a line of more than {_LONGEST_LINE >> 20} MB")

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        raise NotImplementedError

    def say(self, text: object, part: object) -> Iterator[str]:
        """A piece of a text; another part of the answer begins on lines of its own."""
        if not isinstance(text, str) or not text:
            return
        if self._said and part != self._part:
            yield "\n\n"
        self._part, self._said = part, True
        yield text

    def count(self, tokens: object) -> None:
        if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
            self.tokens: int | None = tokens


class ClaudeSpeech(Lines):
    """`claude -p --output-format stream-json`, with partial messages."""

    _block = 0

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        match event:
            case {"parent_tool_use_id": str()}:
                return  # what a sub-agent says is no answer to the person
            case {"type": "stream_event", "event": {"type": "content_block_start"}}:
                self._block += 1
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": text}}}:
                yield from self.say(text, self._block)
            case {"type": "result"}:
                self.over = True
                yield from self._result(event)
            case _:
                pass

    def _result(self, event: dict[str, Any]) -> Iterator[str]:
        match event.get("usage"):
            case {"output_tokens": tokens}:
                self.count(tokens)
            case _:
                pass
        said = event.get("result")
        if event.get("is_error"):
            self.problem: str = str(said or event.get("subtype") or "it failed")
        elif not self._said:
            # A slash command of its own is answered without the model.
            yield from self.say(said, "result")


class GeminiSpeech(Lines):
    """`gemini --output-format stream-json`. It writes the prompt first, and ends without waiting
    until all was read: 460 kB of 1 MB came through a pipe, seen with 0.61."""

    by_file = True
    _calls = 0

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        match event:
            case {"type": "init", "session_id": str(id)}:
                self.session = id
            case {"type": "message", "role": "assistant", "content": text}:
                yield from self.say(text, self._calls)
            case {"type": "tool_use"}:
                self._calls += 1
            case {"type": "error", "severity": "error", "message": str(message)}:
                self.problem: str = message
            case {"type": "error", "message": str(message)}:
                self.remark = message
            case {"type": "result", "status": status}:
                self._result(event, status)
            case _:
                pass

    def _result(self, event: dict[str, Any], status: object) -> None:
        self.over = True
        match event:
            case {"stats": {"output_tokens": tokens}}:
                self.count(tokens)
            case _:
                pass
        if status == "success":
            self.problem = ""
            return
        match event.get("error"):
            case {"message": str(message)}:
                self.problem = message
            case _:
                self.problem = self.problem or str(status)
