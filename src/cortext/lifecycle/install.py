"""Making a folder a workspace, and never overwriting what a person wrote there."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortext.builtin import TYPES
from cortext.durability.read import read_file
from cortext.durability.replace import storage_errors
from cortext.lifecycle.known import remember_workspace
from cortext.lifecycle.types import built_in

IGNORE = "# Search tools of agents have no business in what past sessions said.\n**/.session/\n"
_CONFIG = "# Settings of this workspace. It may not name programs, hooks or URLs.\n"
_THEIRS = (".workspace/config.toml", "conversations/.ignore")
"""Files that we begin and a person goes on with."""
_INSTALLED = ".workspace/.installed"
"""The digest of each file as we wrote it: what still has it was not changed by anybody."""


class Initialized(NamedTuple):
    """What was done: paths below the workspace."""

    made: list[str]
    same: list[str]
    kept: list[str]


def initialize(root: str, *, overwrite: Callable[[str, str], bool]) -> Initialized:
    """Put our files below `root`, or bring them up to date. Of one that a person changed,
    `overwrite` is told the path and the difference, and decides."""
    result = Initialized([], [], [])
    with storage_errors("initialize", root):
        os.makedirs(os.path.join(root, ".workspace", "agents"), exist_ok=True)
        installed = _read_installed(root)
        for name, data in _files():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            old = read_file(path) if os.path.lexists(path) else None
            ours = old is None or installed.get(name) == _digest(old)
            if old == data or (old is not None and name in _THEIRS):
                result.same.append(name)
            elif ours or overwrite(name, _difference(name, old or b"", data)):
                _write(path, data)
                result.made.append(name)
            else:
                result.kept.append(name)
                continue
            installed[name] = _digest(data)
        _write_installed(root, installed)
    remember_workspace(root)
    return result


def _files() -> Iterator[tuple[str, bytes]]:
    for kind in TYPES:
        yield f".workspace/templates/{kind}.md", built_in("templates", kind) or b""
    for name in (*TYPES, "resume", "stop-conversation"):
        yield f".workspace/commands/{name}.md", built_in("commands", name) or b""
    yield ".workspace/config.toml", _CONFIG.encode()
    yield "conversations/.ignore", IGNORE.encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_installed(root: str) -> dict[str, str]:
    path = os.path.join(root, _INSTALLED)
    text = read_file(path).decode("utf-8", "replace") if os.path.lexists(path) else ""
    pairs = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {name: digest for digest, name in pairs}


def _write_installed(root: str, installed: dict[str, str]) -> None:
    """As `sha256sum` writes it, and only when it is another."""
    data = "".join(f"{digest}  {name}\n" for name, digest in sorted(installed.items())).encode()
    path = os.path.join(root, _INSTALLED)
    if not os.path.lexists(path) or read_file(path) != data:
        _write(path, data)


def _write(path: str, data: bytes) -> None:
    """Files of a workspace are the person's: they follow the umask, and a link is not followed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with open(fd, "wb") as file:
        file.write(data)


def _difference(name: str, old: bytes, new: bytes) -> str:
    mine, ours = (d.decode("utf-8", "replace").splitlines(keepends=True) for d in (old, new))
    return "".join(difflib.unified_diff(mine, ours, f"{name} (yours)", f"{name} (new)"))
