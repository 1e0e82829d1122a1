"""The JSON document that a markdown or HTML export contains invisibly, for a later import.

People read the text of the file, but an import reads the embedded document. A digest of the text is
stored with the document. It reveals that somebody edited the text, which the import ignores.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.model.session import Session


class EmbeddedDocument(NamedTuple):
    """The session as JSON that was found in an export.

    `edited` is true if somebody changed the text around the JSON.
    """

    data: bytes
    edited: bool


def document_of(session: Session) -> bytes:
    """Return the session as one JSON document, as exports embed it."""
    blocks = (
        EncodedRecords().extended(session.messages),
        EncodedRecords().extended(session.tool_history),
    )
    return b"".join(document.encode(session, *blocks))


def escape(data: bytes, characters: str = "") -> str:
    r"""Escape the given `characters` and all non-printable characters in JSON as `\uXXXX`.

    The result is JSON with the same values. JSON has such characters only inside of strings.
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
    """Return the file of an export: the text `shown`, and then the session as invisible JSON.

    `opening` and `closing` are the text before and after the JSON. `opening` contains `{}`, which
    is replaced by a digest of `shown`. The JSON is escaped, so it cannot contain `closing`.
    """
    data = escape(document_of(session), "<>&").replace("--", "\\u002d\\u002d")
    return (shown + opening.format(_digest(shown)) + data + closing).encode("utf-8")


def unseal(text: str, opening: str, closing: str) -> EmbeddedDocument | None:
    """Return the JSON that `seal` embedded in a file; None if there is none.

    ValueError if the file was cut off inside the JSON.
    """
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
    """Return a digest of a text without its byte order mark and trailing white space."""
    return "sha256:" + hashlib.sha256(shown.lstrip("\ufeff").rstrip().encode()).hexdigest()
