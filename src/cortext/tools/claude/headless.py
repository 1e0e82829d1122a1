"""The command that runs Claude Code without a terminal, and the parser for its output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from cortext.model import json_codec
from cortext.tools.claude.tool import TOOL
from cortext.tools.headless_runs import Headless
from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.tool_output_parsers import (
    AnswerUsage,
    JsonLineStream,
    Report,
    Speech,
    as_dict,
    as_number,
    as_text,
    read_object,
    sum_of,
)

_NO_MENTIONS = {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
"""The environment variable that keeps Claude Code from reading files for `@PATH` in a prompt.

Most of a prompt may come from other people, and the files can be anywhere on the disk.
"""
_BIGGEST_STATE = 1 << 26
_NOT_TRUSTED = (
    "Claude Code does not trust this folder yet, so it ignores the folder's settings, hooks, MCP "
    "servers and CLAUDE.md; run `claude` here once to trust the folder"
)


class ClaudeSpeech(JsonLineStream):
    """The parser for the output of `claude -p --output-format stream-json`."""

    _block = 0

    def event(self, event: dict[str, Any], replies: list[dict[str, Any]]) -> Iterator[str]:
        match event:
            case {"parent_tool_use_id": str()}:
                return  # the text of a sub-agent is not part of the answer
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
        answer = event.get("result")
        if event.get("is_error"):
            self.problem: str = str(answer or event.get("subtype") or "the tool failed")
        elif not self._has_text:
            # Claude Code answers its own slash commands without the model.
            yield from self.say(answer, "result")


class ClaudeHeadless(Headless):
    """The description of how Claude Code runs without a terminal, as `claude -p`.

    Each run answers one prompt.
    """

    speech: ClassVar[type[Speech]] = ClaudeSpeech
    report_words: ClassVar[tuple[str, ...]] = ("--output-format", "json")

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        words = ["claude", "-p", "--output-format", "stream-json", "--include-partial-messages"]
        words += ["--verbose", "--no-session-persistence"]
        words += ["--model", model] if model else []
        return LaunchPlan(self.tool.name, (*words, *_untrusted_options(cwd)), cwd, _NO_MENTIONS)

    def notes(self, cwd: str) -> list[str]:
        return [_NOT_TRUSTED] if _untrusted_options(cwd) else []

    def read_report(self, output: str) -> Report | None:
        value = read_object(output)
        if not isinstance(text := value.get("result"), str):
            return None
        used = as_dict(value.get("usage"))
        read = sum_of(
            used, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"
        )
        usage = AnswerUsage(
            read, sum_of(used, "output_tokens"), as_number(value.get("total_cost_usd"))
        )
        return Report(text, as_text(value.get("session_id")), usage if used else None)


def _untrusted_options(cwd: str) -> list[str]:
    """Return options that make Claude Code ignore the settings of an untrusted project in `cwd`.

    The result is [] if the user trusts the folder. When Claude Code runs without a terminal and
    without these options, it runs a project's hooks and servers without asking the user.
    """
    folder = os.path.realpath(cwd)
    known = _claude_projects()
    while not _is_trusted(known.get(folder)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ["--setting-sources", "user", "--strict-mcp-config"]
        folder = parent
    return []


def _is_trusted(project: object) -> bool:
    match project:
        case {"hasTrustDialogAccepted": True}:
            return True
        case _:
            return False


def _claude_projects() -> dict[str, Any]:
    """Return the entry for each project folder in `.claude.json`, by the path of the folder.

    An entry says whether the user trusts the folder. If the file cannot be read, the result is {},
    so no folder counts as trusted.
    """
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = own or os.path.dirname(TOOL.home)
    try:
        with open(os.path.join(folder, ".claude.json"), "rb") as file:
            value: Any = json_codec.decode(file.read(_BIGGEST_STATE))
    except (OSError, ValueError):
        return {}
    projects: Any = cast("dict[str, Any]", value).get("projects") if isinstance(value, dict) else {}
    return cast("dict[str, Any]", projects) if isinstance(projects, dict) else {}
