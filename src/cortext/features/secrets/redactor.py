"""Redact secrets in text, JSON values and lines.

A redaction is the text `[redacted FAMILY FINGERPRINT]`. The fingerprint is a hash with a key: equal
secrets have equal fingerprints, and nobody can guess a secret without the key. Text with NUL bytes,
such as UTF-16, is redacted too.

A mask is a function that gets a secret and returns its replacement, or None to leave the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Collection, Iterator
from typing import Any, cast

from cortext import paths
from cortext.durability.durable_files import (
    link_or_copy,
    make_private_dir,
    remove_if_there,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.formats import line_checksum
from cortext.model import json_codec
from cortext.model.secrets.candidate_regions import regions
from cortext.model.secrets.detector import Mask, find_secrets, kind_only, mask_text, mask_value
from cortext.model.secrets.unescaped_text import Plain

_IDENTIFYING_FIELDS = ("id", "timestamp", "role", "tool_call_id", "session_id", "conversation_id")
"""Fields that identify a record or a session, or give its time. They are never redacted."""
_DIGITS = 12
_KEY_BYTES = 32
_ERRORS = "surrogateescape"
_BLOCK, _LARGE = 1 << 16, 1 << 22


class Redactor:
    """A mask: a callable that returns the redaction for a secret, or None to keep the secret.

    By default, it redacts every secret. If `wanted` is given, it redacts only these secrets. If
    `prints` is given, it redacts only secrets with one of these fingerprints. `used` contains the
    fingerprints of the secrets that it has redacted so far.
    """

    def __init__(
        self, wanted: Collection[str] | None = None, prints: Collection[str] | None = None
    ) -> None:
        self._wanted, self._prints, self._key = wanted, prints, redaction_key()
        self.is_partial: bool = wanted is not None or prints is not None
        self.used: set[str] = set()

    def __call__(self, kind: str, secret: str) -> str | None:
        plain = Plain(secret).text
        if self._wanted is not None and plain not in self._wanted:
            return None
        fingerprint = self.fingerprint_of(plain)
        if self._prints is not None and fingerprint not in self._prints:
            return None
        self.used.add(fingerprint)
        return f"[redacted {kind} {fingerprint}]"

    def fingerprint_of(self, plain: str) -> str:
        """Return the fingerprint of a secret, which is given as decoded text."""
        digest = hmac.new(self._key, plain.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return digest.hexdigest()[:_DIGITS]


def key_name() -> str:
    """Return the name of the redaction key: a hash that identifies the key without revealing it."""
    return hmac.new(redaction_key(), b"the name of this key", hashlib.sha256).hexdigest()[:_DIGITS]


def may_hold_secret(data: bytes) -> bool:
    """Return whether bytes may contain a secret.

    This test is fast. It rules out most texts, so that they are not decoded.
    """
    return bool(regions(data.replace(b"\0", b"").decode("utf-8", "replace")))


def list_secrets(value: Any) -> list[tuple[str, str]]:
    """Return the kind and the decoded text of each secret in a text or a JSON value."""
    found: list[tuple[str, str]] = []

    def note(kind: str, secret: str) -> str:
        found.append((kind, Plain(secret).text))
        return kind_only(kind, secret)

    if isinstance(value, str):
        _redact_text(value, note)
    else:
        mask_value(value, note)
    return found


def decode_line(data: bytes) -> Any:
    """Decode a line for a scan. Return its JSON value, or the text of the line.

    Return the text if the line is not JSON, or if only the text contains a secret. For example, if
    a key occurs twice, the JSON value lacks the first of its two values.
    """
    text = data.decode("utf-8", _ERRORS)
    try:
        value = json_codec.decode(data)
    except ValueError:
        return text
    # If a key occurs twice, JSON has only its second value, but the first may be a secret.
    return value if not find_secrets(text) or list_secrets(value) else text


def redact_json(value: Any, mask: Mask) -> Any:
    """Return a JSON value or a text with its secrets redacted.

    Ids, roles and times do not change.
    """
    if isinstance(value, str):
        return _redact_text(value, mask)
    masked = mask_value(value, mask)[0]
    if not isinstance(value, dict) or not isinstance(masked, dict):
        return masked
    old = cast("dict[str, Any]", value)
    unchanged = {key: old[key] for key in _IDENTIFYING_FIELDS if key in old and key in masked}
    messages: Any = old.get("messages")
    if isinstance(messages, list):
        unchanged["messages"] = [redact_json(one, mask) for one in cast("list[Any]", messages)]
    return cast("dict[str, Any]", masked) | unchanged


def _spare_identifiers(value: Any, mask: Mask) -> Mask:
    """Return a mask like `mask` that keeps the ids, roles and times of a record.

    A mask is a function that returns the replacement for a secret. `value` is the decoded record.
    """
    table = cast("dict[str, Any]", value if isinstance(value, dict) else {})
    messages: Any = table.get("messages")
    every: list[Any] = [table, *(cast("list[Any]", messages) if isinstance(messages, list) else ())]
    records = [cast("dict[str, Any]", one) for one in every if isinstance(one, dict)]
    names = {str(one[key]) for one in records for key in _IDENTIFYING_FIELDS if key in one}

    def spare(kind: str, secret: str) -> str | None:
        plain = Plain(secret).text
        return None if any(plain in name for name in names) else mask(kind, secret)

    return spare


def redact_text_bytes(data: bytes, mask: Mask) -> bytes:
    """Return the bytes of a text with its secrets redacted; the same bytes if there are none.

    Text in UTF-16 is redacted too.
    """
    return _redact_text(data.decode("utf-8", _ERRORS), mask).encode("utf-8", _ERRORS)


def redact_line(line: bytes, mask: Mask) -> bytes:
    """Return a line of JSON with its secrets redacted; the same bytes if there are none.

    A line that had a checksum gets a new checksum. A line that is not JSON is redacted as text.
    """
    try:
        value = json_codec.decode(line)
    except ValueError:
        return redact_text_bytes(line, mask)
    masked = redact_json(value, mask)
    found = line if masked == value else json_codec.encode(masked)
    # If a key occurs twice, JSON has only its second value, so redact the text too.
    found = redact_text_bytes(found, _spare_identifiers(value, mask))
    return line if found == line else line_checksum.reseal(found)


def redact_lines(data: bytes, mask: Mask) -> bytes:
    """Return the bytes of a file with every line redacted as `redact_line` does.

    Lines that cannot contain a secret are not decoded.
    """
    found: list[bytes] = []
    for block in whole_lines(data):
        if may_hold_secret(block):
            lines = block.split(b"\n")
            block = b"\n".join(
                redact_line(one, mask) if may_hold_secret(one) else one for one in lines
            )
        found.append(block)
    return b"".join(found)


def suspect_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines that may contain a secret. Some of their neighbour lines may be included."""
    for block in whole_lines(data, _LARGE):
        if b"\0" in block:
            yield from (line for line in block.split(b"\n") if may_hold_secret(line))
            continue
        text, done = block.decode("utf-8", _ERRORS), 0
        for start, end in regions(text):
            first = max(text.rfind("\n", 0, start) + 1, done)
            last = text.find("\n", max(end, first))
            done = len(text) if last < 0 else last + 1
            if first < done:
                yield from text[first:done].encode("utf-8", _ERRORS).split(b"\n")


