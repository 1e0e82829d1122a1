"""A quick check whether a short text can contain a secret. It needs none of the rules.

Lists check every new title. The rules take longer to import than this check takes for a list.
"""

from __future__ import annotations

_SHORTEST = 20
"""Characters in a row that every key has."""
_RUNS = bytes(
    97 if chr(n).isascii() and (chr(n).isalnum() or n in b"_-%") else 32 for n in range(256)
)
_RUN = b"a" * _SHORTEST
_VALUE = 8
"""Characters of the shortest value that is one by its name; such a value has a digit."""
_DIGITS = frozenset("0123456789")


def could_hold(text: str) -> bool:
    """Return False only if `find_secrets` finds nothing."""
    if ";" in text or "asic " in text or ("@" in text and ":" in text):
        return True
    if text.encode("ascii", "replace").translate(_RUNS).find(_RUN) >= 0:
        return True
    return any(len(word) >= _VALUE and not _DIGITS.isdisjoint(word) for word in text.split())
