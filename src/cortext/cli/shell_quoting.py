"""Words as a person can paste them into a shell, whatever is in them."""

from __future__ import annotations

import shlex

from cortext.model.safe_text import clean


def quoted(word: str) -> str:
    """One word for `sh` and everything like it, with nothing in it that a terminal would obey.

    What could not be shown is spelt for `printf`. A substitution loses the newlines at its end:
    those stand as they are, in quotes.
    """
    if clean(word) == word and not set("\n\t") & set(word):
        return shlex.quote(word)
    body = word.rstrip("\n")
    spelt = f"\"$(printf '{''.join(map(_spelt, body))}')\"" if body else ""
    end = word[len(body) :]
    return spelt + (f"'{end}'" if end else "")


def _spelt(character: str) -> str:
    """A character in the format of `printf`, between single quotes. `!` and a first hyphen mean
    something to some shells even there."""
    if character == "%":
        return "%%"
    if character.isascii() and character.isprintable() and character not in "\\'!-":
        return character
    if not character.isascii() and character.isprintable() and clean(character) == character:
        return character
    escaped = "\udc80" <= character <= "\udcff"  # a byte that is no text
    data = character.encode("utf-8", "surrogateescape" if escaped else "replace")
    return "".join(f"\\{byte:03o}" for byte in data)
