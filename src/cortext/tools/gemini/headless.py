"""The command that runs Gemini CLI without a terminal, and the parser for its output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cortext.tools.headless_runs import Headless
from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.tool_output_parsers import (
    AnswerUsage,
    JsonLineStream,
    Report,
    Speech,
    as_dict,
    as_text,
    read_object,
    sum_of,
)


class GeminiSpeech(JsonLineStream):
    """The parser for the output of `gemini --output-format stream-json`.

    The output goes to a file, because Gemini CLI exits before all its output is read from a pipe.
    With version 0.61, only 460 kB of 1 MB came through a pipe.
    """

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


class GeminiHeadless(Headless):
    """The description of how Gemini CLI runs without a terminal, as `gemini`.

    Each run answers one prompt.
    """

    speech: ClassVar[type[Speech]] = GeminiSpeech
    report_words: ClassVar[tuple[str, ...]] = ("--output-format", "json")

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        chosen = ("--model", model) if model else ()
        words = ("gemini", "--output-format", "stream-json", *chosen)
        return LaunchPlan(self.tool.name, words, cwd)

    def explain_failure(self, text: str) -> str:
        if "trusted" not in text.lower():
            return ""
        return "run `gemini` in this folder once, and answer whether you trust the folder"

    def read_report(self, output: str) -> Report | None:
        value = read_object(output)
        if not isinstance(text := value.get("response"), str):
            return None
        models = as_dict(as_dict(value.get("stats")).get("models"))
        used = [as_dict(as_dict(model).get("tokens")) for model in models.values()]
        read = sum(sum_of(one, "prompt") for one in used)
        written = sum(sum_of(one, "candidates", "thoughts") for one in used)
        return Report(
            text, as_text(value.get("session_id")), AnswerUsage(read, written) if used else None
        )
