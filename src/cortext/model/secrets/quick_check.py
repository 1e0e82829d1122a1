"""A quick check whether a short text can contain a secret, without the rules.

Lists check every new title. Importing the rules takes longer than checking a whole list.
"""

from __future__ import annotations

_SHORTEST = 20
"""The length of the shortest run of key characters in any key."""
_RUNS = bytes(
    97 if chr(n).isascii() and (chr(n).isalnum() or n in b"_-%") else 32 for n in range(256)
)
_RUN = b"a" * _SHORTEST
_VALUE = 8
"""The length of the shortest value that counts as a secret by its name; it contains a digit."""
_DIGITS = frozenset("0123456789")


def could_hold(text: str) -> bool:
    """Return whether a text may contain a secret; if False, `find_secrets` finds none."""
    if ";" in text or "asic " in text or ("@" in text and ":" in text):
        return True
    if text.encode("ascii", "replace").translate(_RUNS).find(_RUN) >= 0:
        return True
    return any(len(word) >= _VALUE and not _DIGITS.isdisjoint(word) for word in text.split())
