"""The writer of new Codex sessions, which `codex resume ID` can continue."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any, ClassVar

from cortext.durability.read_files import read_file, read_first_line
from cortext.formats import toml_edit
from cortext.model import json_codec, message_dicts
from cortext.tools.transcript_folders import own_home
from cortext.tools.writer_protocol import (
    Turn,
    Written,
    increasing_times,
    iso,
    store_lines,
    with_last,
)

_log = logging.getLogger("cortext.tools")
_PATIENCE = 10.0
_VERSION = "0.166.0"  # the release whose fields are written
_OURS = "cortext"
_FIRST = 65_536  # the maximum bytes of the first line of a rollout that cortext wrote


class CodexWriter:
    """The writer of transcripts (rollouts) in `sessions/Y/M/D/`.

    `home` is the folder to write to, or None for the user's folder of Codex.
    """

    tool: ClassVar[str] = "codex"

    def __init__(self, home: str | None = None) -> None:
        self._home = home or own_home(self.tool)

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """Write a new session, as `Writer.write` defines.

        The file is dated today, even for an old conversation, because Codex compresses old files.
        """
        now, id = datetime.now(UTC), _new_uuid7()
        local_time = now.astimezone()
        folder = os.path.join(
            self._home, "sessions", f"{local_time:%Y}", f"{local_time:%m}", f"{local_time:%d}"
        )
        path = os.path.join(folder, f"rollout-{local_time:%Y-%m-%dT%H-%M-%S}-{id}.jsonl")
        meta = _meta(id, os.path.realpath(cwd), now, self._provider())
        records = list(_records(with_last(turns, last)))
        if last:  # remove the event, so the screen does not show `last`
            records.pop()
        store_lines(path, [meta, *records, *_title_event(id, title, now)])
        if title:
            self._set_title(id, title)
        return Written(id, path)

    def _set_title(self, id: str, title: str) -> None:
        """Ask `codex app-server` to store the title in the session list of Codex.

        Only Codex may write that list. If the call fails, the list shows the first request instead.
        """
        import subprocess
        from threading import Timer

        environment = {**os.environ, "CODEX_HOME": self._home}
        try:
            server = subprocess.Popen(
                ["codex", "app-server"],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            _log.info("could not set the title of %s in Codex: %s", id, error)
            return
        alarm = Timer(_PATIENCE, server.kill)
        alarm.start()
        # The server ends when its input is closed, or has ended already.
        with suppress(BrokenPipeError), server:
            to, out = server.stdin, server.stdout
            if not (to and out and _send_requests(to, out, _title_requests(id, title))):
                _log.info("could not set the title of %s in Codex", id)
        alarm.cancel()

    def _provider(self) -> str:
        """Return the user's model provider from the settings of Codex, or "openai".

        Codex lists only sessions with the current provider.
        """
        try:
            text = read_file(os.path.join(self._home, "config.toml")).decode("utf-8")
            provider = toml_edit.value_of(text, "model_provider")
        except (OSError, ValueError):
            provider = None  # the setting is missing, or Codex itself reports the error
        return provider if isinstance(provider, str) else "openai"


def _title_requests(id: str, title: str) -> list[dict[str, Any]]:
    client = {"name": _OURS, "version": "1"}
    name = {"threadId": id, "name": title}
    return [
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "thread/name/set", "params": name},
    ]


def _send_requests(to: IO[bytes], out: IO[bytes], requests: Sequence[dict[str, Any]]) -> bool:
    """Send JSON-RPC requests, and return whether the last request got a result without an error."""
    last = requests[-1]["id"]
    try:
        to.write(b"".join(json_codec.encode(request) + b"\n" for request in requests))
        to.flush()
        for line in out:
            answer = message_dicts.as_dict(json_codec.decode(line))
            if answer.get("id") == last:
                return "result" in answer
    except (OSError, ValueError) as error:
        _log.info("codex app-server: %s", error)
    return False


def is_ours(path: str) -> bool:
    """Return whether cortext created the Codex transcript at `path`.

    Codex may have added records to the file since then.
    """
    try:
        first = json_codec.decode(read_first_line(path, _FIRST))
        return first["payload"]["originator"] == _OURS
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _meta(id: str, cwd: str, now: datetime, provider: str) -> dict[str, Any]:
    payload = {
        "id": id,
        "timestamp": iso(now),
        "cwd": cwd,
        "originator": _OURS,
        "cli_version": _VERSION,
        "source": "cli",
        "model_provider": provider,
    }
    return {"timestamp": iso(now), "type": "session_meta", "payload": payload}


def _records(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    """Yield two records for each turn: an item for the model, and an event for the screen."""
    for turn, when in zip(turns, increasing_times(turns), strict=True):
        is_user = turn.role == "user"
        kind = "input_text" if is_user else "output_text"
        content = [{"type": kind, "text": turn.text}]
        item = {"type": "message", "role": turn.role, "content": content}
        yield {"timestamp": iso(when), "type": "response_item", "payload": item}
        event = {
            "type": "user_message" if is_user else "agent_message",
            "message": turn.text,
        }
        yield {"timestamp": iso(when), "type": "event_msg", "payload": event}


def _title_event(id: str, title: str, now: datetime) -> Iterator[dict[str, Any]]:
    if title:
        payload = {"type": "thread_name_updated", "thread_id": id, "thread_name": title}
        yield {"timestamp": iso(now), "type": "event_msg", "payload": payload}


def _new_uuid7() -> str:
    """Return a new UUID of version 7, which begins with the current time, like the ids of Codex."""
    value = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
