"""Check the machine: programs with the same names as ours, network disks, and tool versions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

from cortext.durability.read_files import read_file
from cortext.features.doctor.check_results import NOTE, WARNING, Problem
from cortext.model import json_codec, message_dicts
from cortext.tools.registry import find_tool

_SCRIPTS = {"cortext": WARNING, "aur": NOTE}
_HINTS = {
    "cortext": "your tools start that program; put the folder of this cortext before it in PATH, "
    "or use the command `cortext-sessions`",
    "aur": "use `cortext spawn`, which does the same as our `aur spawn`",
}
_NETWORK_NAMES = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "fuse.sshfs",
    "glusterfs",
)
_NETWORK_TYPES = {
    0x6969: "nfs",
    0x517B: "smb",
    0xFF534D42: "cifs",
    0xFE534D42: "smb2",
    0x01021997: "9p",
    0x5346414F: "afs",
    0x6B414653: "afs",
    0x00C36400: "ceph",
    0x0BD00BD0: "lustre",
    0x7461636F: "ocfs2",
    0x01161970: "gfs2",
}
"""The names of network file systems, by the type number that `statfs` returns."""
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_LARGEST_SCRIPT = 1 << 16


def check_program_names() -> list[Problem]:
    """Return a problem for each foreign program or Python package with the same name as ours."""
    found: list[Problem] = []
    for name, severity in _SCRIPTS.items():
        first = next(_on_path(name), "")
        if first and not _is_ours(first, name):
            text = f"another program named `{name}` comes first on the PATH: {first}"
            found.append(Problem(text, _HINTS[name], severity, first))
    try:
        other = metadata.distribution("cortext").version
    except metadata.PackageNotFoundError:
        return found
    text = f"an unrelated package named `cortext` ({other}) is installed in the same environment"
    hint = "it has modules of the same name as this package, `cortext-sessions`; uninstall it"
    return [*found, Problem(text, hint, WARNING)]


def _on_path(name: str) -> Iterator[str]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            yield path


def _is_ours(path: str, name: str) -> bool:
    """Return whether the program `name` at `path` starts cortext.

    The result is True for the script in the folder of the current Python, for a script that
    contains `cortext.cli`, and for a shim (a small start script) of pyenv. It is also True if the
    file cannot be read.
    """
    own = os.path.join(os.path.dirname(sys.executable), name)
    if os.path.realpath(path) == os.path.realpath(own) or "/shims/" in path:
        return True
    try:
        if os.path.getsize(path) > _LARGEST_SCRIPT:
            return False
        return b"cortext.cli" in read_file(path)
    except OSError:
        return True  # An unreadable program is not reported.


def check_writable(folder: str) -> list[Problem]:
    """Return a problem if cortext cannot write in a folder.

    If the folder does not exist, its nearest existing parent is checked. Other commands do not
    report this problem, because lists of conversations also work without the folder.
    """
    existing = _nearest_existing(folder)
    if os.access(existing, os.W_OK | os.X_OK):
        return []
    text = f"{existing} is not writable, so cortext cannot save anything new in {folder}"
    return [Problem(text, "check the folder's owner and permissions", path=existing)]


def check_network_disks(folders: Iterable[str]) -> list[Problem]:
    """Return a problem for each network disk that contains one of these folders."""
    mounts = _mounts()
    found: dict[tuple[str, str], list[str]] = {}
    for folder in folders:
        kind, where = _mount_of(os.path.realpath(folder), mounts)
        where = where or "an unknown mount point"
        # `statfs` also knows mounts that are missing in the mount table.
        kind = _NETWORK_TYPES.get(filesystem_type(folder), "") or kind
        if kind in _NETWORK_NAMES or kind in _NETWORK_TYPES.values():
            found.setdefault((kind, where), []).append(folder)
    return [
        Problem(
            f"{dirs[0]} is on a network disk ({kind}, at {where}); file locks may not work there",
            "write to it from one machine at a time; two machines at once may damage files",
            NOTE,
            dirs[0],
        )
        for (kind, where), dirs in found.items()
    ]


def filesystem_type(folder: str) -> int:
    """Return the type number of the file system that contains a folder; 0 if it is unknown.

    The number is the field `f_type` of `statfs`. If the folder does not exist, its nearest existing
    parent is used.
    """
    if not sys.platform.startswith("linux"):
        return 0
    import ctypes

    answer = (ctypes.c_long * 32)()
    try:
        failed = ctypes.CDLL(None, use_errno=True).statfs(
            os.fsencode(_nearest_existing(folder)), answer
        )
    except (AttributeError, OSError, ValueError):
        return 0
    return 0 if failed else answer[0] & 0xFFFFFFFF


def _nearest_existing(folder: str) -> str:
    """Return the folder, or its nearest parent that exists."""
    while folder and not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _mounts() -> list[tuple[str, str]]:
    """Return pairs of mount point and file system type, in the order of mounting."""
    try:
        rows = read_mounts().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    parts = [row.split(" ") for row in rows]
    return [(_unescape(part[1]), part[2]) for part in parts if len(part) > 2]


def read_mounts() -> bytes:
    """Return the mount table of this process as bytes. Raises OSError if the system has none."""
    with open("/proc/self/mounts", "rb") as file:
        return file.read()


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _mount_of(path: str, mounts: Iterable[tuple[str, str]]) -> tuple[str, str]:
    best = "", ""
    for where, kind in mounts:
        is_below = path == where or path.startswith(where.rstrip("/") + "/")
        if is_below and len(where) >= len(best[1]):
            best = kind, where
    return best


def read_tool_version(program: str | None) -> str:
    """Return the version of a tool without starting it; "" if it is unknown.

    The version comes from the `package.json` near the program, or from the program's path.
    """
    if program is None:
        return ""
    real = os.path.realpath(program)
    folder = os.path.dirname(real)
    for _ in range(4):
        try:
            package = message_dicts.as_dict(
                json_codec.decode(read_file(os.path.join(folder, "package.json")))
            )
        except (OSError, ValueError):
            folder = os.path.dirname(folder)
            continue
        return str(package.get("version") or "")
    found = _VERSION.findall(real)
    return found[-1] if found else ""


def is_tested(tool: str, version: str) -> bool:
    """Return whether our tests cover a version of a tool, or a newer version of this tool."""
    tested, given = (_version_numbers(text) for text in (find_tool(tool).tested_version, version))
    return given <= tested


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
