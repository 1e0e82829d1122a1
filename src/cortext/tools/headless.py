"""One turn with a tool that nobody sees: how it is started, and who understands what it writes.

Nothing of the prompt is among the words. No word asks a tool to skip a question of its own: what
it would ask a person is declined, for there is none.
"""

from __future__ import annotations

import os
import re
from typing import Any, cast

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.tools.launch import Plan
from cortext.tools.scan import own_home
from cortext.tools.stream_events import ClaudeSpeech, GeminiSpeech, Speech
from cortext.tools.stream_requests import CodexSpeech, OpenCodeSpeech

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}")
_SPEECH: dict[str, type[Speech]] = {
    "claude": ClaudeSpeech,
    "opencode": OpenCodeSpeech,
    "gemini": GeminiSpeech,
    "codex": CodexSpeech,
}
_NO_MENTIONS = {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
"""Claude Code would put any file that a prompt names after an `@` into it, from anywhere on the
disk, and most of a prompt is what others said before."""
_BIGGEST_STATE = 1 << 26
_NOT_TRUSTED = (
    "Claude Code was never told to trust this folder: its settings, hooks, servers and "
    "CLAUDE.md are left out; run `claude` here once to trust it"
)


def turn_plan(tool: str, *, cwd: str, model: str = "") -> Plan:
    """How a tool is started for one turn, whose prompt and answer go by its stdin and stdout. It
    keeps no session of it where it can do without."""
    if model and not _MODEL.fullmatch(model):
        raise CortextError(f"{model!r} is no name of a model")
    chosen = ["--model", model] if model else []
    if tool == "claude":
        words = ["claude", "-p", "--output-format", "stream-json", "--include-partial-messages"]
        words += ["--verbose", "--no-session-persistence", *chosen, *_untrusted(cwd)]
        return Plan(tool, tuple(words), cwd, _NO_MENTIONS)
    if tool == "gemini":
        return Plan(tool, ("gemini", "--output-format", "stream-json", *chosen), cwd)
    if tool == "opencode":
        # Its server is for nobody but itself.
        secret = {"OPENCODE_SERVER_PASSWORD": os.urandom(16).hex()}
        return Plan(tool, ("opencode", "acp"), cwd, secret)
    return Plan(tool, ("codex", "app-server"), cwd)


def speech_of(tool: str, *, cwd: str, model: str = "") -> Speech:
    """Who speaks with a tool that was started by its plan; with "", with any program."""
    return _SPEECH.get(tool, Speech)(cwd=cwd, model=model)


def turn_notes(tool: str, cwd: str) -> list[str]:
    """What a person should know before turns are had in a folder."""
    if tool == "claude" and _untrusted(cwd):
        return [_NOT_TRUSTED]
    return []


def _untrusted(cwd: str) -> list[str]:
    """Words that leave out what a project brings, unless the person trusts it: without a terminal
    Claude Code asks nobody, and runs its hooks and servers."""
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
    """What Claude Code knows of folders; nothing, if that cannot be read: then none is trusted."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = own or os.path.dirname(own_home("claude"))
    try:
        with open(os.path.join(folder, ".claude.json"), "rb") as file:
            value: Any = json_codec.decode(file.read(_BIGGEST_STATE))
    except (OSError, ValueError):
        return {}
    projects: Any = cast("dict[str, Any]", value).get("projects") if isinstance(value, dict) else {}
    return cast("dict[str, Any]", projects) if isinstance(projects, dict) else {}
