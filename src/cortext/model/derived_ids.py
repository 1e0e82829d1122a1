"""Session ids for programs that name their sessions by keys of their own."""

from __future__ import annotations

import re
from hashlib import blake2b

from cortext.errors import InvalidIdError
from cortext.model.ids import check_id

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


def id_of(*key: str) -> str:
    """Return the session id for a key of a framework: the key itself if that is a valid id.

    Otherwise the id consists of a readable part of the key and a hash. Equal keys have equal ids.
    """
    if len(key) == 1:
        try:
            return check_id(key[0])
        except InvalidIdError:
            pass
    whole = "\0".join(key).encode("utf-8", "surrogatepass")
    name = name_of(*key)
    mark = blake2b(whole, digest_size=6).hexdigest()
    return f"{name}-{mark}" if name else mark


def name_of(*key: str) -> str:
    """Return the readable part of the id for a key, so ids of keys that begin alike begin alike."""
    return _NO_NAME.sub("-", "-".join(key)).strip("-._")[:_LONGEST_NAME]
