"""Parsers for the output of a tool that runs without a terminal.

The output is plain text, lines of JSON, or JSON-RPC messages. It is parsed while the tool answers,
or as a whole report after the tool has ended.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, cast

import msgspec

from cortext.errors import CortextError
from cortext.model import json_codec

LONGEST = 64 << 20
"""The maximum bytes of an answer in JSON, which must fit on one line of a session file."""
LONGEST_TURN = LONGEST + (1 << 20)
"""The maximum bytes of a line in a session file, which holds an answer and other fields."""
_LONGEST_LINE = 2 * LONGEST_TURN
"""The maximum bytes of a line that a tool writes: an answer, or the content of a file."""
_NO_SUCH_METHOD = -32601
_REFUSED = "the tool asked for a permission that its settings do not grant; cortext declined"


class ParsedOutput(NamedTuple):
    """The result of parsing some output: text of the answer, and bytes to send to the tool."""

    text: str
    reply: bytes = b""


class Speech:
    """A parser for the output of a program that reads a prompt and writes its answer as plain text.

    `tokens` is the number of tokens of the answer, as the tool counts them. `problem` is an error
    that the tool reports, and `remark` is a note for the user. `over` is True after the tool has
    reported the end of its answer. `session` is the id of the session that the tool stores, or "".
    """

    stays: ClassVar[bool] = False
    """Whether the input of the tool stays open until the tool has answered.

    Otherwise, the input is closed after the prompt.
    """
    by_file: ClassVar[bool] = False
    """Whether the output must go to a file, because the tool loses the end of output in a pipe."""

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
        """Return the first bytes to send to the program.

        Here, these bytes are the prompt. A subclass for JSON-RPC returns its first request instead.
        """
        return prompt.encode("utf-8", "replace")

    def hear(self, data: bytes) -> ParsedOutput:
        """Parse the next bytes of the output.

        `data` may end in the middle of a line or of a character. If `data` is empty, the output has
        ended.
        """
        return ParsedOutput(self._decoder.decode(data, final=not data))


class JsonLineStream(Speech):
    """A parser for output of JSON lines. Other lines, such as warnings of the tool, are skipped."""

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._rest = bytearray()
        self._part: object = None
        self._has_text = False

    def hear(self, data: bytes) -> ParsedOutput:
        texts: list[str] = []
        replies: list[dict[str, Any]] = []
        for line in self._lines(data):
            try:
                value: Any = json_codec.decode(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                texts.extend(self.event(cast("dict[str, Any]", value), replies))
        return ParsedOutput(
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
            raise CortextError(f"the tool wrote a line of more than {_LONGEST_LINE >> 20} MB")

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        raise NotImplementedError

    def say(self, text: object, part: object) -> Iterator[str]:
        """Yield `text`, a piece of the answer.

        `part` identifies the paragraph that `text` belongs to. If the previous text belongs to
        another paragraph, an empty line is yielded first. If `text` is not a string, or is empty,
        nothing is yielded.
        """
        if not isinstance(text, str) or not text:
            return
        if self._has_text and part != self._part:
            yield "\n\n"
        self._part, self._has_text = part, True
        yield text

    def count(self, tokens: object) -> None:
        if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
            self.tokens: int | None = tokens


class JsonRpcStream(JsonLineStream):
    """A client for a tool that uses JSON-RPC on stdin and stdout.

    After each response of the tool, the client sends its next request. With JSON-RPC, cortext gets
    each piece of an answer as soon as the tool writes it. Without JSON-RPC, these tools print a
    message only when it is complete.

    The client declines requests of the tool, for example for a permission, because no user can
    answer them.
    """

    stays = True
    _has_version: ClassVar[bool] = True

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._prompt = ""
        self._methods: list[str] = []

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._methods.append(method)
        return self._frame({"id": len(self._methods) - 1, "method": method, "params": params})

    def _frame(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", **message} if self._has_version else message

    def opening(self, prompt: str) -> bytes:
        self._prompt = prompt.encode("utf-8", "replace").decode("utf-8")
        return json_codec.encode(self._first_request()) + b"\n"

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        match event:
            case {"id": id, "method": str(method)}:
                answer = self._decline(method, event.get("params"))
                error = {"code": _NO_SUCH_METHOD, "message": "cortext has no such method"}
                outcome = {"result": answer} if answer else {"error": error}
                replies.append(self._frame({"id": id, **outcome}))
                if answer:
                    self.remark: str = _REFUSED + _describe_request(as_dict(event.get("params")))
            case {"method": str(method)}:
                yield from self._read_notification(method, as_dict(event.get("params")))
            case {"id": int(id), "error": error} if id < len(self._methods):
                self._fail(error)
            case {"id": int(id), "result": result} if id < len(self._methods):
                replies.extend(self._next_requests(self._methods[id], as_dict(result)))
            case _:
                pass

    def _fail(self, error: object) -> None:
        self.over = True
        match error:
            case {"data": {"message": str(message)}} | {"message": str(message)}:
                self.problem: str = message
            case _:
                self.problem = "the tool failed"

    def _first_request(self) -> dict[str, Any]:
        raise NotImplementedError

    def _next_requests(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the requests to send after the tool has answered one of our requests.

        `method` is the method of the answered request, and `result` is the answer.
        """
        raise NotImplementedError

    def _read_notification(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        """Yield the text of the answer in a notification from the tool."""
        raise NotImplementedError

    def _decline(self, method: str, params: object) -> dict[str, Any] | None:
        """Return the result that declines a request of the tool, or None for an unknown method."""
        raise NotImplementedError


def _describe_request(params: dict[str, Any]) -> str:
    """Return ": " and a description of the permission that a tool asks for.

    The description is a command or a title. The result is "" if `params` has neither.
    """
    wanted = params.get("command") or as_dict(params.get("toolCall")).get("title")
    return f": {wanted}" if isinstance(wanted, str) else ""


class AnswerUsage(NamedTuple):
    """The tokens and the cost of an answer. `input_tokens` includes cached tokens."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None


class Report(msgspec.Struct, frozen=True):
    """The answer of a tool, the id of the tool's session, and the tokens and cost of the answer.

    `session` is "" and `usage` is None if the tool did not report them.
    """

    text: str
    session: str = ""
    usage: AnswerUsage | None = None


def read_events(output: str) -> Iterator[dict[str, Any]]:
    """Return an iterator over the JSON objects in a text that has one on each line.

    Lines without a JSON object are skipped.
    """
    return filter(None, map(read_object, output.split("\n")))


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, or {} if the text is no JSON object."""
    try:
        return as_dict(json_codec.decode(text.encode("utf-8", "replace")))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return a decoded JSON value if it is a dict, otherwise {}."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a decoded JSON value if it is a string, otherwise ""."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """Return a decoded JSON value if it is a number, otherwise None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else None


def sum_of(used: dict[str, Any], *names: str) -> int:
    """Return the sum of the numbers in the dict `used` for the keys `names`.

    A missing number counts as 0.
    """
    return int(sum(as_number(used.get(name)) or 0 for name in names))
