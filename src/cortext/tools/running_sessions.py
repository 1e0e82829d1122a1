"""The sessions that are open in a running tool.

A session is live if a running process of its tool uses the session. There are three proofs: our
hook recorded the process, the arguments of the process contain the session's id, or the process has
the transcript open. A recent change of a transcript is no proof.

Some tools store sessions in a database. If a process has the database open, cortext guesses which
session is live: the session that changed last in the working folder of the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from cortext import paths
from cortext.durability.durable_files import make_private_dir, remove_if_there, replace
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool, tools
from cortext.tools.system_processes import Process, ancestors, find_process, folder_of

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[0-9A-Za-z]{8,64}")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# A session's id follows one of these options. An id elsewhere may be part of a prompt.
_ID_OPTIONS = frozenset(("--resume", "-r", "--session", "-s"))
_NEW_ID_OPTION = "--session-id"
# With these options, the tool copies the given session and continues in the copy.
_COPY_OPTIONS = frozenset(("--fork-session", "--fork"))
_INTERPRETERS = re.compile(r"node(?:js)?|bun|deno|python[0-9.]*|sh|bash|dash|env")
_TRANSCRIPT_ENDINGS = (".jsonl",)
TICK = 0.02
"""The maximum difference, in seconds, between two readings of the same start time."""


def is_program(tool: str, words: Sequence[str]) -> bool:
    """Return whether the command line `words` runs a tool.

    The tool may run as a program, or as the script of an interpreter such as Node.js.
    """
    return _is_command_of(find_tool(tool), words)


def _is_command_of(tool: Tool, words: Sequence[str]) -> bool:
    if not tool.executable:
        return False
    program, *rest = words or [""]
    scripts = [program]
    if _INTERPRETERS.fullmatch(os.path.basename(program)):
        scripts += [word for word in rest if not word.startswith("-")][:1]
    names = [os.path.basename(word).lstrip(".").partition(".")[0] for word in scripts]
    marker = tool.script_marker
    return tool.executable in names or bool(marker and any(marker in word for word in scripts))


def tool_process(tool: str) -> Process | None:
    """Return the process of the tool `tool` that started the current process.

    The result is None if this tool did not start the current process. Some tools start their own
    program a second time. In that case, the first of the two processes is returned.
    """
    found: Process | None = None
    for process in ancestors():
        if is_program(tool, process.arguments):
            found = process
        elif found:
            break
    return found


def note_running(tool: str, id: str, process: Process) -> None:
    """Record in a file that a process uses a session, and remove the files of ended processes.

    If the same process used another session before, its earlier file is removed too. An id that is
    unsafe as a file name is ignored.
    """
    if not _SAFE.fullmatch(id):
        return
    folder = os.path.join(paths.running(), "live", tool)
    text = f"{process.pid} {process.started}\n".encode()
    path = os.path.join(folder, id)
    with suppress(OSError), open(path, "rb") as file:
        if file.read() == text:
            return
    make_private_dir(folder)
    for name, pid, _ in list(_recorded_processes(tool)):
        if pid == process.pid or find_process(pid) is None:
            remove_if_there(os.path.join(folder, name))
    replace(path, [text])


def forget_running(tool: str, id: str) -> None:
    """Remove the file that records which process uses a session, because the session ended."""
    if _SAFE.fullmatch(id):
        remove_if_there(os.path.join(paths.running(), "live", tool, id))


def live_sessions() -> dict[tuple[str, str], int]:
    """Return the live sessions: the sessions that are open in a running tool.

    The keys are pairs of a tool's name and a session id. The values are process ids.
    """
    live: dict[tuple[str, str], int] = {}
    for tool in tools():
        for id, pid, started in _recorded_processes(tool.name):
            if still_runs(pid, started):
                live[tool.name, id] = pid
    openers: dict[tuple[str, str, str], list[int]] = {}
    for tool, pid, words in _tool_processes():
        opened, database = _open_files(pid, tool)
        for id in _ids_in_options(tool, words) | opened:
            live.setdefault((tool.name, id), pid)
        if database:
            openers.setdefault((tool.name, database, folder_of(pid)), []).append(pid)
    for (name, database, folder), pids in openers.items():
        latest = find_tool(name).load("latest_sessions")
        for id, pid in zip(latest(database, folder, pids), pids, strict=False):
            live.setdefault((name, id), pid)
    return live


def still_runs(pid: int, started: float) -> bool:
    """Return whether the process with this id and start time still runs.

    The system may give the same id to a later process, but with another start time.
    """
    process = find_process(pid)
    return process is not None and abs(process.started - started) < TICK


def _recorded_processes(tool: str) -> Iterator[tuple[str, int, float]]:
    """Yield the session id, process id and start time from each file that `note_running` wrote."""
    folder = os.path.join(paths.running(), "live", tool)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="ascii") as file:
                pid, started = file.read().split()
            yield name, int(pid), float(started)
        except (OSError, ValueError):
            continue  # the session has ended, or the file is not complete yet


def _tool_processes() -> Iterator[tuple[Tool, int, tuple[str, ...]]]:
    known = tools()
    for pid, words in _commands():
        for tool in known:
            if _is_command_of(tool, words):
                yield tool, pid, words


def _commands() -> Iterator[tuple[int, tuple[str, ...]]]:
    try:
        names = os.listdir("/proc")
    except OSError:
        yield from _commands_from_ps()
        return
    for name in names:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/cmdline", "rb", buffering=0) as file:
                    words = file.read()
            except OSError:
                continue  # the process has ended
            if words:
                yield int(name), tuple(os.fsdecode(words).rstrip("\0").split("\0"))


def _commands_from_ps() -> Iterator[tuple[int, tuple[str, ...]]]:
    import subprocess

    command = ["ps", "-x", "-o", "pid=,args="]
    environment = {"PATH": "/bin:/usr/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        import logging

        logging.getLogger("cortext.tools").warning("could not find live sessions: %s", error)
        return
    for line in os.fsdecode(done.stdout).split("\n"):
        pid, *words = line.split() or [""]
        if pid.isdecimal():
            yield int(pid), tuple(words)


def _ids_in_options(tool: Tool, words: Sequence[str]) -> set[str]:
    """Return the session ids in the options of a command line, without ids in a prompt."""
    given: set[str] = set()
    chosen: set[str] = set()
    # In `codex resume [OPTIONS] ID`, the id follows a word instead of an option.
    if tool.resume_word and tool.resume_word in words:
        rest = words[list(words).index(tool.resume_word) + 1 :]
        given.update([word for word in rest if _ID.fullmatch(word)][:1])
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        id = os.path.basename(value if equals else following).removesuffix(".jsonl")
        if _ID.fullmatch(id) and option in (*_ID_OPTIONS, _NEW_ID_OPTION):
            (chosen if option == _NEW_ID_OPTION else given).add(id)
    return chosen if _COPY_OPTIONS.intersection(words) else chosen | given


def _open_files(pid: int, tool: Tool) -> tuple[set[str], str]:
    """Return what a process has open: the session ids of transcripts, and the path of a database.

    The path is "" if the process has no database of the tool open.
    """
    session_ids, database = set[str](), ""
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                target = os.readlink(f"{folder}/{name}")
                if target.endswith(_TRANSCRIPT_ENDINGS) and (
                    ids := _ID.findall(os.path.basename(target))
                ):
                    session_ids.add(ids[-1])
                elif target.endswith(".db") and _is_database_of(tool, target):
                    database = target
    return session_ids, database


def _is_database_of(tool: Tool, path: str) -> bool:
    """Return whether the database at `path` belongs to a tool.

    The database belongs to the tool if it is in the tool's folder, or if it is the tool's
    `named_database`.
    """
    if not tool.has_databases:
        return False
    given = tool.named_database
    home = os.path.realpath(tool.home)
    return path.startswith(f"{home}/") or bool(given and os.path.realpath(given) == path)
