"""Session ids for agent frameworks, which identify their sessions by keys of any form."""

from __future__ import annotations

import re
from hashlib import blake2b

from cortext.errors import InvalidIdError
from cortext.model.ids import check_id

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


def id_of(*key: str) -> str:
    """Return the session id for a key of an agent framework.

    A framework identifies each session by a key, which has one or more parts. If the key has a
    single part that is a valid id, this part is the id. For any other key, the id is a readable
    text and a hash of the key. Equal keys always give equal ids.
    """
    if len(key) == 1:
        try:
            return check_id(key[0])
        except InvalidIdError:
            pass
    whole = "\0".join(key).encode("utf-8", "surrogatepass")
    name = name_of(*key)
    digest = blake2b(whole, digest_size=6).hexdigest()
    return f"{name}-{digest}" if name else digest


def name_of(*key: str) -> str:
    """Return the readable text at the beginning of an id that `id_of` makes from `key`.

    Ids of keys with the same first part begin with the same text. For example, the ids of ("app",
    "ann") and ("app", "bob") both begin with "app".
    """
    return _NOT_IN_NAME.sub("-", "-".join(key)).strip("-._")[:_LONGEST_NAME]
