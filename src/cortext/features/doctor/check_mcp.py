"""Check the MCP server: our entry in the settings of each tool, and whether the server starts."""

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
from cortext.tools.settings_files import server_file

PRESENT, MISSING, OTHER, GONE = "present", "missing", "another program", "its program is gone"
OFF, UNREADABLE = "turned off", "settings cannot be read"
_NAMES = ("cortext", "cortext-sessions")
_START_SECONDS = 20.0
"""Seconds that the server may take to start. Tools allow 5 to 60 seconds, most of them 30."""
_INITIALIZE_PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "cortext doctor", "version": "1"},
}


class FoundMcpEntry(NamedTuple):
    """The entry for an MCP server called `cortext` in the settings of an AI tool.

    `state` is one of the constants PRESENT, MISSING, OTHER, GONE, OFF and UNREADABLE. `command` is
    the command line of the server. `why` is the reason if the settings cannot be read.
    """

    state: str
    command: list[str]
    why: str = ""


class ServerHealth(msgspec.Struct):
    """The state of the MCP server of cortext.

    `package` says whether the Python package `mcp` is installed. `starts` says whether the server
    starts; it is None if no tool has an entry for the server. `why` is the error message if the
    server does not start. `tools` is the number of MCP tools that the server offers, and `seconds`
    is how long the start took.
    """

    package: bool
    starts: bool | None = None
    tools: int = 0
    seconds: float = 0.0
    why: str = ""


def read_mcp_entry(tool: str) -> FoundMcpEntry:
    """Return the entry for our MCP server in a tool's settings. The server is not started."""
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
    """Return the path of the settings file in which a tool lists MCP servers; "" if unknown."""
    file = server_file(tool)
    return file.path if file else ""


def start_server(health: ServerHealth, entries: Sequence[FoundMcpEntry]) -> None:
    """Start our MCP server with the command of each entry, and write the outcome to `health`.

    `entries` come from the settings of the AI tools. Only programs named `cortext` or
    `cortext-sessions` are started. Stop at the first failure.
    """
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
    """Start an MCP server, and return the number of MCP tools that it offers, and an error message.

    If the server works, the message is "". Otherwise the number is 0. The server is killed
    afterwards. It never gets the `initialized` notification, so it reads no conversations.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return 0, f"{command[0]}: {error.strerror}"
    end = time.monotonic() + _START_SECONDS
    stdin = cast("IO[bytes]", process.stdin)
    lines, errors = (
        _read_lines(cast("IO[bytes]", out)) for out in (process.stdout, process.stderr)
    )
    with process:
        try:
            hello = _request(stdin, lines, end, 1, "initialize", _INITIALIZE_PARAMS)
            found = hello and _request(stdin, lines, end, 2, "tools/list", {})
        finally:
            process.kill()
            # Closing stdin also ends any process that the server started.
            with suppress(BrokenPipeError):
                stdin.close()
    tools: list[Any] = found.get("result", {}).get("tools", []) if found else []
    if tools:
        return len(tools), ""
    message = errors.get().decode("utf-8", "replace").strip().removeprefix("error: ")
    timeout = (
        f"the server did not answer within {_START_SECONDS:.0f} seconds"
        if time.monotonic() > end
        else ""
    )
    return 0, message or timeout or "the server ended without an error message"


def _request(
    stdin: IO[bytes],
    lines: Queue[bytes],
    end: float,
    id: int,
    method: str,
    params: dict[str, Any],
) -> dict[str, Any] | None:
    """Send a JSON-RPC request to the server and return the response.

    `lines` holds the lines that the server writes. Return None if no valid response arrives before
    `end`, a time of the monotonic clock.
    """
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
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


def _read_lines(stream: IO[bytes]) -> Queue[bytes]:
    """Start a thread that reads the lines of a stream into a queue, and return the queue.

    The entry b"" marks the end of the stream.
    """
    found: Queue[bytes] = Queue()

    def read() -> None:
        with suppress(ValueError):  # the stream was closed meanwhile
            for line in stream:
                found.put(line)
        found.put(b"")

    threading.Thread(target=read, daemon=True).start()
    return found
