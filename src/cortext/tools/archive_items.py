"""What of each tool's folder the archive mirrors, and the small files that lead to transcripts.

The mirror is laid out like the folder, so that the same bridges read it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.durability.gzip_members import MOST, SUFFIX
from cortext.durability.incremental_copy import Followed, Known, Tail, extend, print_of, sound_copy
from cortext.durability.read_files import open_file, read_file
from cortext.durability.replace_file import make_private_dir, replace, storage_errors, temp_name
from cortext.errors import SessionCorruptedError, SessionStorageError
from cortext.model import json_codec
from cortext.tools import jsonl
from cortext.tools.opencode.redacted_rows import Change, Changed
from cortext.tools.scan import own_home

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COLD = ".zst"


class Item(NamedTuple):
    """A file of a tool and its `name` in the mirror, without what says that it is compressed.

    `kind` is "log" for what is appended to, "document" for what is written anew, "cold" for what
    the tool compressed, "side" for what leads to transcripts, "rows" for a session in a store
    of OpenCode, of which `print` tells whether it changed. `id` is the session's, as far as the
    place tells.
    """

    path: str
    name: str
    kind: str
    id: str = ""
    print: str = ""


Failures = dict[str, str]
"""What could not be read, and why."""


def items(tool: str, failures: Failures) -> Iterator[Item]:
    """All that is to be mirrored of one tool, where it usually is; what cannot be read of it is
    added to `failures`. A transcript that is a link to somewhere else than the tool's folder is
    no transcript of the tool's; that folder itself may be a link, and those in it."""
    if tool == "opencode":
        return _opencode(failures)
    found = {"claude": _claude, "codex": _codex, "gemini": _gemini}[tool]()
    home = os.path.realpath(own_home(tool))
    return (item for item in found if not _leads_out(item, home, failures))


def _leads_out(item: Item, home: str, failures: Failures) -> bool:
    if item.kind == "side" or not os.path.islink(item.path):
        return False
    real = os.path.realpath(item.path)
    inside = (home, os.path.realpath(os.path.dirname(item.path)))
    if any(os.path.commonpath((folder, real)) == folder for folder in inside):
        return False
    failures[item.path] = "it is a link that leads out of the tool's folder, and is not copied"
    return True


def _claude() -> Iterator[Item]:
    home = own_home("claude")
    for folder in jsonl.listed(os.path.join(home, "projects")):
        for entry in jsonl.listed(folder.path) if os.path.isdir(folder) else ():
            if _UUID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                for one in _walk(entry.path):
                    yield _item(home, one, entry.name)
            elif entry.name.endswith(".jsonl") and os.path.isfile(entry):
                id = entry.name.removesuffix(".jsonl")
                yield _item(home, entry, id if _UUID.fullmatch(id) else "")


def _codex() -> Iterator[Item]:
    home = own_home("codex")
    yield from _side(home, "session_index.jsonl")
    for folder in ("archived_sessions", "sessions"):
        for entry in _walk(os.path.join(home, folder)):
            bare = entry.name.removesuffix(_COLD)
            found = _UUID.findall(bare)
            if bare.startswith("rollout-") and bare.endswith(".jsonl") and found:
                item = _item(home, entry, found[0])
                name = item.name.removesuffix(_COLD)
                yield item if name == item.name else item._replace(name=name, kind="cold")


def _gemini() -> Iterator[Item]:
    home = own_home("gemini")
    yield from _side(home, "projects.json")
    for project in jsonl.listed(os.path.join(home, "tmp")):
        chats = jsonl.listed(os.path.join(project.path, "chats"))
        yield from _side(home, f"tmp/{project.name}/.project_root") if chats else ()
        for entry in chats:
            if entry.is_dir(follow_symlinks=False):
                for one in _walk(entry.path):
                    yield _item(home, one, entry.name)
            elif entry.name.endswith((".jsonl", ".json")) and os.path.isfile(entry):
                yield _item(home, entry)


def _opencode(failures: Failures) -> Iterator[Item]:
    if not os.path.isdir(own_home("opencode")) and not os.environ.get("OPENCODE_DB"):
        return
    from cortext.tools.opencode.reader import OpenCodeBridge
    from cortext.tools.opencode.storage import (
        Database,
        Found,
        explain_refusal,
        read_database,
        trees,
    )

    bridge, seen = OpenCodeBridge(), set[str]()
    found: list[tuple[str, Found]] = []
    for path in bridge.databases():
        try:
            found += ((path, one) for one in read_database(path, Database.families))
        except (OSError, SessionCorruptedError) as error:
            failures[path] = explain_refusal(error)
    for tree in trees(bridge.home):
        try:
            found += () if tree.is_side else [(tree.path, tree.found)]
        except (OSError, SessionCorruptedError) as error:
            failures[tree.path] = explain_refusal(error)
    for path, one in found:
        if one.id not in seen and _is_name(one.id):
            seen.add(one.id)
            yield Item(path, f"sessions/{one.id}.jsonl", "rows", one.id, one.print)


