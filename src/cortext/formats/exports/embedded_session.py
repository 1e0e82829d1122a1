"""The session inside a file that is for people: a document, escaped so that it stays unseen.

What a person reads and what is imported are two things, so the block has a digest of what
stood before it: a file in which only the readable part was changed is told from one as written.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.model.session import Session


class EmbeddedDocument(NamedTuple):
    """The document of a file, and whether what stands around it is not as it was written."""

    data: bytes
    edited: bool


def document_of(session: Session) -> bytes:
    """The document of a session."""
    blocks = (
        EncodedRecords().extended(session.messages),
        EncodedRecords().extended(session.tool_history),
    )
    return b"".join(document.encode(session, *blocks))


def escape(data: bytes, characters: str = "") -> str:
    """JSON that means the same, without these characters and without any that is not printable.

    They can stand in JSON only inside of strings, where each has a second way to be written.
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
    """What is shown and after it the data, between `opening`, which takes the digest, and
    `closing`. Neither of the two can stand in the data."""
    data = escape(document_of(session), "<>&").replace("--", "\\u002d\\u002d")
    return (shown + opening.format(_digest(shown)) + data + closing).encode("utf-8")


def unseal(text: str, opening: str, closing: str) -> EmbeddedDocument | None:
    """The inverse; None without data, ValueError if it does not go to its end."""
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
    """The same after an editor or git changed line ends, or the spaces at the end."""
    return "sha256:" + hashlib.sha256(shown.lstrip("\ufeff").rstrip().encode()).hexdigest()
