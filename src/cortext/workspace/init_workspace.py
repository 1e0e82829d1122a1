"""Make a folder a workspace, without overwriting files that a user changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from cortext.builtin import TYPES
from cortext.durability.durable_files import storage_errors
from cortext.durability.read_files import read_file
from cortext.tools.slash_command_files import SlashCommand, open_slash_commands, tools_with_commands
from cortext.workspace.conversation_types import Types, built_in
from cortext.workspace.known_folders import remember_workspace

IGNORE = "# Keeps the search tools of agents out of past conversations.\n**/.session/\n"
_CONFIG = "# Settings of this workspace. This file cannot set programs, hooks or URLs.\n"
_USER_FILES = (".workspace/config.toml", "conversations/.ignore")
"""Files that cortext creates once, and that the user then edits."""
_INSTALLED = ".workspace/.installed"
"""The path of a file with a digest (hash) of each file that cortext wrote to the workspace.

If a file still has this digest, no user has changed the file.
"""


class InitResult(msgspec.Struct, frozen=True):
    """What `initialize` did with the files of a workspace. The paths are relative to the workspace.

    - `made`: files that were written
    - `created`: those files in `made` that did not exist before
    - `same`: files that needed no change
    - `kept`: files that a user changed, and that were therefore not overwritten
    """

    made: list[str]
    created: list[str]
    same: list[str]
    kept: list[str]


def initialize(
    root: str, *, overwrite: Callable[[str, str], bool], tools: Sequence[str] = ()
) -> InitResult:
    """Create or update the files of a workspace in the folder `root`.

    The AI tools in `tools` get a slash command for each conversation type. Tools that already have
    slash commands in the workspace get these commands too. `overwrite` is called for each file that
    a user changed. It gets the path of the file and a diff, and returns whether to overwrite the
    file.
    """
    result = InitResult([], [], [], [])
    with storage_errors("initialize", root):
        os.makedirs(os.path.join(root, ".workspace", "agents"), exist_ok=True)
        installed = _read_installed(root)
        wanted = {*tools, *connected_tools(installed)}
        for name, data in chain(_workspace_files(), _command_files(root, wanted)):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            old = read_file(path) if os.path.lexists(path) else None
            is_unchanged = old is None or installed.get(name) == _digest(old)
            if old == data or (old is not None and name in _USER_FILES):
                result.same.append(name)
            elif is_unchanged or overwrite(name, _user_diff(name, old or b"", data)):
                _write(path, data)
                result.made.append(name)
                if old is None:
                    result.created.append(name)
            else:
                result.kept.append(name)
                continue
            installed[name] = _digest(data)
        _write_installed(root, installed)
    remember_workspace(root)
    return result


def _workspace_files() -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file that every workspace has."""
    for kind in TYPES:
        yield f".workspace/templates/{kind}.md", built_in("templates", kind) or b""
    for name in (*TYPES, "resume", "stop-conversation"):
        yield f".workspace/commands/{name}.md", built_in("commands", name) or b""
    yield ".workspace/config.toml", _CONFIG.encode()
    yield "conversations/.ignore", IGNORE.encode()


def connected_tools(installed: Iterable[str]) -> list[str]:
    """Return the AI tools for which cortext has written slash commands to a workspace.

    `installed` has the paths of all files that cortext wrote to the workspace.
    """
    names = tuple(installed)
    return [
        tool
        for tool in tools_with_commands()
        if any(name.startswith(f".{tool}/") for name in names)
    ]


def _command_files(root: str, tools: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of a slash command file for each tool and conversation type.

    The file does not contain the instructions for the agent. The slash command reads them from
    `.workspace/commands/` when it runs.
    """
    types = Types(root)
    for tool in tools_with_commands():
        if tool not in tools:
            continue
        commands = open_slash_commands(tool)
        for kind in types.names():
            command = SlashCommand(f"workspace.{kind}", f"new {kind}", types.about(kind), "[topic]")
            name = f"{commands.workspace_folder}/{commands.file_name(command)}"
            path = os.path.join(root, name)
            old = read_file(path) if os.path.isfile(path) else b""
            yield name, commands.file_text(command, old.decode("utf-8", "replace")).encode()


def _digest(data: bytes) -> str:
    import hashlib  # loads OpenSSL, which other uses of a workspace do not need

    return hashlib.sha256(data).hexdigest()


def _read_installed(root: str) -> dict[str, str]:
    path = os.path.join(root, _INSTALLED)
    text = read_file(path).decode("utf-8", "replace") if os.path.lexists(path) else ""
    pairs = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {name: digest for digest, name in pairs}


def _write_installed(root: str, installed: dict[str, str]) -> None:
    """Write the digests of the installed files, in the format of `sha256sum`.

    The file is not written if the digests have not changed.
    """
    data = "".join(f"{digest}  {name}\n" for name, digest in sorted(installed.items())).encode()
    path = os.path.join(root, _INSTALLED)
    if not os.path.lexists(path) or read_file(path) != data:
        _write(path, data)


def _write(path: str, data: bytes) -> None:
    """Write a file with the default permissions (umask). Raises OSError for a symbolic link."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with open(fd, "wb") as file:
        file.write(data)


def difference(old: bytes, new: bytes, before: str, after: str) -> str:
    """Return the changes from `old` to `new` in the format of `diff -u`.

    `before` and `after` are the names of the two versions in the header.
    """
    import difflib

    old_lines, new_lines = (d.decode("utf-8", "replace").splitlines() for d in (old, new))
    return "".join(
        f"{line}\n"
        for line in difflib.unified_diff(old_lines, new_lines, before, after, "", "", 3, "")
    )


def _user_diff(name: str, old: bytes, new: bytes) -> str:
    return difference(old, new, f"{name} (yours)", f"{name} (new)")
