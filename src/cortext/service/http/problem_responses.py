"""Error responses as `application/problem+json` (RFC 9457).

The codes of problems never change, so that client programs can rely on them.
"""

from __future__ import annotations

import logging
import re
from typing import Any, NamedTuple, cast

from msgspec import Struct

from cortext.errors import (
    CortextError,
    InvalidIdError,
    SessionCorruptedError,
    SessionLockedError,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.model import json_codec

MEDIA_TYPE = "application/problem+json"
_AGAIN = {"unavailable": "1", "busy": "1", "too-many-streams": "5"}
"""The codes of temporary errors, each with the seconds after which a client should retry."""
_PLACE = re.compile(
    r"""[ ]at[ ]"[^"]*"(?:,[ ]port[ ]\d+)? | [ ]at[ ][^\s,]+ | "[^"]*"
    | (?<![\w/])/[^\s:,;]+ | \b\w+://\S+ | \[[0-9a-f:.]+\](?::\d+)?
    | \b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)? | (?<![\w.-])[\w.-]+:\d{2,5}\b""",
    re.VERBOSE,
)
"""Matches file paths, network addresses, and everything in double quotes."""
_log = logging.getLogger("cortext.web")


class HttpProblem(Struct, omit_defaults=True):
    """The body of an error response. `code` is for programs, `detail` and `hint` are for users."""

    type: str
    title: str
    status: int
    code: str
    detail: str = ""
    hint: str = ""


class Kind(NamedTuple):
    """The status, the title and the hint that all problems with the same code share.

    `hint` tells the user what to do. An error may have a better hint of its own.
    """

    status: int
    title: str
    hint: str


_SCHEMA = "`GET /schema` says what there is and what it takes"
_LATER = "ask again after a while; a message that is sent again with its `id` is stored once"
KINDS = {
    "bad-request": Kind(400, "The request cannot be understood", _SCHEMA),
    "invalid-id": Kind(400, "This cannot be an id", "take one that this server gave you"),
    "unauthorized": Kind(
        401,
        "A token is needed",
        "send the header `Authorization: Bearer TOKEN`; `cortext serve` says at its start in which "
        "folder the tokens are, and `cortext serve --new-token NAME` makes one",
    ),
    "wrong-host": Kind(
        403,
        "This server is not called so",
        "call it by its address; or start it with `--allow-host NAME`, in an application of your "
        "own with `hosts`",
    ),
    "wrong-origin": Kind(
        403,
        "A page of another origin may not ask",
        "ask from a program, or serve the page and this server under the same name",
    ),
    "token-needed": Kind(
        403, "Without a token only this machine may ask", "start the server with tokens"
    ),
    "forbidden": Kind(
        403, "This token does not allow that", "only the token `local` of the server does"
    ),
    "not-found": Kind(
        404,
        "There is no such conversation",
        "it may have expired: `POST /v1/conversations` begins another",
    ),
    "no-such-path": Kind(404, "There is nothing at this path", _SCHEMA),
    "method-not-allowed": Kind(405, "This path does not have that method", _SCHEMA),
    "too-large": Kind(
        413, "The body is too large", "send less; the setting `serve.max_body` is the limit"
    ),
    "unsupported-media-type": Kind(
        415, "The body is not JSON", "send it as it is, with `Content-Type: application/json`"
    ),
    "too-many-requests": Kind(
        429, "Too many requests", "come again after as many seconds as `Retry-After` says"
    ),
    "too-many-streams": Kind(
        429,
        "Too many event streams are open",
        "close one that nobody reads; the setting `serve.max_streams` is the limit",
    ),
    "internal": Kind(500, "Something went wrong here", "the log of the server says what"),
    "unavailable": Kind(503, "The store cannot do this now", _LATER),
    "busy": Kind(503, "The conversation is busy", _LATER),
    "damaged": Kind(
        503,
        "What is stored of the conversation cannot be read",
        "the log of the server says where it is",
    ),
}
_BY_STATUS = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "no-such-path",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    429: "too-many-requests",
}


def problem(code: str, detail: str = "", hint: str = "") -> HttpProblem:
    kind = KINDS[code]
    urn = f"urn:cortext:problem:{code}"
    return HttpProblem(urn, kind.title, kind.status, code, detail, hint or kind.hint)


def headers_of(found: HttpProblem) -> dict[str, str]:
    """Return the headers of an error response: no caching, and `Retry-After` if it is temporary."""
    again = {"Retry-After": _AGAIN[found.code]} if found.code in _AGAIN else {}
    return {"Cache-Control": "no-store", **again}


def encode(found: HttpProblem) -> bytes:
    return json_codec.encode(found)


def problem_of(error: Exception) -> HttpProblem:
    """Return the problem that a client sees for an exception.

    Storage errors and unexpected errors are logged in full. In these errors, the client sees no
    paths and no network addresses of the server.
    """
    if isinstance(error, SessionNotFoundError):
        return problem("not-found", str(error))
    if isinstance(error, InvalidIdError):
        return problem("invalid-id", str(error), error.hint)
    if isinstance(error, SessionStorageError):
        _log.warning("the store cannot do this: %s", error)
        return problem(_storage_code(error), without_places(error))
    if isinstance(error, (CortextError, ValueError)):
        return problem("bad-request", str(error), getattr(error, "hint", ""))
    _log.error("an error that nobody foresaw", exc_info=error)
    return problem("internal")


def without_places(error: SessionStorageError) -> str:
    """Return the message of a storage error without file paths and network addresses."""
    said = str(error)
    if error.path:
        said = said.replace(error.path, "a file")
    if isinstance(error, SessionLockedError):
        said = said.replace(error.holder, "another process")
    return " ".join(_PLACE.sub("", said).split())


def _storage_code(error: SessionStorageError) -> str:
    if isinstance(error, SessionLockedError):
        return "busy"
    return "damaged" if isinstance(error, SessionCorruptedError) else "unavailable"


def problem_of_status(status: int, detail: str, extra: Any) -> HttpProblem:
    """Return the problem that a client sees for an HTTP error of the web framework.

    `detail` and `extra` are the attributes of the framework's exception. The client sees them only
    if the request was not valid.
    """
    if status >= 500:
        return problem("internal")
    code = _BY_STATUS.get(status, "bad-request")
    if code != "bad-request":
        return problem(code)
    return problem(code, _reasons(extra) or detail)


def _reasons(extra: Any) -> str:
    """Return a text that lists the invalid fields of a request, each with the reason."""
    if not isinstance(extra, list):
        return ""
    found = (cast("dict[str, Any]", each) for each in cast("list[Any]", extra))
    reasons = [f"{each.get('key', 'the body')}: {each.get('message', '')}" for each in found]
    return "; ".join(reasons)[:500]
