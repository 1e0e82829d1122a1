"""Download of a conversation as a file, in the formats of `cortext export`."""

from __future__ import annotations

from urllib.parse import quote

from litestar import Response

from cortext.errors import CortextError
from cortext.features.transfer.export import FORMATS
from cortext.formats.exports.export_formats import encode
from cortext.model.session import Session
from cortext.web.templating import HEADERS

_TYPES = {"md": "text/markdown", "html": "text/html", "json": "application/json"}


def check_format(format: str) -> None:
    """Raise CortextError if `format` is not one of the formats of `cortext export`."""
    if format not in FORMATS:
        raise CortextError(
            f"unknown export format {format[:20]!r}", hint=f"use one of {', '.join(FORMATS)}"
        )


def as_file(session: Session, id: str, format: str) -> Response[bytes]:
    name = quote(f"{id}.{format}")
    headers = {**HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    kind = _TYPES.get(format, "application/x-ndjson")
    return Response(encode(session, format), media_type=kind, headers=headers)