def whole_lines(data: bytes, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield the data in blocks of about `size` bytes. Each block ends with a complete line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield data[start:end]
        start = end


def redact_file_bytes(path: str, data: bytes, mask: Mask) -> bytes:
    """Return the contents of a file with its secrets redacted.

    `path` is used only to decide whether the file contains JSON lines or other text.
    """
    if has_lines(path, data):
        return redact_lines(data, mask)
    return redact_text_bytes(data, mask) if may_hold_secret(data) else data


def has_lines(path: str, data: bytes) -> bool:
    """Return whether a file contains JSON, judged by its name or its first bytes.

    `path` is the path of the file, and `data` are its contents. The name is not enough, because a
    file in the trash has a new name.
    """
    return ".json" in os.path.basename(path) or data.lstrip(b"\xef\xbb\xbf \r\n")[:2] == b'{"'


def _redact_text(text: str, mask: Mask) -> str:
    masked = mask_text(text, mask)[0]
    return _redact_between_nuls(masked, mask) if "\0" in masked else masked


def _redact_between_nuls(text: str, mask: Mask) -> str:
    """Return a text in which secrets with NUL bytes between their letters are redacted too.

    In UTF-16, a NUL byte is beside each ASCII letter. A crash may leave runs of NUL bytes.
    """
    found: dict[str, str] = {}

    def note(kind: str, secret: str) -> str | None:
        replacement = mask(kind, secret)
        if replacement is not None:
            found[secret] = replacement
        return replacement

    mask_text(text.replace("\0", ""), note)
    for secret, replacement in found.items():
        spread = re.compile("\0*".join(map(re.escape, secret)))
        text = spread.sub(lambda match, mark=replacement: _insert_nuls(match[0], mark), text)
    return text


def _insert_nuls(secret: str, replacement: str) -> str:
    zeros = secret.count("\0")
    return ("\0" * (zeros // max(len(secret) - zeros - 1, 1))).join(replacement)


def redaction_key() -> bytes:
    """Return the secret key that makes the fingerprints of redactions.

    The first call creates the key in a file that only this user can read. Raises CortextError if
    the file is damaged.
    """
    path = paths.redaction_key()
    with storage_errors("write", path):
        try:
            return _check_key(read_file(path), path)
        except FileNotFoundError:
            make_private_dir(os.path.dirname(path))
        temp = os.path.join(os.path.dirname(path), temp_name("redaction.key"))
        try:
            write_new(temp, [os.urandom(_KEY_BYTES)])
            link_or_copy(temp, path)
        except FileExistsError:
            pass  # Another process created the key first; use that one.
        finally:
            remove_if_there(temp)
        return _check_key(read_file(path), path)


def _check_key(key: bytes, path: str) -> bytes:
    """Return the key, or raise CortextError if its length is wrong.

    A short key would make secrets guessable.
    """
    if len(key) != _KEY_BYTES:
        raise CortextError(
            f"the redaction key is damaged: {path} has {len(key)} bytes, not {_KEY_BYTES}",
            hint="restore it from a backup, or remove it; new redactions then get new fingerprints",
        )
    return key
