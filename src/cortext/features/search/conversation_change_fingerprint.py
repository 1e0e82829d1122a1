"""Fingerprints that show whether a conversation changed since it was indexed."""

from __future__ import annotations

import os
from zlib import crc32

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.model import json_codec


def fingerprint_of(row: ConversationRow) -> str:
    """Return a fingerprint: a text that changes if a conversation changes.

    It covers the messages, the metadata and the markdown file.
    """
    known = row_fingerprint(row)
    return known if row.tool else f"{known}|{markdown_fingerprint(row)}"


def row_fingerprint(row: ConversationRow) -> str:
    """Return the part of a conversation's fingerprint that is computed without reading files.

    The fields `status` and `key` of the row are left out. The status also depends on the time, and
    the key also depends on other rows.
    """
    data = json_codec.encode(replace(row, status="", key=""))
    return f"{row.last_active} {crc32(data):x}"


def markdown_fingerprint(row: ConversationRow) -> str:
    """Return a fingerprint of a conversation's markdown file.

    Only the usual name of the file is tried: the type of the conversation, such as `plan.md`. If
    there is no such file, return a fingerprint of the conversation's folder; "" if the folder is
    missing too.
    """
    folder = row.absolute_path
    for path in (f"{folder}/{row.kind}.md", folder):
        try:
            status = os.stat(path)
        except OSError:
            continue
        return f"{status.st_size} {status.st_mtime_ns}"
    return ""
