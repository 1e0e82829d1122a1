"""The text that a user typed after a slash command of OpenCode.

OpenCode's command files cannot safely pass that text to a program (see `OpenCodeCommands`).
If a script runs the command, the text is in the arguments of OpenCode's process. If a user types
the command, the text is in the prompt history, which OpenCode writes before it runs the command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, cast

from cortext.model import json_codec
from cortext.tools.system_processes import Process

# The options of `opencode run` that take a value.
_VALUED = frozenset(
    (
        *("--agent", "--attach", "--command", "--dir", "--file", "--format", "--model", "--port"),
        *("--password", "--session", "--title", "--username", "--variant", "--log-level"),
        *("-f", "-m", "-p", "-s", "-u"),
    )
)
_FRESH_SECONDS = 30
_PATIENCE_SECONDS = 1.0
_LONGEST = 4_000_000


def typed_words(name: str, process: Process | None) -> str:
    """Return the text that the user typed after the slash command `/name`, or "".

    `process` is OpenCode's process. The text is taken from the arguments of the process, or from
    the prompt history of OpenCode.
    """
    if process and (given := _after_run(process.arguments)) is not None:
        return _positional(given)
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        words = _last_prompt(name)
        if words is not None:
            return words
        if time.monotonic() > end:
            return ""
        time.sleep(0.05)


def _after_run(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments after `opencode run`, or None if the command line is another command.

    `arguments` is the command line of OpenCode's process.
    """
    words = list(arguments[1:])
    # The first argument may be a script that an interpreter runs.
    if words and os.path.basename(words[0]).startswith("opencode"):
        words = words[1:]
    return words[1:] if words[:1] == ["run"] else None


def _positional(arguments: list[str]) -> str:
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            words += rest
        elif word.startswith("-") and len(word) > 1:
            if word in _VALUED:
                next(rest, None)
        else:
            words.append(word)
    return " ".join(words)


def _last_prompt(name: str) -> str | None:
    """Return the text after `/name` in the last prompt of OpenCode's prompt history.

    The result is None if the last prompt is older than 30 seconds, or is not the command `/name`.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = os.path.join(state, "opencode", "prompt-history.jsonl")
    try:
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
            if time.time() - stat.st_mtime > _FRESH_SECONDS:
                return None
            file.seek(max(0, stat.st_size - _LONGEST))
            lines = file.read().rstrip(b"\n").split(b"\n")
        prompt = _text_of(json_codec.decode(lines[-1]))
    except (OSError, ValueError):
        return None
    command, words = f"/{name}", prompt.lstrip()
    if not words.startswith(command) or words[len(command) : len(command) + 1].strip():
        return None
    return words[len(command) :].strip()


def _text_of(entry: Any) -> str:
    """Return the whole text of a prompt in the history.

    The history has short marks in place of pasted texts. The result has the pasted texts.
    """
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    text = str(fields.get("input") or "")
    pastes: list[tuple[int, int, str]] = []
    for part in cast("list[Any]", fields.get("parts") or []):
        match part:
            case {
                "type": "text",
                "text": str(paste),
                "source": {"text": {"start": int(start), "end": int(end)}},
            }:
                pastes.append((start, end, paste))
            case _:
                pass
    for start, end, paste in sorted(pastes, reverse=True):
        text = text[:start] + paste + text[end:]
    return text