def _is_name(id: str) -> bool:
    """Whether an id of a database can be the name of a file."""
    return bool(re.fullmatch(r"[A-Za-z0-9_-]{1,200}", id))


def _item(home: str, entry: os.DirEntry[str], id: str = "") -> Item:
    name = os.path.relpath(entry.path, home)
    return Item(entry.path, name, "document" if name.endswith(".json") else "log", id)


def _side(home: str, name: str) -> Iterator[Item]:
    path = os.path.join(home, name)
    if os.path.isfile(path):
        yield Item(path, name, "side")


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    for entry in jsonl.listed(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif os.path.isfile(entry) and not entry.name.endswith(SUFFIX):
            yield entry


def copy_side(
    item: Item, target: str, known: Known | None, *, temp_dir: str, change: Change | None = None
) -> Followed:
    """Copy a small file as `change` makes it. What an older copy led to is still led to."""
    mark = print_of(os.stat(item.path))
    if known and known.print == mark and os.path.exists(target):
        return Followed(known)
    data = change(read_file(item.path)) if change else read_file(item.path)
    old = read_file(target) if os.path.exists(target) else b""
    data = _merged(os.path.basename(target), old, data)
    if data != old:
        with storage_errors("archive into", target):
            make_private_dir(os.path.dirname(target))
            replace(target, [data], temp_dir=temp_dir)
    return Followed(Known(mark, len(data), len(data)), "", len(data) if data != old else 0)


def _merged(name: str, old: bytes, new: bytes) -> bytes:
    if name == "session_index.jsonl":
        lines = set(new.split(b"\n"))
        gone = [line for line in old.split(b"\n") if line and line not in lines]
        return b"".join(line + b"\n" for line in gone) + new
    if name == "projects.json" and old:
        try:
            before, now = _projects(old), _projects(new)
        except (ValueError, LookupError, TypeError):
            return new or old
        missing = {folder: slug for folder, slug in before.items() if folder not in now}
        return json_codec.pretty({"projects": missing | now}) if missing else new
    return new


def _projects(data: bytes) -> dict[str, Any]:
    return cast("dict[str, Any]", dict(json_codec.decode(data)["projects"]))


def session_lines(path: str, id: str) -> list[bytes]:
    """All that OpenCode has of a session, as the archive would write it; FileNotFoundError if it
    is gone, SessionCorruptedError where not all of it can be had."""
    from cortext.tools.opencode.archive_log import new_lines
    from cortext.tools.opencode.storage import Origin, Tree, read_database

    def work(store: Origin) -> list[bytes]:
        failures: list[str] = []
        found = [*new_lines(store, id, {}, failures)]
        if failures:
            raise SessionCorruptedError(path, f"{id} is read in part: {failures[0]}")
        return found

    return work(Tree(path)) if path.endswith(".json") else read_database(path, work)


def copy_session(
    item: Item, target: str, known: Known | None, *, temp_dir: str, change: Change | None = None
) -> Followed:
    """Bring the log of a session of OpenCode up to its rows, or to the files of older releases,
    each as `change` makes it. All its rows are compared: not each change moves the time of a
    row."""
    from cortext.tools.opencode.archive_log import blocks, digests, new_lines
    from cortext.tools.opencode.storage import Origin, Tree, read_database

    def work(given: Origin) -> Followed:
        store = Changed(given, change) if change else given
        with storage_errors("archive into", target):
            base, tail = sound_copy(target, known), Tail()
            failures: list[str] = []
            lines = new_lines(store, item.id, digests(target) if base.packed else {}, failures)
            new = extend(target, base, tail.watch(blocks(lines, MOST)), temp_dir=temp_dir)
        if failures:
            raise SessionCorruptedError(item.path, f"{item.id} is copied in part: {failures[0]}")
        new = new._replace(print=item.print, length=base.length + tail.seen)
        did = "grown" if base.packed else "new"
        return Followed(new, did if tail.seen else "", tail.seen)

    if known and known.print == item.print and os.path.exists(target):
        return Followed(known)
    if item.path.endswith(".json"):
        return work(Tree(item.path))
    return read_database(item.path, work)


def warm(item: Item, temp_dir: str) -> str:
    """A plain copy of a file that Codex compressed, in the temp folder; "" where the program that
    unpacks it is missing. Whoever asked for it removes it."""
    import subprocess

    path = os.path.join(temp_dir, temp_name("warm"))
    source = open_file(item.path)
    found = os.fstat(source)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        done = subprocess.run(
            ["zstd", "-dcq"], stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=False
        )
    except FileNotFoundError:
        os.unlink(path)
        return ""
    finally:
        os.close(source)
        os.close(target)
    if done.returncode:
        os.unlink(path)
        raise SessionStorageError(f"{item.path} cannot be unpacked", path=item.path)
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
    return path
