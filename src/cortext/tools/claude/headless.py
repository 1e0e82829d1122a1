"""Runs of Claude Code without a terminal, each for one prompt and its answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from cortext.model import json_codec
from cortext.tools.claude.tool import TOOL
from cortext.tools.headless import Headless
from cortext.tools.json_answers import (
    AnswerUsage,
    Report,
    as_dict,
    as_number,
    as_text,
    read_object,
    sum_of,
)
from cortext.tools.launch import LaunchPlan
from cortext.tools.stream_events import JsonLineStream, Speech

_NO_MENTIONS = {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
"""The setting that prevents Claude Code from reading files that a prompt mentions with `@`.

The files can be anywhere on the disk, and other people wrote most of a prompt.
"""
_BIGGEST_STATE = 1 << 26
_NOT_TRUSTED = (
    "Claude Code was never told to trust this folder: its settings, hooks, servers and "
    "CLAUDE.md are left out; run `claude` here once to trust it"
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
        said = event.get("result")
        if event.get("is_error"):
            self.problem: str = str(said or event.get("subtype") or "it failed")
        elif not self._said:
            # Claude Code answers its own slash commands without the model.
            yield from self.say(said, "result")


class ClaudeHeadless(Headless):
    """Runs of `claude -p`, each for one prompt and its answer."""

    speech: ClassVar[type[Speech]] = ClaudeSpeech
    report_words: ClassVar[tuple[str, ...]] = ("--output-format", "json")

    def turn(self, *, cwd: str, model: str) -> LaunchPlan:
        words = ["claude", "-p", "--output-format", "stream-json", "--include-partial-messages"]
        words += ["--verbose", "--no-session-persistence"]
        words += ["--model", model] if model else []
        return LaunchPlan(self.tool.name, (*words, *_untrusted(cwd)), cwd, _NO_MENTIONS)

    def notes(self, cwd: str) -> list[str]:
        return [_NOT_TRUSTED] if _untrusted(cwd) else []

    def read_report(self, said: str) -> Report | None:
        value = read_object(said)
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


def _untrusted(cwd: str) -> list[str]:
    """Return options that ignore a project's settings, or [] if the user trusts the folder.

    Without a terminal, Claude Code runs a project's hooks and servers without asking the user.
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
    """Return what Claude Code stores about each project folder, such as the user's trust.

    Return {} if `.claude.json` cannot be read. Then no folder counts as trusted.
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
