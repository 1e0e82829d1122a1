"""What tools write while they answer, where that is a conversation of requests and answers.

JSON-RPC on stdin and stdout: the plain output of these tools comes only when a message is whole,
and one of them loses the end of it in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from cortext.model import json_codec
from cortext.tools.stream_events import Lines

_NO_SUCH_METHOD = -32601
_REFUSED = "it asked for a permission that its own settings do not give, and got none"


class Calls(Lines):
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
                    self.remark: str = _REFUSED + _wanted(_dict(event.get("params")))
            case {"method": str(method)}:
                yield from self._told(method, _dict(event.get("params")))
            case {"id": int(id), "error": error} if id < len(self._asked):
                self._fail(error)
            case {"id": int(id), "result": result} if id < len(self._asked):
                replies.extend(self._next(self._asked[id], _dict(result)))
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


class OpenCodeSpeech(Calls):
    """`opencode acp`, the Agent Client Protocol."""

    def _first(self) -> dict[str, Any]:
        nothing = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        return self._call("initialize", protocolVersion=1, clientCapabilities=nothing)

    def _next(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if method == "initialize":
            yield self._call("session/new", cwd=self.cwd, mcpServers=[])
        elif method == "session/new":
            self.session: str = str(result.get("sessionId", ""))
            yield self._model() if self.model else self._ask()
        elif method == "session/set_config_option":
            yield self._ask()
        elif method == "session/prompt":
            self.over = True
            match result:
                case {"usage": {"outputTokens": tokens}}:
                    self.count(tokens)
                case _:
                    pass

    def _model(self) -> dict[str, Any]:
        method = "session/set_config_option"
        return self._call(method, sessionId=self.session, configId="model", value=self.model)

    def _ask(self) -> dict[str, Any]:
        text = {"type": "text", "text": self._prompt}
        return self._call("session/prompt", sessionId=self.session, prompt=[text])

    def _told(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        match params.get("update"):
            case {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": text},
                **rest,
            } if params.get("sessionId") == self.session:
                yield from self.say(text, rest.get("messageId"))
            case _:
                pass

    def _declined(self, method: str, params: object) -> dict[str, Any] | None:
        if method != "session/request_permission":
            return None
        options: Any = _dict(params).get("options")
        for option in cast("list[Any]", options) if isinstance(options, list) else ():
            match option:
                case {"kind": "reject_once", "optionId": str(id)}:
                    return {"outcome": {"outcome": "selected", "optionId": id}}
                case _:
                    pass
        return {"outcome": {"outcome": "cancelled"}}


class CodexSpeech(Calls):
    """`codex app-server`, on its stdin and stdout."""

    _versioned = False

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._thread = ""
        self._streamed: set[object] = set()

    def _first(self) -> dict[str, Any]:
        who = {"name": "cortext", "title": "cortext", "version": "1"}
        return self._call("initialize", clientInfo=who)

    def _next(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if method == "initialize":
            yield {"method": "initialized"}
            model = {"model": self.model} if self.model else {}
            yield self._call("thread/start", cwd=self.cwd, ephemeral=True, **model)
        elif method == "thread/start":
            match result:
                case {"thread": {"id": str(id)}}:
                    self._thread = id
                    text = {"type": "text", "text": self._prompt}
                    yield self._call("turn/start", threadId=id, input=[text])
                case _:
                    self._fail("")

    def _told(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        match method, params:
            case _, {"threadId": str(id)} if id != self._thread:
                return  # a sub-agent's
            case "item/agentMessage/delta", {"itemId": item, "delta": text}:
                self._streamed.add(item)
                yield from self.say(text, item)
            case "item/completed", {"item": {"type": "agentMessage", "id": item, "text": text}}:
                if item not in self._streamed:
                    yield from self.say(text, item)
            case "thread/tokenUsage/updated", {"tokenUsage": {"total": {"outputTokens": tokens}}}:
                self.count(tokens)
            case "turn/completed", {"turn": {"status": status, **rest}}:
                self.over = True
                if status != "completed":
                    self._fail(rest.get("error") or {"message": f"the turn is {status}"})
            case _:
                pass

    def _declined(self, method: str, params: object) -> dict[str, Any] | None:
        if method.endswith("/requestApproval"):
            return {"decision": "decline"}
        return {"action": "decline"} if method.endswith("/elicitation/request") else None


def _wanted(params: dict[str, Any]) -> str:
    """What a request was for, as far as it says."""
    wanted = params.get("command") or _dict(params.get("toolCall")).get("title")
    return f": {wanted}" if isinstance(wanted, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
