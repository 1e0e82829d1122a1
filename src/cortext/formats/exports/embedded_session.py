"""A session embedded in a file for people, as an invisible, escaped document.

A person reads the text of the file, but an import reads the embedded document. So the document has
a digest of the text before it, which shows whether somebody edited only the text.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.model.session import Session


class EmbeddedDocument(NamedTuple):
    """The document embedded in a file; `edited` is true if the text around it was changed."""

    data: bytes
    edited: bool


def document_of(session: Session) -> bytes:
    """Return the document of a session."""
    blocks = (
        EncodedRecords().extended(session.messages),
        EncodedRecords().extended(session.tool_history),
    )
    return b"".join(document.encode(session, *blocks))


def escape(data: bytes, characters: str = "") -> str:
    """Return equivalent JSON without these characters and without non-printable characters.

    JSON has such characters only inside of strings, where each can also be written as an escape.
    """
    text = data.decode("utf-8")
    unwanted = {
        ord(character): _escaped(character)
        for character in set(text)
        if character in characters or not (character == "\n" or character.isprintable())
    }
    return text.translate(unwanted)


def _escaped(character: str) -> str:
    if character.isascii():
        return f"\\u{ord(character):04x}"
    return json.dumps(character)[1:-1]


def seal(shown: str, session: Session, opening: str, closing: str) -> bytes:
    """Return the shown text, and after it the session's data between `opening` and `closing`.

    `opening` has a placeholder for the digest. Neither `opening` nor `closing` can occur in the
    data.
    """
    data = escape(document_of(session), "<>&").replace("--", "\\u002d\\u002d")
    return (shown + opening.format(_digest(shown)) + data + closing).encode("utf-8")


def unseal(text: str, opening: str, closing: str) -> EmbeddedDocument | None:
    """Return the document that `seal` embedded, or None; ValueError if it is cut off."""
    text = text.replace("\r\n", "\n")
    before, after = opening.split("{}")
    end, _, behind = closing.partition("\n")
    start = text.rfind(before)
    if start < 0:
        return None
    digest, opened, rest = text[start + len(before) :].partition(after)
    data, closed, tail = rest.partition(end)
    if not (opened and closed):
        raise ValueError("is cut off in the middle of its data")
    edited = digest != _digest(text[:start]) or tail.strip() != behind.strip()
    return EmbeddedDocument(data.encode("utf-8"), edited)


def _digest(shown: str) -> str:
    """Return a digest that ignores a byte order mark and white space at the end of the text."""
    return "sha256:" + hashlib.sha256(shown.lstrip("\ufeff").rstrip().encode()).hexdigest()
