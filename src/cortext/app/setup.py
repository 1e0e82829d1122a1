"""Connecting cortext to a person's AI tools, and taking it out again.

What would change is planned first, shown by the face, and done when the person agrees. A record of
what was put in, and where, lets `uninstall` leave every file as it was, byte for byte.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Sequence
from stat import S_IMODE
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.bridges import settings
from cortext.bridges.commands import WITH_COMMANDS, Command, file_name, file_text, user_folder
from cortext.bridges.places import TOOLS, own_home
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, remove_if_there, replace, storage_errors
from cortext.errors import CortextError
from cortext.model import json

COMMANDS = (
    Command(
        "workspace.resume",
        "briefing",
        "Find an earlier conversation again and go on with it.",
        "[number, id or words]",
    ),
    Command(
        "workspace.stop-conversation",
        "stop --how",
        "Save this conversation and pause it.",
        "[where you stopped]",
    ),
    Command("cortext", "briefing", "Go on with an earlier conversation.", "[words]"),
)


class Change(NamedTuple):
    """One file before and after; None is no file. `record` is what undoes it, None for nothing."""

    tool: str
    path: str
    old: bytes | None
    new: bytes | None
    record: dict[str, Any] | None = None


class Plan(NamedTuple):
    """What would be done, and what a person should know about it; `left` are the tools whose
    settings cannot have our hooks."""

    changes: list[Change]
    notes: list[str]
    left: list[str]

    @property
    def tools(self) -> list[str]:
        """Those in which something changes."""
        return list(dict.fromkeys(change.tool for change in self.changes))


def found_tools() -> list[str]:
    """The tools of this person: whose program is on the PATH, or whose folder is there."""
    return [tool for tool in TOOLS if shutil.which(tool) or os.path.isdir(own_home(tool))]


def plan_setup(tools: Sequence[str]) -> Plan:
    """Hooks and commands for these tools; nothing where all is there already."""
    plan = Plan([], [], [])
    installed = _Installed.load()
    for tool in tools:
        if tool in settings.FILES:
            _plan_hooks(tool, installed, plan)
        if tool in WITH_COMMANDS:
            _plan_commands(tool, installed, plan)
    if shutil.which("cortext") is None:
        plan.notes.append(
            "`cortext` is not on your PATH, and the tools call it by that name: put it there"
        )
    return plan


def plan_uninstall(tools: Sequence[str]) -> Plan:
    """All that `setup` put in goes, for these tools."""
    plan = Plan([], [], [])
    installed = _Installed.load()
    for tool in tools:
        if tool in settings.FILES:
            _plan_without_hooks(tool, installed, plan)
        if tool in WITH_COMMANDS:
            _plan_without_commands(tool, installed, plan)
    return plan


def carry_out(plan: Plan) -> None:
    """Do what was planned. A file that has changed since is left, and that is an error."""
    installed = _Installed.load()
    folders: list[str] = []
    for change in plan.changes:
        path = os.path.realpath(change.path)
        with storage_errors("write", path):
            if _read(path) != change.old:
                raise CortextError(
                    f"{change.path} was changed meanwhile", hint="nothing was done to it: try again"
                )
            # The record first: what it says of a file that is not written yet does no harm.
            if change.record is not None:
                change.record["folders"] = _missing_folders(path)
                installed.keep(change.path, {**change.record, "tool": change.tool})
            _write(path, change.new)
            if change.record is None:
                folders += installed.of(change.path).get("folders") or []
                installed.forget(change.path)
    _remove_folders(folders)


def has_hooks(tool: str) -> bool:
    """Whether what is said in a tool is captured without anybody doing anything."""
    if tool not in settings.FILES:
        return False
    text = _text(_read(settings.settings_path(tool)) or b"")
    return settings.has_hooks(tool, text)


def _plan_hooks(tool: str, installed: _Installed, plan: Plan) -> None:
    path = settings.settings_path(tool)
    old = _read(path)
    text = _text(old or b"")
    try:
        if tool == "codex" and settings.has_hooks(tool, text):
            return
        before = _before(tool, path, text, installed)
        edited = settings.with_hooks(tool, before)
    except ValueError as error:
        plan.notes.append(f"{path} is left as it is: {error}{_instead(tool, text)}")
        plan.left.append(tool)
        return
    new = _bytes(edited.text)
    if new != old:
        record = {"digest": _digest(new), "steps": edited.steps, "made": edited.made}
        plan.changes.append(Change(tool, path, old, new, {**record, "new": old is None}))


def _instead(tool: str, text: str) -> str:
    """What a person can do who has a program of their own where ours would be."""
    if tool != "codex" or not settings.is_taken(text):
        return ""
    call = " ".join(settings.NOTIFY)
    return f'; to have both, let the program that it names also run `{call} "$1"`'


def _plan_without_hooks(tool: str, installed: _Installed, plan: Plan) -> None:
    path = settings.settings_path(tool)
    old = _read(path)
    if old is None:
        return
    try:
        before = _bytes(_before(tool, path, _text(old), installed))
    except ValueError as error:
        plan.notes.append(f"{path} is left as it is: {error}")
        return
    if before != old:
        gone = installed.of(path).get("new") and not before.strip()
        plan.changes.append(Change(tool, path, old, None if gone else before))


def _before(tool: str, path: str, text: str, installed: _Installed) -> str:
    """The settings as they would be without us: exactly, if nobody has changed them since."""
    record = installed.of(path)
    if record.get("digest") == _digest(_bytes(text)):
        before = _undone(tool, text, record.get("steps"))
        if before is not None:
            return before
    made: Any = record.get("made")
    paths_made = [path for path in made if path[:1] == ["hooks"]] if _is_paths(made) else []
    return settings.without_hooks(tool, text, paths_made)


def _undone(tool: str, text: str, steps: Any) -> str | None:
    """The text before some steps; None unless taking them again gives the text: the record that
    they are from is a file like any other."""
    try:
        before = settings.undone(text, steps)
        return before if settings.with_hooks(tool, before).text == text else None
    except (TypeError, ValueError, LookupError):
        return None


def _is_paths(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(path, list) for path in cast("list[Any]", value)
    )


def _plan_commands(tool: str, installed: _Installed, plan: Plan) -> None:
    for command in COMMANDS:
        path = os.path.join(user_folder(tool), file_name(tool, command))
        old = _read(path)
        new = file_text(tool, command, _text(old or b"")).encode()
        if old == new:
            continue
        if old is not None and installed.of(path).get("digest") != _digest(old):
            plan.notes.append(f"{path} is kept as you have it")
            continue
        plan.changes.append(Change(tool, path, old, new, {"digest": _digest(new)}))


def _plan_without_commands(tool: str, installed: _Installed, plan: Plan) -> None:
    for command in COMMANDS:
        path = os.path.join(user_folder(tool), file_name(tool, command))
        old = _read(path)
        if old is None:
            continue
        ours = installed.of(path).get("digest") == _digest(old)
        if ours or old == file_text(tool, command, _text(old)).encode():
            plan.changes.append(Change(tool, path, old, None))
        else:
            plan.notes.append(f"{path} is kept as you have it")


class _Installed:
    """What we put where: a file of ours, so that a person's own files say nothing about it."""

    def __init__(self, files: dict[str, dict[str, Any]]) -> None:
        self._files = files

    @classmethod
    def load(cls) -> _Installed:
        data = _read(_record_path())
        try:
            found = json.decode(data) if data else None
        except ValueError:
            found = None  # without it everything is still found by what it looks like
        files: Any = cast("dict[str, Any]", found).get("files") if isinstance(found, dict) else {}
        files = cast("dict[str, Any]", files) if isinstance(files, dict) else {}
        return cls({path: one for path, one in files.items() if isinstance(one, dict)})

    def of(self, path: str) -> dict[str, Any]:
        return self._files.get(path) or {}

    def keep(self, path: str, record: dict[str, Any]) -> None:
        folders = [*self.of(path).get("folders", ()), *record["folders"]]
        self._files[path] = {**record, "folders": folders}
        self._save()

    def forget(self, path: str) -> None:
        if self._files.pop(path, None) is not None:
            self._save()

    def _save(self) -> None:
        path = _record_path()
        make_private_dir(os.path.dirname(path))
        replace(path, [json.pretty({"version": 1, "files": self._files}), b"\n"])


def _record_path() -> str:
    return os.path.join(paths.data_home(), "cortext", "setup.json")


def _read(path: str) -> bytes | None:
    try:
        return read_file(path)
    except FileNotFoundError:
        return None


def _write(path: str, data: bytes | None) -> None:
    """The whole file, with the permissions that it had."""
    if data is None:
        remove_if_there(path)
        return
    mode = S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else None
    make_private_dir(os.path.dirname(path))
    replace(path, [data])
    if mode is not None:
        os.chmod(path, mode)


def _missing_folders(path: str) -> list[str]:
    """The folders that have to be made for a file, the deepest first."""
    found: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _remove_folders(folders: Iterable[str]) -> None:
    """What we made and nobody uses."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _text(data: bytes) -> str:
    """Whatever the bytes are, `_bytes` gives them back."""
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
