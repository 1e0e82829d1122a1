"""The writer of new OpenCode sessions, which runs `opencode import`.

OpenCode stores sessions in its own database. Cortext itself never writes to that database.
"""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec

from cortext.durability.durable_files import storage_errors
from cortext.errors import CortextError, SessionCorruptedError
from cortext.model import json_codec
from cortext.tools.opencode.launch import PURE
from cortext.tools.opencode.storage import OpenCodeDatabase, read_database
from cortext.tools.transcript_folders import own_home
from cortext.tools.writer_protocol import Turn, Written, increasing_times, millis, with_last

_log = logging.getLogger("cortext.tools")
_VERSION = "1.18.33"  # the release whose fields are written
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PATIENCE = 120.0
_AGENT = "build"  # the agent that always exists


class ModelChoice(msgspec.Struct, frozen=True):
    """The model with which OpenCode continues a new session, and the provider of the model."""

    provider: str
    name: str


class OpenCodeWriter:
    """The writer of sessions, which runs the command `opencode import`.

    `home` is the data folder of OpenCode, and `program` is the command that starts OpenCode.
    """

    tool: ClassVar[str] = "opencode"

    def __init__(self, home: str | None = None, *, program: str = "opencode") -> None:
        self._home = home or own_home(self.tool)
        self._program = program

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """Write a new session, as `Writer.write` defines.

        `opencode import` runs in `cwd`, because OpenCode assigns the session to the folder in which
        the command runs.
        """
        all_turns, ids = with_last(turns, last), _Ids()
        id = ids.session()
        value = _export(all_turns, id, ids, os.path.realpath(cwd), title, self._model(cwd))
        with tempfile.TemporaryDirectory(prefix="cortext-") as folder:
            path = os.path.join(folder, "session.json")
            with storage_errors("write", path), open(path, "xb") as file:
                file.write(json_codec.encode(value))
            output = self._run(["import", path], cwd)
        if id not in output:
            raise CortextError(f"OpenCode did not accept the conversation: {_first_line(output)}")
        return Written(id, os.path.join(self._home, "opencode.db"))

    def _model(self, cwd: str) -> ModelChoice:
        """Return the model for the new session.

        The result is the model that was used last. If no model was used yet, it is the configured
        model, or the first model in OpenCode's list.
        """
        try:
            if latest := read_database(os.path.join(self._home, "opencode.db"), _latest_model):
                return latest
        except (OSError, SessionCorruptedError) as error:
            _log.info("could not find the last used model: %s", error)
        try:
            name = json_codec.decode(self._run(["debug", "config"], cwd).encode())["model"]
        except (ValueError, LookupError, TypeError):
            name = None  # no model is configured
        if not isinstance(name, str):
            name = _first_line(self._run(["models"], cwd))
        provider, _, model = name.partition("/")
        return ModelChoice(provider, model)

    def _run(self, arguments: list[str], cwd: str) -> str:
        """Run OpenCode and return its output. Raises CortextError if OpenCode fails.

        The output goes to files, because OpenCode writes at most 131,072 bytes to a pipe.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                done = subprocess.run(
                    [self._program, *arguments],
                    cwd=cwd,
                    env={**os.environ, **PURE},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    timeout=_PATIENCE,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise CortextError(f"opencode {arguments[0]} did not run: {error}") from error
            out.seek(0)
            err.seek(0)
            if done.returncode:
                why = _first_line(err.read().decode("utf-8", "replace"))
                raise CortextError(f"opencode {arguments[0]} failed: {why or done.returncode}")
            return out.read().decode("utf-8", "replace")


class _Ids:
    """A generator of ids in the format of OpenCode.

    The ids of messages increase. They are lower than the ids of messages that OpenCode adds later.
    """

    def __init__(self) -> None:
        self._number = (time.time_ns() // 1_000_000 - 60_000) * 0x1000
        self._now = time.time_ns() // 1_000_000 * 0x1000

    def session(self) -> str:
        return _id("ses", ~self._now)  # newer sessions get lower ids

    def next(self, prefix: str) -> str:
        self._number += 1
        return _id(prefix, self._number)


def _id(prefix: str, number: int) -> str:
    tail = "".join(_LETTERS[byte % 62] for byte in os.urandom(14))
    return f"{prefix}_{number & 0xFFFFFFFFFFFF:012x}{tail}"


def _export(
    turns: Sequence[Turn], id: str, ids: _Ids, cwd: str, title: str, model: ModelChoice
) -> dict[str, Any]:
    now = millis(datetime.now(UTC))
    info = {
        "id": id,
        "slug": f"cortext-{id[-8:].lower()}",
        "projectID": "global",
        "directory": cwd,
        "title": title or "Untitled",
        "version": _VERSION,
        "time": {"created": millis(turns[0].timestamp) if turns else now, "updated": now},
    }
    return {"info": info, "messages": list(_messages(turns, id, ids, cwd, model))}


def _messages(
    turns: Sequence[Turn], id: str, ids: _Ids, cwd: str, model: ModelChoice
) -> Iterator[dict[str, Any]]:
    parent = ""
    for turn, when in zip(turns, increasing_times(turns), strict=True):
        message, at = ids.next("msg"), millis(when)
        info: dict[str, Any] = {"id": message, "sessionID": id, "role": turn.role, "agent": _AGENT}
        if turn.role == "user":
            parent = message
            info |= {
                "time": {"created": at},
                "model": {"providerID": model.provider, "modelID": model.name},
            }
        else:
            cache = {"read": 0, "write": 0}
            info |= {
                "parentID": parent,
                "modelID": model.name,
                "providerID": model.provider,
                "mode": _AGENT,
                "path": {"cwd": cwd, "root": cwd},
                "cost": 0,
                "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": cache},
                "time": {"created": at, "completed": at},
                "finish": "stop",
            }
        part_ids = {"id": ids.next("prt"), "sessionID": id, "messageID": message}
        yield {"info": info, "parts": [{**part_ids, "type": "text", "text": turn.text}]}


def _latest_model(database: OpenCodeDatabase) -> ModelChoice | None:
    """Return the model in the last message of the newest session.

    If that message names no model, the next older session is tried, and so on. The result is None
    if all sessions were tried.
    """
    for session in database.roots():  # newer sessions have lower ids
        for message in database.messages(session.id, last=True):
            try:
                data = json_codec.decode(message.data)
            except ValueError:
                continue
            provider, name = data.get("providerID"), data.get("modelID")
            if isinstance(provider, str) and isinstance(name, str) and provider and name:
                return ModelChoice(provider, name)
    return None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
