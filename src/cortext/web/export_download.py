"""A conversation as a file to download, as `cortext export` writes it."""

from __future__ import annotations

from urllib.parse import quote

from litestar import Response

from cortext.errors import CortextError
from cortext.features.transfer.export import FORMATS
from cortext.formats.exports.export_codec import encode
from cortext.model.session import Session
from cortext.web.templating import HEADERS

_TYPES = {"md": "text/markdown", "html": "text/html", "json": "application/json"}


def check_format(format: str) -> None:
    """Raise CortextError if `format` is not one of the formats of `cortext export`."""
    if format not in FORMATS:
        raise CortextError(
            f"{format[:20]!r} is no format of an export", hint=f"there are {', '.join(FORMATS)}"
        )


def as_file(session: Session, id: str, format: str) -> Response[bytes]:
    name = quote(f"{id}.{format}")
    headers = {**HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    kind = _TYPES.get(format, "application/x-ndjson")
    return Response(encode(session, format), media_type=kind, headers=headers)
