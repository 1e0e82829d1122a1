"""Making a folder a workspace, and never overwriting what a person wrote there."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortext.builtin import TYPES
from cortext.durability.read import read_file
from cortext.durability.replace import storage_errors
from cortext.lifecycle.types import built_in

IGNORE = "# Search tools of agents have no business in what past sessions said.\n**/.session/\n"
_CONFIG = "# Settings of this workspace. It may not name programs, hooks or URLs.\n"


class Initialized(NamedTuple):
    """What was done: paths below the workspace."""

    made: list[str]
    same: list[str]
    kept: list[str]


def initialize(root: str, *, overwrite: Callable[[str, str], bool]) -> Initialized:
    """Put our files below `root`. Of one that is there and differs, `overwrite` is told the path
    and the difference, and decides."""
    result = Initialized([], [], [])
    with storage_errors("initialize", root):
        os.makedirs(os.path.join(root, ".workspace", "agents"), exist_ok=True)
        for name, data in _files():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            old = read_file(path) if os.path.lexists(path) else None
            if old == data:
                result.same.append(name)
            elif old is None or overwrite(name, _difference(name, old, data)):
                _write(path, data)
                result.made.append(name)
            else:
                result.kept.append(name)
    return result


def _files() -> Iterator[tuple[str, bytes]]:
    for kind in TYPES:
        yield f".workspace/templates/{kind}.md", built_in("templates", kind) or b""
    for name in (*TYPES, "resume", "stop-conversation"):
        yield f".workspace/commands/{name}.md", built_in("commands", name) or b""
    yield ".workspace/config.toml", _CONFIG.encode()
    yield "conversations/.ignore", IGNORE.encode()


def _write(path: str, data: bytes) -> None:
    """Files of a workspace are the person's: they follow the umask, and a link is not followed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with open(fd, "wb") as file:
        file.write(data)


def _difference(name: str, old: bytes, new: bytes) -> str:
    mine, ours = (d.decode("utf-8", "replace").splitlines(keepends=True) for d in (old, new))
    return "".join(difflib.unified_diff(mine, ours, f"{name} (yours)", f"{name} (new)"))
