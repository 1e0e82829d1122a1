"""Quoting of words for a shell, so that they can be shown and pasted safely."""

from __future__ import annotations

import shlex

from cortext.model.safe_text import clean


def quoted(word: str) -> str:
    """Quote a word for `sh` and similar shells, so that it can be shown in a terminal.

    A word with control characters becomes `$(printf ...)`, which contains no control characters.
    Newlines at the end of the word follow in quotes, because the shell would remove them from the
    output of `printf`.
    """
    if clean(word) == word and not set("\n\t") & set(word):
        return shlex.quote(word)
    body = word.rstrip("\n")
    command = f"\"$(printf '{''.join(map(_escape, body))}')\"" if body else ""
    end = word[len(body) :]
    return command + (f"'{end}'" if end else "")


def _escape(character: str) -> str:
    """Escape a character for the format string of `printf`, which is in single quotes.

    `!` and `-` are escaped as well, because some shells interpret them even in quotes.
    """
    if character == "%":
        return "%%"
    if character.isascii() and character.isprintable() and character not in "\\'!-":
        return character
    if not character.isascii() and character.isprintable() and clean(character) == character:
        return character
    is_raw_byte = "\udc80" <= character <= "\udcff"  # a byte that is not valid UTF-8
    data = character.encode("utf-8", "surrogateescape" if is_raw_byte else "replace")
    return "".join(f"\\{byte:03o}" for byte in data)
