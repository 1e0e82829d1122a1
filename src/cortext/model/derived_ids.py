"""Session ids for agent frameworks that identify their sessions by keys of any form."""

from __future__ import annotations

import re
from hashlib import blake2b

from cortext.errors import InvalidIdError
from cortext.model.ids import check_id

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


def id_of(*key: str) -> str:
    """Return the session id for the key of a framework's session, which may have several parts.

    A key of one part that is a valid id is returned unchanged. Any other key becomes a readable
    text and a hash. Equal keys always have equal ids.
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
    """Return the readable text with which the id of a key starts, without the hash.

    The ids of all keys with the same first parts start with the same text.
    """
    return _NO_NAME.sub("-", "-".join(key)).strip("-._")[:_LONGEST_NAME]
