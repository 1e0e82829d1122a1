"""The record of the secrets that are redacted in the archive's copies of transcripts.

The record is the file `archive/.masked`. It holds only fingerprints (hashes made with a key), so it
does not reveal the secrets. Each redacted copy has one line,
`["TOOL","NAME","KEY",["FINGERPRINT",…]]`. KEY is the name of the key that made the fingerprints.

A sync updates a copy from the tool's own file, in which the secrets are still readable. The sync
first writes a temporary version of the file, in which the recorded secrets are redacted. It then
compares this version with the copy. Without this step, the file would always differ from its copy,
and the secrets would return to the archive. If the key was replaced, the fingerprints are useless.
Then the sync redacts every secret that it detects.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import DecodeError, ValidationError
from msgspec.json import Decoder

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace, storage_errors, temp_name
from cortext.durability.durable_files import write_new as write
from cortext.durability.gzip_members import MOST, SUFFIX, pack, read_packed
from cortext.durability.incremental_copy import CopyState, TailBuffer
from cortext.durability.read_files import read_blocks, read_file
from cortext.features.archive.archive_copy_states import temp_dir
from cortext.features.secrets.redactor import Redactor, key_name, redact_file_bytes
from cortext.model import json_codec
from cortext.model.secrets.detector import Mask, kind_only, without_fingerprints

_log = logging.getLogger("cortext.archive")
_REDACTION = re.compile(rb"\[redacted [a-z0-9-]+ ([0-9a-f]{12})\]")


class SecretFingerprints(NamedTuple):
    """The fingerprints of the secrets that are redacted in one copy, and the name of their key."""

    key: str
    prints: frozenset[str]


class _RedactionLine(NamedTuple):
    tool: str
    name: str
    key: str
    prints: list[str]


_decode_line = Decoder(_RedactionLine).decode


def redactions_path() -> str:
    """Return the path of the record of redactions in the archive.

    The file does not exist before the first redaction.
    """
    return os.path.join(paths.archive(), ".masked")


class ArchiveRedactions:
    """The fingerprints of the secrets that are redacted in the archive's copies of one tool.

    The name of a copy is a relative path, as `archive_name` returns it. A caller that changes the
    record must hold the lock of the archive.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._others: list[_RedactionLine] = []
        self._copies: dict[str, SecretFingerprints] = {}
        self._changed = False
        for line in _read_lines():
            if line.tool == tool:
                self._copies[line.name] = SecretFingerprints(line.key, frozenset(line.prints))
            else:
                self._others.append(line)

    def of(self, name: str, *, is_new: bool) -> Redactor | None:
        """Return a redactor for the secrets of a copy; None if nothing must be redacted.

        `is_new` means that the copy does not exist yet. The session may be a fork with texts of
        another session, so the redactor for a new copy redacts the secrets of all copies of the
        tool.
        """
        if name in self._copies:
            return _build_redactor([self._copies[name]])
        return self.of_all() if is_new else None

    def has(self, name: str) -> bool:
        """Return whether the record has redacted secrets for a copy."""
        return name in self._copies

    def of_all(self) -> Redactor | None:
        """Return a redactor for the secrets of all copies of the tool.

        Return None if the record has no redacted secrets of this tool.
        """
        return _build_redactor(self._copies.values()) if self._copies else None

    def add(self, name: str, prints: Iterable[str]) -> None:
        """Record that the secrets with these fingerprints are redacted in a copy.

        Do nothing if the recorded fingerprints of the copy were made with an earlier redaction key.
        In this case, all secrets of the copy are redacted anyway.
        """
        old, key = self._copies.get(name), key_name()
        if old and old.key != key:
            return  # With an old key, all secrets of the copy are redacted anyway.
        new = SecretFingerprints(key, frozenset(prints) | (old.prints if old else frozenset()))
        if new.prints and new != old:
            self._copies[name], self._changed = new, True

    def put(self, name: str, used: Iterable[str]) -> None:
        """Record that the secrets with the fingerprints `used` are redacted in a copy.

        If the recorded fingerprints of the copy were made with an earlier redaction key, replace
        them. (`add` keeps them.)
        """
        old = self._copies.pop(name, None)
        if old and old.key == key_name():
            self._copies[name] = old
        self.add(name, used)

    def move(self, old: str, new: str) -> None:
        if old in self._copies:
            self._copies[new], self._changed = self._copies.pop(old), True

    def save(self) -> None:
        """Write the record to disk, if it has changed.

        If that fails, raise SessionStorageError and keep the old file.
        """
        if not self._changed:
            return
        own = [
            _RedactionLine(self._tool, name, key, sorted(prints))
            for name, (key, prints) in self._items
        ]
        lines = [json_codec.encode(line) + b"\n" for line in (*self._others, *own)]
        with storage_errors("write", redactions_path()):
            make_private_dir(paths.archive())
            replace(redactions_path(), lines)
        self._changed = False

    @property
    def _items(self) -> list[tuple[str, SecretFingerprints]]:
        return sorted(self._copies.items())


