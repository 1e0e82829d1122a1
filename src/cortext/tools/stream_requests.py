"""The output of a tool while it answers, as JSON-RPC on stdin and stdout.

The plain output of these tools comes only when a message is whole, and one of them loses the end of
it in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cortext.model import json_codec
from cortext.tools.json_answers import as_dict
from cortext.tools.stream_events import JsonLineStream

_NO_SUCH_METHOD = -32601
_REFUSED = "it asked for a permission that its own settings do not give, and got none"


class Calls(JsonLineStream):
    """JSON-RPC: each answer to a request of ours leads to the next. A tool's own requests are
    declined: nobody is there to be asked, and its rules are not ours to loosen."""

    stays = True
    _versioned: ClassVar[bool] = True

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._prompt = ""
        self._asked: list[str] = []

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked.append(method)
        return self._framed({"id": len(self._asked) - 1, "method": method, "params": params})

    def _framed(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", **message} if self._versioned else message

    def opening(self, prompt: str) -> bytes:
        self._prompt = prompt.encode("utf-8", "replace").decode("utf-8")
        return json_codec.encode(self._first()) + b"\n"

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        match event:
            case {"id": id, "method": str(method)}:
                answer = self._declined(method, event.get("params"))
                error = {"code": _NO_SUCH_METHOD, "message": "cortext has no such method"}
                said = {"result": answer} if answer else {"error": error}
                replies.append(self._framed({"id": id, **said}))
                if answer:
                    self.remark: str = _REFUSED + _wanted(as_dict(event.get("params")))
            case {"method": str(method)}:
                yield from self._told(method, as_dict(event.get("params")))
            case {"id": int(id), "error": error} if id < len(self._asked):
                self._fail(error)
            case {"id": int(id), "result": result} if id < len(self._asked):
                replies.extend(self._next(self._asked[id], as_dict(result)))
            case _:
                pass

    def _fail(self, error: object) -> None:
        self.over = True
        match error:
            case {"data": {"message": str(message)}} | {"message": str(message)}:
                self.problem: str = message
            case _:
                self.problem = "it failed"

    def _first(self) -> dict[str, Any]:
        raise NotImplementedError

    def _next(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What follows the answer to a request of ours."""
        raise NotImplementedError

    def _told(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        """The text in something that the tool tells."""
        raise NotImplementedError

    def _declined(self, method: str, params: object) -> dict[str, Any] | None:
        """A no to what the tool asks, in its own words; None if we do not know them."""
        raise NotImplementedError


def _wanted(params: dict[str, Any]) -> str:
    """What a request was for, as far as it says."""
    wanted = params.get("command") or as_dict(params.get("toolCall")).get("title")
    return f": {wanted}" if isinstance(wanted, str) else ""
