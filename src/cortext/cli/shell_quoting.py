"""Quoting of words for a shell, so that they can be shown and pasted safely."""

from __future__ import annotations

import shlex

from cortext.model.safe_text import clean


def quoted(word: str) -> str:
    """Quote a word for `sh` and similar shells, without control characters for the terminal.

    A word with control characters becomes a `$(printf ...)`. The shell drops newlines at the end of
    its output, so these are added after it, in quotes.
    """
    if clean(word) == word and not set("\n\t") & set(word):
        return shlex.quote(word)
    body = word.rstrip("\n")
    spelt = f"\"$(printf '{''.join(map(_spelt, body))}')\"" if body else ""
    end = word[len(body) :]
    return spelt + (f"'{end}'" if end else "")


def _spelt(character: str) -> str:
    """Return a character as a part of the format of `printf`, between single quotes.

    `!` and `-` are escaped as well: some shells interpret them even in quotes.
    """
    if character == "%":
        return "%%"
    if character.isascii() and character.isprintable() and character not in "\\'!-":
        return character
    if not character.isascii() and character.isprintable() and clean(character) == character:
        return character
    escaped = "\udc80" <= character <= "\udcff"  # a byte that is not valid UTF-8
    data = character.encode("utf-8", "surrogateescape" if escaped else "replace")
    return "".join(f"\\{byte:03o}" for byte in data)
