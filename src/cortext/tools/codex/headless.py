"""The command that runs Codex without a terminal, and the client that talks to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cortext.tools.headless_runs import Headless
from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.tool_output_parsers import (
    AnswerUsage,
    JsonRpcStream,
    Report,
    Speech,
    as_dict,
    as_text,
    read_events,
    sum_of,
)


class CodexSpeech(JsonRpcStream):
    """The client of `codex app-server`: it sends the prompt and parses the answer."""

    _has_version = False

    def __init__(self, *, cwd: str = "", model: str = "") -> None:
        super().__init__(cwd=cwd, model=model)
        self._thread = ""
        self._streamed: set[object] = set()

    def _first_request(self) -> dict[str, Any]:
        client = {"name": "cortext", "title": "cortext", "version": "1"}
        return self._call("initialize", clientInfo=client)

    def _next_requests(self, method: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
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

    def _read_notification(self, method: str, params: dict[str, Any]) -> Iterator[str]:
        match method, params:
            case _, {"threadId": str(id)} if id != self._thread:
                return  # the notification belongs to a sub-agent
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
                    self._fail(
                        rest.get("error") or {"message": f"the turn ended with the status {status}"}
                    )
            case _:
                pass

    def _decline(self, method: str, params: object) -> dict[str, Any] | None:
        if method.endswith("/requestApproval"):
            return {"decision": "decline"}
        return {"action": "decline"} if method.endswith("/elicitation/request") else None


class CodexHeadless(Headless):
    """The description of how Codex runs without a terminal, as `codex app-server`.

    Each run answers one prompt.
    """

    speech: ClassVar[type[Speech]] = CodexSpeech
    report_words: ClassVar[tuple[str, ...]] = ("--json",)

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        return LaunchPlan(self.tool.name, ("codex", "app-server"), cwd)

    def read_report(self, output: str) -> Report | None:
        texts: list[str] = []
        session, usage = "", None
        for event in read_events(output):
            item, used = as_dict(event.get("item")), as_dict(event.get("usage"))
            session = session or as_text(event.get("thread_id"))
            if event.get("type") == "item.completed" and item.get("type") == "agent_message":
                texts.append(as_text(item.get("text")))
            if used:
                usage = AnswerUsage(sum_of(used, "input_tokens"), sum_of(used, "output_tokens"))
        return Report("\n".join(texts), session, usage) if texts else None
