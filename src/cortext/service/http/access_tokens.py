"""Access tokens of the HTTP service. Each token belongs to one client.

All tokens are in one folder, each in its own file. The name of the file is the name of the client.
The file `local` contains the token of the user of this machine.

To revoke a token, delete its file. A running server notices the change within a second. A file with
unsafe permissions or invalid content is logged and ignored.
"""

from __future__ import annotations

import hmac
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from cortext.durability.durable_files import make_private_dir, replace, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.model.ids import check_id
from cortext.service.http.rate_limits import Rate

LOCAL = "local"
_MIN_LENGTH = 16
_MAX_LENGTH = 1000
_SCAN_EVERY = 1.0
_MAX_SCANS = 60
"""How often per minute the token folder may be scanned again because of unknown tokens."""
_log = logging.getLogger("cortext.web")
_Fingerprints = dict[str, tuple[int, ...]]


class AccessTokens:
    """The access tokens of a service, each with its owner: the client that uses the token.

    The class stores and compares hashes of tokens, so the duration of a comparison reveals nothing
    about a token.

    A seal is a keyed hash of a token. A browser's cookie contains the seal instead of the token.
    """

    def __init__(self, owners: Mapping[str, str]) -> None:
        self._set_owners(owners)

    def owner(self, token: str) -> str | None:
        """Return the owner of a token (the name of a client), or None if the token is unknown.

        The owner "" is the user of this machine.
        """
        return self._owners.get(_hash(token))

    def seal(self, secret: bytes, token: str) -> str:
        """Return the seal of a token: a hash of the token, made with the key `secret`."""
        return _make_seal(secret, _hash(token))

    def owner_of_seal(self, secret: bytes, seal: str) -> str | None:
        """Return the owner of the token that has this seal, or None if no token has it.

        `secret` is the key that was used to make the seal.
        """
        if secret not in self._seals:
            seals = ((_make_seal(secret, hashed), owner) for hashed, owner in self._owners.items())
            self._seals[secret] = {_hash(made_seal): owner for made_seal, owner in seals}
        return self._seals[secret].get(_hash(seal))

    def _set_owners(self, owners: Mapping[str, str]) -> None:
        self._owners = {_hash(token): owner for token, owner in owners.items()}
        self._seals: dict[bytes, dict[bytes, str]] = {}


class TokenFolder(AccessTokens):
    """The access tokens in the files of a folder. New, changed and deleted files are noticed.

    The folder is scanned at most once a second. If a client sends an unknown token, the folder is
    scanned again at once, because the token may be new. The number of these additional scans per
    minute is limited, because the client may be guessing tokens.
    """

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__({})
        self._folder = folder
        self._clock = clock
        self._scanned_at = clock()
        self._scan_rate = Rate(_MAX_SCANS, clock)
        self._fingerprints: _Fingerprints | None = None
        with storage_errors("read", folder):
            self._scan()

    def owner(self, token: str) -> str | None:
        self._scan_if_due()
        owner = super().owner(token)
        return super().owner(token) if owner is None and token and self._scan_again() else owner

    def owner_of_seal(self, secret: bytes, seal: str) -> str | None:
        self._scan_if_due()
        owner = super().owner_of_seal(secret, seal)
        return (
            super().owner_of_seal(secret, seal) if owner is None and self._scan_again() else owner
        )

    def _scan_if_due(self) -> None:
        if self._clock() - self._scanned_at >= _SCAN_EVERY:
            self._try_scan()

    def _scan_again(self) -> bool:
        """Scan the folder again, unless the limit is reached. Return whether it was scanned."""
        if self._scan_rate.wait(""):
            return False
        self._try_scan()
        return True

    def _try_scan(self) -> None:
        self._scanned_at = self._clock()
        try:
            self._scan()
        except OSError as error:
            _log.warning("the tokens in %s cannot be read: %s", self._folder, error)

    def _scan(self) -> None:
        # Take the fingerprints before reading, so that the next scan notices a change in between.
        fingerprints = _fingerprints(self._folder)
        if fingerprints != self._fingerprints:
            owners, is_complete = _read_valid(self._folder, fingerprints)
            self._set_owners(owners)
            self._fingerprints = fingerprints if is_complete else None


def local_token(folder: str) -> str:
    """Return the token of the user of this machine. Create the token if it does not exist yet.

    `folder` is the path of the folder with the token files.
    """
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        path = os.path.join(folder, LOCAL)
        return _read_token(path) if os.path.lexists(path) else _create_token(path)


def new_token(folder: str, name: str) -> str:
    """Create an access token for the client `name`, store it in a file in `folder`, and return it.

    Raise CortextError if the client already has a token.
    """
    path = os.path.join(folder, check_id(name))
    with storage_errors("write", folder), FileLock(os.path.join(folder, ".lock")):
        if os.path.lexists(path):
            raise CortextError(
                f"{name} already has a token: {path}",
                hint="to revoke it, remove that file",
            )
        return _create_token(path)


def read_tokens(folder: str) -> dict[str, str]:
    """Return a dict of all valid tokens in a folder. Each token is mapped to its owner.

    The owner "" is the user of this machine. Files with unsafe permissions or invalid content are
    logged and left out.
    """
    with storage_errors("read", folder):
        return _read_valid(folder, _fingerprints(folder))[0]


def _read_valid(folder: str, names: Iterable[str]) -> tuple[dict[str, str], bool]:
    """Read token files. Return the tokens with their owners, and whether the result is complete.

    `names` are the names of the files in `folder`. Invalid files are logged and left out. The
    result is incomplete if a file had a read error that may be temporary.
    """
    owners: dict[str, str] = {}
    is_complete = True
    for name in sorted(names):
        try:
            owners[_read_token(os.path.join(folder, name))] = "" if name == LOCAL else name
        except (CortextError, FileNotFoundError, PermissionError) as error:
            _log.warning("invalid token file: %s", error)
        except OSError as error:
            _log.warning("a token file cannot be read: %s", error)
            is_complete = False
    return owners, is_complete


def _create_token(path: str) -> str:
    token = os.urandom(24).hex()
    make_private_dir(os.path.dirname(path))
    replace(path, [token.encode() + b"\n"])
    return token


def _read_token(path: str) -> str:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise CortextError(f"{path} is not a file", hint="keep only token files in that folder")
    if stat.S_IMODE(mode) & 0o077:
        raise CortextError(
            f"other users can read the token in {path}", hint="run `chmod 600` on that file"
        )
    token = read_file(path)[: _MAX_LENGTH + 1].decode("ascii", "replace").strip()
    if not (_MIN_LENGTH <= len(token) <= _MAX_LENGTH and token.isascii() and token.isalnum()):
        raise CortextError(
            f"{path} does not contain a token of {_MIN_LENGTH} to {_MAX_LENGTH} letters and digits",
            hint="remove the file and make a new token",
        )
    return token


def _fingerprints(folder: str) -> _Fingerprints:
    """Return the fingerprint of each token file, by file name.

    Return {} if the folder does not exist.
    """
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except FileNotFoundError:
        return {}
    return {name: _fingerprint(os.path.join(folder, name)) for name in names}


def _fingerprint(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _make_seal(secret: bytes, hashed: bytes) -> str:
    return hmac.digest(secret, hashed, "sha256").hex()


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
