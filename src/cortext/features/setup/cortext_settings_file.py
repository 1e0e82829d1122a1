"""Read the effective settings, and change one line of a settings file."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from cortext import paths
from cortext.config import (
    BadSettingError,
    Config,
    Setting,
    check_text,
    definition,
    parse_settings,
    read_settings,
    user_file,
    workspace_file,
)
from cortext.durability.durable_files import (
    make_private_dir,
    refuse_link,
    replace,
    storage_errors,
    sweep_temps,
)
from cortext.errors import CortextError

# Three groups: a key with its equals sign, a value, and the rest of the line.
_ASSIGNMENT = re.compile(
    rb"""([\w"'. \t-]*=[ \t]*)("(?:[^"\\]|\\.)*+"|'[^']*'|[^#]*?)(\s*(?:#.*)?)""", re.DOTALL
)
# The maximum length of a line that is examined. cortext writes only short lines, and the pattern
# above is slow on long lines.
_LONGEST_LINE = 5000


class ConfigFiles(NamedTuple):
    """The paths of the user's and the workspace's settings file.

    `workspace` is None outside a workspace.
    """

    user: str
    workspace: str | None


class ConfigChange(NamedTuple):
    """The path of a settings file, and whether the file had to be changed."""

    path: str
    changed: bool


def current() -> Config:
    """Return the settings that are effective in the current folder."""
    return Config.load(_root())


def files() -> ConfigFiles:
    root = _root()
    return ConfigFiles(user_file(), None if root is None else workspace_file(root))


def set_value(name: str, text: str, *, workspace: bool = False) -> ConfigChange:
    """Write the setting `name` into the user's settings file. The rest of the file does not change.

    If `workspace` is true, write into the settings file of the current workspace instead. `text` is
    the value as the user typed it. Raises CortextError if the setting or its value is invalid.
    """
    setting = definition(name)
    if setting.kind == "path" and text and not text.startswith("~"):
        text = os.path.abspath(text)
    value = check_text(setting, text)
    return _change(setting, value, workspace)


def unset(name: str, *, workspace: bool = False) -> ConfigChange:
    """Remove the setting `name` from the user's settings file.

    If `workspace` is true, remove it from the settings file of the current workspace instead. Do
    nothing if the file does not have the setting.
    """
    return _change(definition(name), None, workspace)


def _root() -> str | None:
    """Return the folder of the current workspace, or None if it has no subfolder `.workspace`.

    A workspace without this subfolder has no settings.
    """
    root = paths.workspace_root()
    return root if os.path.isdir(os.path.join(root, ".workspace")) else None


def _change(setting: Setting, value: Any, workspace: bool) -> ConfigChange:
    path = _choose_file(setting, workspace)
    key = tuple(setting.name.split("."))
    with storage_errors("write", path), _lock_settings(os.path.dirname(path), workspace):
        data, wanted = read_settings(path)
        if value is None:
            changed = wanted.pop(key, None) is not None
        else:
            changed = (key not in wanted) or repr(wanted[key]) != repr(value)
            wanted[key] = value
        if changed:
            _write(path, _edit(data, path, key, wanted), workspace)
    return ConfigChange(path, changed)


def _choose_file(setting: Setting, workspace: bool) -> str:
    user, shared = files()
    if not workspace:
        return user
    if shared is None:
        raise CortextError(
            "this folder is not in a workspace", hint="create a workspace with `cortext init`"
        )
    if not setting.in_workspace:
        raise BadSettingError(
            f"a workspace may not set {setting.name}", hint="leave out --workspace"
        )
    return shared


@contextmanager
def _lock_settings(folder: str, workspace: bool) -> Generator[None]:
    """Hold a lock on a folder, so that no other process changes its settings file."""
    if workspace:
        refuse_link(folder)
    else:
        make_private_dir(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        sweep_temps(folder)
        yield
    finally:
        os.close(fd)


def _write(path: str, data: bytes, workspace: bool) -> None:
    """Write a settings file.

    If `workspace` is false, only the user can read the file. The settings file of a workspace keeps
    its permissions; a new one gets the default permissions (umask).
    """
    mode = 0o600
    if workspace:
        try:
            mode = os.stat(path).st_mode & 0o777
        except FileNotFoundError:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
    replace(path, [data])
    if workspace:
        os.chmod(path, mode)


def _edit(data: bytes, path: str, key: tuple[str, ...], wanted: dict[Any, Any]) -> bytes:
    """Return the contents `data` of a settings file with one line changed.

    The result has exactly the settings in `wanted`. `key` is the section and the name of the
    changed setting. Raises CortextError if changing one line is not enough.
    """
    literal = _literal(wanted[key]) if key in wanted else None
    for candidate in _candidates(data, key, literal):
        try:
            settings = parse_settings(candidate, path)
        except CortextError:
            continue
        # Compare by repr, so that a NaN elsewhere in the file is no difference.
        if repr(sorted(settings.items())) == repr(sorted(wanted.items())):
            return candidate
    raise CortextError(
        f"cortext cannot change {'.'.join(key)} in {path} because of the way it is written",
        hint="change it in an editor",
    )


def _candidates(data: bytes, key: tuple[str, ...], literal: bytes | None) -> Iterator[bytes]:
    """Yield versions of a settings file in which one setting is changed, added or removed.

    Each version changes a different line. The caller must parse each version to see whether it has
    the wanted settings. `key` is the section and the name of the setting. `literal` is the new
    value in TOML; None removes the setting.
    """
    section, name = (part.encode() for part in key)
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    lines = [line for line in re.split(rb"(?<=\n)", data) if line]
    for number, line in enumerate(lines):
        match = _ASSIGNMENT.fullmatch(line) if len(line) < _LONGEST_LINE else None
        if match and name in match[1]:
            new_line = b"" if literal is None else match[1] + literal + match[3]
            yield b"".join([*lines[:number], new_line, *lines[number + 1 :]])
    if literal is None:
        return
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += newline
    new_line = name + b" = " + literal + newline
    top, *tables = _find_table_ends(lines)
    for header, end in tables:
        if section in header:
            yield b"".join([*lines[:end], new_line, *lines[end:]])
    gap = newline if lines else b""
    yield b"".join([*lines, gap, b"[" + section + b"]" + newline, new_line])
    yield b"".join([*lines[: top[1]], section + b"." + new_line, *lines[top[1] :]])


def _find_table_ends(lines: list[bytes]) -> list[tuple[bytes, int]]:
    """Return the header of each TOML table, and the number of the line where its settings end.

    The first entry, with an empty header, is for the settings before the first table.
    """
    ends = [(b"", 0)]
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(b"["):
            ends.append((line, number))
        elif line.strip() and not line.lstrip().startswith(b"#"):
            ends[-1] = (ends[-1][0], number)
    return ends


def _literal(value: Any) -> bytes:
    if isinstance(value, str):
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{value}"'.encode()
    return repr(value).encode()
