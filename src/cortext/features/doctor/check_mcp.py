"""Whether the AI tools can ask: our entry in the settings of each, and a start of the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, Queue
from typing import IO, Any, NamedTuple, cast

import msgspec

from cortext.durability.read_files import read_file
from cortext.errors import why
from cortext.tools.mcp_entry import command_in
from cortext.tools.settings import server_file

PRESENT, MISSING, OTHER, GONE = "present", "missing", "another program", "its program is gone"
OFF, UNREADABLE = "turned off", "settings cannot be read"
_NAMES = ("cortext", "cortext-sessions")
_BOUND = 20.0
"""Seconds for a start. Tools give it 5 to 60, most of them 30."""
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "cortext doctor", "version": "1"},
}


class FoundMcpEntry(NamedTuple):
    """What the settings of a tool say of a server called `cortext`: one of the words above, the
    command of it, and for settings that cannot be read, why."""

    state: str
    command: list[str]
    why: str = ""


class ServerHealth(msgspec.Struct):
    """The MCP server. `package` is whether what it needs is installed here; `starts` is None where
    no tool has it, and `why` is what it says where it does not start. `tools` is how many tools it
    offered, after so many `seconds`."""

    package: bool
    starts: bool | None = None
    tools: int = 0
    seconds: float = 0.0
    why: str = ""


def read_mcp_entry(tool: str) -> FoundMcpEntry:
    """Return what a tool's settings say of our server. Nothing is started."""
    file = server_file(tool)
    if file is None or file.entry is None:
        return FoundMcpEntry(MISSING, [])
    path = file.path
    try:
        text = read_file(path).decode("utf-8", "replace") if os.path.lexists(path) else ""
        entry = file.entry.find(text)
    except (OSError, ValueError) as error:
        return FoundMcpEntry(UNREADABLE, [], f"{path} cannot be read: {why(error)}")
    if entry is None:
        return FoundMcpEntry(MISSING, [])
    command = command_in(entry)
    names = [os.path.basename(part) for part in command]
    if "mcp" not in names[1:] or not set(_NAMES) & set(names):
        return FoundMcpEntry(OTHER, command)
    if entry.get("enabled") is False or entry.get("disabled") is True:
        return FoundMcpEntry(OFF, command)
    return FoundMcpEntry(PRESENT if shutil.which(command[0]) else GONE, command)


def entry_path(tool: str) -> str:
    """Return the file that a tool reads MCP servers from; "" if cortext does not know it."""
    file = server_file(tool)
    return file.path if file else ""


def start_server(health: ServerHealth, entries: Sequence[FoundMcpEntry]) -> None:
    """Start the server as the tools do, and note how it went. Start only a program of our name."""
    commands = {tuple(one.command): None for one in entries if one.state == PRESENT}
    for command in commands:
        if os.path.basename(command[0]) in _NAMES:
            began = time.monotonic()
            health.tools, health.why = probe_server(command)
            health.seconds = round(time.monotonic() - began, 1)
            health.starts = not health.why
            if health.why:
                break


def probe_server(command: Sequence[str]) -> tuple[int, str]:
    """How many tools a server offers, or why it offers none. It is ended again, and was not told
    that anybody would ask, so it reads nothing."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return 0, f"{command[0]}: {error.strerror}"
    end = time.monotonic() + _BOUND
    stdin = cast("IO[bytes]", process.stdin)
    lines, words = (_lines(cast("IO[bytes]", out)) for out in (process.stdout, process.stderr))
    with process:
        try:
            hello = _asked(stdin, lines, end, 1, "initialize", _HELLO)
            found = hello and _asked(stdin, lines, end, 2, "tools/list", {})
        finally:
            process.kill()
            # Whoever it started in turn ends by that too.
            with suppress(BrokenPipeError):
                stdin.close()
    tools: list[Any] = found.get("result", {}).get("tools", []) if found else []
    if tools:
        return len(tools), ""
    said = words.get().decode("utf-8", "replace").strip().removeprefix("error: ")
    late = f"it did not answer within {_BOUND:.0f} seconds" if time.monotonic() > end else ""
    return 0, said or late or "it said nothing and ended"


def _asked(
    stdin: IO[bytes],
    lines: Queue[bytes],
    end: float,
    id: int,
    method: str,
    given: dict[str, Any],
) -> dict[str, Any] | None:
    """The answer to a request; None if there is none in time, or it is no answer."""
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": given}
    try:
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        while line := lines.get(timeout=max(end - time.monotonic(), 0.0)):
            answer = json.loads(line)
            if answer.get("id") == id:
                return answer
    except (OSError, Empty, ValueError, AttributeError):
        return None
    return None


def _lines(stream: IO[bytes]) -> Queue[bytes]:
    """The lines as they come; b"" is the end."""
    found: Queue[bytes] = Queue()

    def read() -> None:
        for line in stream:
            found.put(line)
        found.put(b"")

    threading.Thread(target=read, daemon=True).start()
    return found
