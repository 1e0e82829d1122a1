"""The tool sessions that a user deleted from the archive. `cortext sync` never copies them again.

The file `archive/.forgotten` has one line for each deleted session. Tabs separate the fields: the
tool, the session's id, the time of deletion, and the names of the session's copies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace, storage_errors
from cortext.durability.read_files import read_file

_ESCAPED = (("%", "%25"), ("\t", "%09"), ("\n", "%0A"))


class DeletedSession(msgspec.Struct, frozen=True):
    """A tool session that a user deleted from the archive.

    `at` is the time of deletion. `names` holds the paths that the session's copies had, relative to
    the archive folder of the tool.
    """

    tool: str
    id: str
    at: str
    names: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no copy of the session exists. False means that the user has restored a copy."""
        home = os.path.join(paths.archive(), self.tool)
        return not any(os.path.lexists(os.path.join(home, name)) for name in self.names)


def path() -> str:
    """Return the path of the file that lists deleted sessions. The file may not exist."""
    return os.path.join(paths.archive(), ".forgotten")


def forgotten() -> list[DeletedSession]:
    """Return the tool sessions that users deleted from the archive and did not restore."""
    return [one for one in _read() if one.holds]


def record_deleted_session(new: DeletedSession) -> None:
    """Add a session to the file of deleted sessions. The caller must hold the archive's lock.

    An earlier entry for the same session is replaced.
    """
    kept = [one for one in forgotten() if (one.tool, one.id) != (new.tool, new.id)]
    with storage_errors("write", path()):
        make_private_dir(os.path.dirname(path()))
        replace(path(), [_line(one) for one in [*kept, new]])


def _read() -> Iterator[DeletedSession]:
    try:
        lines = read_file(path()).split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return
    for line in lines:
        tool, *rest = (_unescape(field) for field in os.fsdecode(line).split("\t"))
        if len(rest) >= 2:
            yield DeletedSession(tool, rest[0], rest[1], tuple(rest[2:]))


def _line(one: DeletedSession) -> bytes:
    return os.fsencode("\t".join(map(_escape, (one.tool, one.id, one.at, *one.names)))) + b"\n"


def _escape(field: str) -> str:
    for plain, escaped in _ESCAPED:
        field = field.replace(plain, escaped)
    return field


def _unescape(field: str) -> str:
    for plain, escaped in reversed(_ESCAPED):
        field = field.replace(escaped, plain)
    return field
