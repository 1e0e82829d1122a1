"""The JSON document that a markdown or HTML export contains invisibly, for a later import.

People read the visible text of the file, but an import reads only the JSON document. So an import
loses changes to the visible text. To detect such changes, a digest of the visible text is stored
with the document.
"""

from __future__ import annotations

import hashlib
import json

import msgspec

from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.model.session import Session


class EmbeddedDocument(msgspec.Struct, frozen=True):
    """The JSON of a session, found in a markdown or HTML export.

    `edited` is true if somebody changed the text around the JSON.
    """

    data: bytes
    edited: bool


def document_of(session: Session) -> bytes:
    """Return a session as the JSON document that an export embeds."""
    blocks = (
        EncodedRecords().extended(session.messages),
        EncodedRecords().extended(session.tool_history),
    )
    return b"".join(document.encode(session, *blocks))


def escape(data: bytes, characters: str = "") -> str:
    r"""Escape characters in JSON as `\uXXXX`, so that the values in the JSON stay the same.

    The given `characters` and all non-printable characters except newlines are escaped. `data` is
    the JSON. It may contain `characters` only inside of strings.
    """
    text = data.decode("utf-8")
    unwanted = {
        ord(character): _json_escape(character)
        for character in set(text)
        if character in characters or not (character == "\n" or character.isprintable())
    }
    return text.translate(unwanted)


def _json_escape(character: str) -> str:
    if character.isascii():
        return f"\\u{ord(character):04x}"
    return json.dumps(character)[1:-1]


def seal(shown: str, session: Session, opening: str, closing: str) -> bytes:
    """Return the content of an export file: the text `shown`, and then the session as hidden JSON.

    `opening` and `closing` are the texts before and after the JSON. `opening` contains `{}`, which
    is replaced by a digest of `shown`. The JSON is escaped, so it cannot contain `closing`.
    """
    data = escape(document_of(session), "<>&").replace("--", "\\u002d\\u002d")
    return (shown + opening.format(_digest(shown)) + data + closing).encode("utf-8")


def unseal(text: str, opening: str, closing: str) -> EmbeddedDocument | None:
    """Return the JSON that `seal` embedded in the text of a file, or None if there is no JSON.

    `opening` and `closing` are the same as for `seal`. Raises ValueError if the file was cut off
    inside the JSON.
    """
    text = text.replace("\r\n", "\n")
    before, after = opening.split("{}")
    end, _, closing_rest = closing.partition("\n")
    start = text.rfind(before)
    if start < 0:
        return None
    digest, opened, rest = text[start + len(before) :].partition(after)
    data, closed, tail = rest.partition(end)
    if not (opened and closed):
        raise ValueError("is incomplete: it ends in the middle of its data")
    edited = digest != _digest(text[:start]) or tail.strip() != closing_rest.strip()
    return EmbeddedDocument(data.encode("utf-8"), edited)


def _digest(shown: str) -> str:
    """Return a digest of a text, without the text's byte order mark and trailing white space."""
    return "sha256:" + hashlib.sha256(shown.lstrip("\ufeff").rstrip().encode()).hexdigest()
