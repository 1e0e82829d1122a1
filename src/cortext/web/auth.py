"""Who asks: tokens, and the clients that they stand for.

A client's token is a file of its own below a folder, and the file's name is the client's. To take
a token back is to remove its file; a running server notices within a second. The person of this
machine is `local`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from cortext.durability.lock import FileLock
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, replace, storage_errors
from cortext.errors import CortextError
from cortext.model.ids import check_id

LOCAL = "local"
_SHORTEST = 16
_LONGEST = 1000
_LOOK_EVERY = 1.0


class Tokens:
    """Tokens and whose they are. Only their hashes are compared: how long that takes tells
    nothing about a token."""

    def __init__(self, owners: Mapping[str, str]) -> None:
        self._owners = _hashed(owners)

    def owner(self, token: str) -> str | None:
        """Whose token it is; "" is the person of this machine, None is nobody."""
        return self._owners.get(_hash(token))


class TokenFolder(Tokens):
    """The tokens in the files of a folder, as they are now."""

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(read_tokens(folder))
        self._folder = folder
        self._clock = clock
        self._looked = clock()
        self._changed = _changed(folder)

    def owner(self, token: str) -> str | None:
        now = self._clock()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._look()
        return super().owner(token)

    def _look(self) -> None:
        changed = _changed(self._folder)
        if changed != self._changed:
            self._changed = changed
            self._owners = _hashed(read_tokens(self._folder))


def local_token(folder: str) -> str:
    """The token of the person of this machine; the first time, it is made."""
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        path = os.path.join(folder, LOCAL)
        return _read(path) if os.path.lexists(path) else _make(path)


def new_token(folder: str, name: str) -> str:
    """A token for another client, which sees conversations of its own only."""
    path = os.path.join(folder, check_id(name))
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        if os.path.lexists(path):
            raise CortextError(
                f"there is a token for {name} already: {path}",
                hint="remove that file to take the token back",
            )
        return _make(path)


def read_tokens(folder: str) -> dict[str, str]:
    """Every token, and whose it is. CortextError names a file that nobody should trust."""
    with storage_errors("read", folder):
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
        return {_read(os.path.join(folder, n)): "" if n == LOCAL else n for n in sorted(names)}


def _make(path: str) -> str:
    token = os.urandom(24).hex()
    make_private_dir(os.path.dirname(path))
    replace(path, [token.encode() + b"\n"])
    return token


def _read(path: str) -> str:
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise CortextError(
            f"others can read the token in {path}", hint="make it yours with `chmod 600`"
        )
    token = read_file(path)[: _LONGEST + 1].decode("ascii", "replace").strip()
    if not (_SHORTEST <= len(token) <= _LONGEST and token.isascii() and token.isalnum()):
        raise CortextError(
            f"{path} has no token of {_SHORTEST} to {_LONGEST} letters and digits",
            hint="remove the file: a new token is made",
        )
    return token


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except FileNotFoundError:
        return 0


def _hashed(owners: Mapping[str, str]) -> dict[bytes, str]:
    return {_hash(token): owner for token, owner in owners.items()}


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
