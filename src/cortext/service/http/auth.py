"""Access tokens of the HTTP service, and the clients to which they belong.

Each token is in a file of its own in one folder. The file name is the name of the client. To revoke
a token, delete its file; a running server notices that within a second. A file with unsafe
permissions or invalid content is logged and ignored. The file `local` has the token of the user of
this machine.
"""

from __future__ import annotations

import hmac
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import make_private_dir, replace, storage_errors
from cortext.errors import CortextError
from cortext.model.ids import check_id
from cortext.service.http.rate_limits import Rate

LOCAL = "local"
_SHORTEST = 16
_LONGEST = 1000
_LOOK_EVERY = 1.0
_GUESSES = 60
"""The number of unknown tokens per minute for which the token folder is scanned again."""
_log = logging.getLogger("cortext.web")
Marks = dict[str, tuple[int, ...]]


class AccessTokens:
    """The access tokens of a service, each with its owner.

    Only hashes of tokens are compared, so the time of a comparison reveals nothing about a token.
    A seal is a keyed hash of a token; a browser's cookie contains a seal instead of the token.
    """

    def __init__(self, owners: Mapping[str, str]) -> None:
        self._set(owners)

    def owner(self, token: str) -> str | None:
        """Return the owner of a token; "" is the user of this machine, None is nobody."""
        return self._owners.get(_hash(token))

    def seal(self, secret: bytes, token: str) -> str:
        """Return the seal of a token: a keyed hash that can be shown where the token must not be.

        `secret` is the key of the hash.
        """
        return _sealed(secret, _hash(token))

    def sealed_by(self, secret: bytes, seal: str) -> str | None:
        """Return the owner of the token from which `seal` was made with this `secret`.

        Return None if no current token has this seal.
        """
        if secret not in self._seals:
            each = ((_sealed(secret, known), owner) for known, owner in self._owners.items())
            self._seals[secret] = {_hash(made): owner for made, owner in each}
        return self._seals[secret].get(_hash(seal))

    def _set(self, owners: Mapping[str, str]) -> None:
        self._owners = {_hash(token): owner for token, owner in owners.items()}
        self._seals: dict[bytes, dict[bytes, str]] = {}


class TokenFolder(AccessTokens):
    """The access tokens that are now in the files of a folder.

    A token that is not known may have just been added, so the folder is scanned again. The number
    of such scans per minute is limited, because a client may be guessing tokens.
    """

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__({})
        self._folder = folder
        self._clock = clock
        self._looked = clock()
        self._guesses = Rate(_GUESSES, clock)
        self._marks: Marks | None = None
        with storage_errors("read", folder):
            self._look()

    def owner(self, token: str) -> str | None:
        self._keep_up()
        found = super().owner(token)
        return super().owner(token) if found is None and token and self._may_be_new() else found

    def sealed_by(self, secret: bytes, seal: str) -> str | None:
        self._keep_up()
        found = super().sealed_by(secret, seal)
        return super().sealed_by(secret, seal) if found is None and self._may_be_new() else found

    def _keep_up(self) -> None:
        if self._clock() - self._looked >= _LOOK_EVERY:
            self._try_to_look()

    def _may_be_new(self) -> bool:
        """Scan the folder again, unless the limit is reached. Return whether it was scanned."""
        if self._guesses.wait(""):
            return False
        self._try_to_look()
        return True

    def _try_to_look(self) -> None:
        self._looked = self._clock()
        try:
            self._look()
        except OSError as error:
            _log.warning("the tokens in %s cannot be looked at: %s", self._folder, error)

    def _look(self) -> None:
        # Take the fingerprints before reading, so that the next scan notices a change in between.
        marks = _marks(self._folder)
        if marks != self._marks:
            owners, is_all = _readable(self._folder, marks)
            self._set(owners)
            self._marks = marks if is_all else None


def local_token(folder: str) -> str:
    """Return the token of the user of this machine, and create it if it does not exist yet.

    `folder` is the folder of the token files.
    """
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        path = os.path.join(folder, LOCAL)
        return _read(path) if os.path.lexists(path) else _make(path)


def new_token(folder: str, name: str) -> str:
    """Create an access token for the client `name`, and return the token.

    With the token, the client sees only its own conversations. Raise CortextError if the client
    already has a token.
    """
    path = os.path.join(folder, check_id(name))
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        if os.path.lexists(path):
            raise CortextError(
                f"there is a token for {name} already: {path}",
                hint="remove that file to take the token back",
            )
        return _make(path)


def read_tokens(folder: str) -> dict[str, str]:
    """Return all valid tokens in a folder, each with its owner.

    The owner "" is the user of this machine. Files with unsafe permissions or invalid content are
    logged and left out.
    """
    with storage_errors("read", folder):
        return _readable(folder, _marks(folder))[0]


def _readable(folder: str, names: Iterable[str]) -> tuple[dict[str, str], bool]:
    """Return the valid tokens with their owners, and whether every file was examined.

    The second value is False if a file had a read error that may be temporary.
    """
    owners: dict[str, str] = {}
    is_all = True
    for name in sorted(names):
        try:
            owners[_read(os.path.join(folder, name))] = "" if name == LOCAL else name
        except (CortextError, FileNotFoundError, PermissionError) as error:
            _log.warning("not a token: %s", error)
        except OSError as error:
            _log.warning("a token cannot be read: %s", error)
            is_all = False
    return owners, is_all


def _make(path: str) -> str:
    token = os.urandom(24).hex()
    make_private_dir(os.path.dirname(path))
    replace(path, [token.encode() + b"\n"])
    return token


def _read(path: str) -> str:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise CortextError(f"{path} is no file", hint="only tokens belong into that folder")
    if stat.S_IMODE(mode) & 0o077:
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


def _marks(folder: str) -> Marks:
    """Return a fingerprint of each token file, by file name; {} if the folder does not exist."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except FileNotFoundError:
        return {}
    return {name: _mark(os.path.join(folder, name)) for name in names}


def _mark(path: str) -> tuple[int, ...]:
    try:
        it = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    return it.st_ino, it.st_size, it.st_mtime_ns, it.st_ctime_ns


def _sealed(secret: bytes, hashed: bytes) -> str:
    return hmac.digest(secret, hashed, "sha256").hex()


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
