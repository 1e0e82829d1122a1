"""The output of a program while it answers, as pieces of text: plain output, and lines of JSON."""

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


class JsonLineStream(Speech):
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
