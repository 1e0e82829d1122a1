"""Whether a short text could hold a secret at all: a look that needs none of the rules.

Lists ask it of every title that is new, and the rules take longer to import than a list does.
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
    """False only where `find_secrets` finds nothing."""
    if ";" in text or "asic " in text or ("@" in text and ":" in text):
        return True
    if text.encode("ascii", "replace").translate(_RUNS).find(_RUN) >= 0:
        return True
    return any(len(word) >= _VALUE and not _DIGITS.isdisjoint(word) for word in text.split())
