"""The markdown document of a workspace conversation, as a part of an exported session.

An export stores the document in `extra`, the field for unknown keys of a session, so every export
format can contain the document. A session store that cannot store documents keeps the unknown key.
So the document is still there if the session is exported again.
"""

from __future__ import annotations

import os

import msgspec
from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.durability import durable_files
from cortext.durability.read_files import read_file
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath, document_in, is_name

_KEY = "markdown_document"
_ENCODING = ("utf-8", "surrogateescape")


class MarkdownDocument(msgspec.Struct, frozen=True):
    """A markdown document: the name of its file, and its text."""

    name: str
    text: str


def attach_document(session: Session, row: ConversationRow) -> Session:
    """Return the session of a row for an export, with the markdown document of the conversation.

    Return the session unchanged if the conversation has no document.
    """
    folder = "" if row.tool else row.place.folder
    name = document_in(folder) if folder else ""
    if not name:
        return session
    path = f"{folder}/{name}"
    with durable_files.storage_errors("read", path):
        text = read_file(path).decode(*_ENCODING)
    return replace(session, extra={**session.extra, _KEY: {"name": name, "text": text}})


def without_document(session: Session) -> tuple[Session, MarkdownDocument | None]:
    """Return the session without the markdown document that an export attached, and the document.

    If the session has no document, or the document has an invalid name, return the session
    unchanged, and None.
    """
    try:
        document = msgspec.convert(session.extra.get(_KEY), MarkdownDocument)
    except msgspec.ValidationError:
        return session, None
    stem, suffix = os.path.splitext(document.name)
    if suffix != ".md" or not is_name(stem):
        return session, None
    extra = {name: value for name, value in session.extra.items() if name != _KEY}
    return replace(session, extra=extra), document


def write_document(document: MarkdownDocument, place: ConversationPath) -> str:
    """Write the markdown document of an imported conversation to its folder.

    A document that is already in the folder does not change. If its text is different, return a
    sentence about it. Otherwise return "".
    """
    data = document.text.encode(*_ENCODING)
    with durable_files.storage_errors("write", place.folder):
        existing = document_in(place.folder)
        if not existing:
            temp_dir = durable_files.side_dir(place.shelf)
            durable_files.replace(f"{place.folder}/{document.name}", [data], temp_dir=temp_dir)
        elif read_file(f"{place.folder}/{existing}") != data:
            return f"{place.folder}/{existing} has other text than the export, and did not change"
    return ""
