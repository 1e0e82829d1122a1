"""The command that runs OpenCode without a terminal, and the client that talks to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from cortext.tools.headless_runs import Headless
from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.tool_output_parsers import (
    AnswerUsage,
    JsonRpcStream,
    Report,
    Speech,
    as_dict,
    as_number,
    as_text,
    read_events,
    sum_of,
)


class OpenCodeSpeech(JsonRpcStream):
    """The client of `opencode acp`, which uses the Agent Client Protocol."""

    def _first_request(self) -> dict[str, Any]:
        no_capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        return self._call("initialize", protocolVersion=1, clientCapabilities=no_capabilities)

    def _next_requests(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
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

    def _read_notification(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        match params.get("update"):
            case {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": text},
                **rest,
            } if params.get("sessionId") == self.session:
                yield from self.say(text, rest.get("messageId"))
            case _:
                pass

    def _decline(self, method: str, params: object) -> dict[str, Any] | None:
        if method != "session/request_permission":
            return None
        options: Any = as_dict(params).get("options")
        for option in cast("list[Any]", options) if isinstance(options, list) else ():
            match option:
                case {"kind": "reject_once", "optionId": str(id)}:
                    return {"outcome": {"outcome": "selected", "optionId": id}}
                case _:
                    pass
        return {"outcome": {"outcome": "cancelled"}}


class OpenCodeHeadless(Headless):
    """The description of how OpenCode runs without a terminal, as `opencode acp`.

    Each run answers one prompt.
    """

    speech: ClassVar[type[Speech]] = OpenCodeSpeech
    report_words: ClassVar[tuple[str, ...]] = ("--format", "json")

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        # A random password keeps other programs out of OpenCode's server.
        secret = {"OPENCODE_SERVER_PASSWORD": os.urandom(16).hex()}
        return LaunchPlan(self.tool.name, ("opencode", "acp"), cwd, secret)

    def read_report(self, output: str) -> Report | None:
        events = list(read_events(output))
        parts = [as_dict(event.get("part")) for event in events]
        texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
        if not texts:
            return None
        ends = [part for part in parts if part.get("type") == "step-finish"]
        used = [as_dict(part.get("tokens")) for part in ends]
        cached = sum(sum_of(as_dict(one.get("cache")), "read", "write") for one in used)
        read = sum(sum_of(one, "input") for one in used) + cached
        written = sum(sum_of(one, "output", "reasoning") for one in used)
        cost = sum(as_number(part.get("cost")) or 0.0 for part in ends)
        session = next((id for event in events if (id := as_text(event.get("sessionID")))), "")
        return Report("\n".join(texts), session, AnswerUsage(read, written, cost) if used else None)