def _build_redactor(of: Iterable[SecretFingerprints]) -> Redactor:
    given, key = list(of), key_name()
    if any(one.key != key for one in given):
        return Redactor()
    return Redactor(prints=frozenset[str]().union(*(one.prints for one in given)))


def _read_lines() -> Iterator[_RedactionLine]:
    try:
        lines = read_file(redactions_path()).split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return
    damaged: list[tuple[int, Exception]] = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                yield _decode_line(line)
        except (DecodeError, ValidationError, UnicodeDecodeError) as error:
            damaged.append((number, error))
    for number, error in damaged[:1]:
        more = f" (damaged lines in total: {len(damaged)})" if len(damaged) > 1 else ""
        text = "line %d of %s is damaged and ignored: %s%s"
        _log.warning(text, number, redactions_path(), error, more)


def write_redacted(source: str, name: str, mask: Mask) -> str:
    """Write a redacted version of the tool's file `source` to a temp file, and return its path.

    `name` is the name of the archive copy. Its suffix shows whether the file has one JSON value per
    line. The temp file gets the modification time of `source`. The caller removes the temp file.
    """
    temp = os.path.join(temp_dir(), temp_name("masked"))
    found = os.stat(source)
    if ".jsonl" in name:
        write(temp, (redact_file_bytes(name, block, mask) for block in read_blocks(source)))
    else:
        write(temp, [redact_file_bytes(name, read_file(source), mask)])
    os.utime(temp, ns=(found.st_mtime_ns, found.st_mtime_ns))
    return temp


def update_redacted_copy(target: str, masked: str, name: str) -> CopyState | None:
    """Replace an archive copy with a redacted file if the two differ only in their redactions.

    `masked` is the path of the redacted file, a redacted version of the tool's file. It may also
    have new text at its end. `target` is the path of the copy, and `name` is its name in the
    record. The redactions differ if the redaction key was replaced, or if a process was killed
    between two steps. Return the new state of the copy; None if nothing was replaced.
    """
    old, new = b"".join(read_packed(target)), read_file(masked)
    if new.startswith(old):
        return None
    complete = new[: new.rfind(b"\n") + 1] if ".jsonl" in name else new
    if not _normalize(complete, name).startswith(_normalize(old, name)):
        return None
    found = os.stat(target)
    packed = replace(target, pack_members(complete), temp_dir=temp_dir()).st_size
    os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns))
    return summarize_copy(complete)._replace(packed=packed)


def _normalize(data: bytes, name: str) -> str:
    """Return a text in which every secret and every redaction has the same form.

    Redactions lose their fingerprints, so two texts that differ only in redactions become equal.
    """
    plain = redact_file_bytes(name, data, kind_only)
    return without_fingerprints(plain.decode("utf-8", "surrogateescape"))


def find_fingerprints(data: bytes) -> set[str]:
    """Return the fingerprints in all redactions `[redacted FAMILY FINGERPRINT]` of a text."""
    return {found.decode() for found in _REDACTION.findall(data)}


def summarize_copy(data: bytes) -> CopyState:
    """Return the state to save for an archive copy with the contents `data`.

    The caller must fill in the compressed size and the fingerprint of the tool's file.
    """
    tail = TailBuffer()
    for _ in tail.watch([data]):
        pass
    return CopyState("", len(data), 0, tail.digest)


def pack_members(data: bytes) -> Iterator[bytes]:
    """Yield the data as compressed gzip members of limited size."""
    for start in range(0, len(data), MOST):
        yield pack(memoryview(data)[start : start + MOST])


def archive_name(path: str, home: str) -> str:
    """Return the name of an archive copy or of a tool's file: its path relative to `home`.

    Suffixes such as `.gz` are removed, so a copy and its source have the same name.
    """
    return os.path.relpath(path, home).removesuffix(SUFFIX).removesuffix(".zst")
