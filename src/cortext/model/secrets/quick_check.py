"""A quick check whether a short text, such as a title, can contain a secret.

Lists of conversations check every new title. This module does not import the detection rules,
because importing them takes longer than checking all titles of a list.
"""

from __future__ import annotations

_SHORTEST = 20
"""The length of the shortest run of letters, digits, `-`, `_` and `%` in any key."""
_RUNS = bytes(
    97 if chr(n).isascii() and (chr(n).isalnum() or n in b"_-%") else 32 for n in range(256)
)
_RUN = b"a" * _SHORTEST
_VALUE = 8
"""The shortest value in `NAME=VALUE` that counts as a secret, if it contains a digit."""
_DIGITS = frozenset("0123456789")


def could_hold(text: str) -> bool:
    """Return whether a text may contain a secret.

    False means that `find_secrets` certainly finds no secret in the text.
    """
    if ";" in text or "asic " in text or ("@" in text and ":" in text):
        return True
    if text.encode("ascii", "replace").translate(_RUNS).find(_RUN) >= 0:
        return True
    return any(len(word) >= _VALUE and not _DIGITS.isdisjoint(word) for word in text.split())
