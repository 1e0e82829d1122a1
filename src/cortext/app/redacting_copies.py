"""Taking secrets out of the archive: our compressed copies of the tools' transcripts.

A copy is packed anew, whole. What is remembered of it still says how much of the tool's file it
holds and how that ends, so that the next sync adds what is new and does not bring the rest back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from cortext.app.archive import Memory, folder_of, temp_dir
from cortext.app.redacting import Redacted, marker, masked_line, refuse_live
from cortext.app.scanning import Finding
from cortext.app.sync import archive_lock, copies_of
from cortext.durability.follow import Known, Tail, stamp
from cortext.durability.packed import MOST, SUFFIX, pack, read_packed
from cortext.durability.replace import make_private_dir, replace, storage_errors
from cortext.index.listed import Listed
from cortext.model.secrets import Mask

_AGAIN = ("opencode", "gemini")
"""Tools whose sessions are not appended to: a copy of one that changed is made anew."""


def redact_copies(row: Listed, findings: list[Finding] | None = None) -> Redacted:
    """Mask the secrets in the archive's copies of a tool's session, or of those that a
    conversation was had in; with `findings`, only these."""
    refuse_live(row)
    mask = marker({one.secret for one in findings} if findings is not None else None)
    files: list[str] = []
    pieces, notes = 0, list[str]()
    with archive_lock(10.0):
        make_private_dir(temp_dir())
        for tool, id in _sessions(row):
            memory = Memory(tool)
            for path in _packed(copies_of(tool, id)):
                count = _redact(tool, path, mask, memory)
                pieces += count
                files += [path] if count else []
                if count and tool in _AGAIN:
                    notes.append(
                        f"when {tool} goes on with {id}, sync copies it anew, with the secret"
                    )
            memory.save()
    return Redacted(pieces, files, list(dict.fromkeys(notes)))


def _sessions(row: Listed) -> list[tuple[str, str]]:
    if row.tool:
        return [] if row.is_apart else [(row.tool, row.key)]
    return [(tool, id) for tool in sorted(row.tools) for id in row.native]


def _packed(copies: Iterable[str]) -> Iterator[str]:
    for path in copies:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                yield from _packed(os.path.join(folder, name) for name in sorted(names))
        elif path.endswith(SUFFIX):
            yield path


def _redact(tool: str, path: str, mask: Mask, memory: Memory) -> int:
    """How many lines were changed. What is damaged in a copy stays away, as readers have it."""
    with storage_errors("archive into", path):
        data = b"".join(read_packed(path))
        lines = data.split(b"\n")
        masked = [masked_line(line, mask) for line in lines]
        changed = sum(old != new for old, new in zip(lines, masked, strict=True))
        if not changed:
            return 0
        found = os.stat(path)
        members = list(_members(b"\n".join(masked)))
        name = os.path.relpath(path, folder_of(tool)).removesuffix(SUFFIX)
        known = memory.copies.get(name) or Known()
        if known.packed != found.st_size:
            known = _known(data)
        # First: a copy that is not as it is remembered is looked at anew, one that was masked and
        # is remembered as it was before would be taken for another.
        if ".~" not in os.path.basename(path):
            memory.put(name, known._replace(packed=sum(map(len, members)), added=0))
            memory.save()
        replace(path, members, temp_dir=temp_dir())
        stamp(path, found.st_mtime_ns)
    return changed


def _known(data: bytes) -> Known:
    """Of a copy that holds these bytes of its file."""
    tail = Tail()
    for _ in tail.watch([data]):
        pass
    return Known("", len(data), 0, tail.digest)


def _members(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), MOST):
        yield pack(memoryview(data)[start : start + MOST])
