"""Error responses as `application/problem+json` (RFC 9457).

Each kind of error has a code. The codes never change, so that client programs can rely on them.
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
_RETRY_AFTER = {"unavailable": "1", "busy": "1", "too-many-streams": "5"}
"""The codes of temporary errors, each with the seconds after which a client should retry."""
_PLACE = re.compile(
    r"""[ ]at[ ]"[^"]*"(?:,[ ]port[ ]\d+)? | [ ]at[ ][^\s,]+ | "[^"]*"
    | (?<![\w/])/[^\s:,;]+ | \b\w+://\S+ | \[[0-9a-f:.]+\](?::\d+)?
    | \b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)? | (?<![\w.-])[\w.-]+:\d{2,5}\b""",
    re.VERBOSE,
)
"""Matches file paths, network addresses, and quoted text, which clients must not see."""
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
    """The status, the title and the hint of all errors with the same code.

    `hint` tells the user what to do. A single error may have a better hint.
    """

    status: int
    title: str
    hint: str


_SCHEMA_HINT = "`GET /schema` lists all paths and their arguments"
_LATER_HINT = "try again later; a message that is sent again with the same `id` is stored once"
KINDS = {
    "bad-request": Kind(400, "The request is invalid", _SCHEMA_HINT),
    "invalid-id": Kind(400, "The id is invalid", "use an id from this server"),
    "unauthorized": Kind(
        401,
        "A token is required",
        "send the header `Authorization: Bearer TOKEN`; `cortext serve` prints the folder of the "
        "tokens when it starts, and `cortext serve --new-token NAME` makes a token",
    ),
    "wrong-host": Kind(
        403,
        "Unknown host name",
        "use the address of the server, or allow the name: `--allow-host NAME`, or `hosts` in "
        "your own application",
    ),
    "wrong-origin": Kind(
        403,
        "Requests from pages of another origin are not allowed",
        "send the request from a program, or serve the page under the name of this server",
    ),
    "token-needed": Kind(
        403, "Without tokens, only this machine may send requests", "start the server with tokens"
    ),
    "forbidden": Kind(403, "This token does not allow that", "use the token `local` of the server"),
    "not-found": Kind(
        404,
        "Conversation not found",
        "it may have expired; `POST /v1/conversations` creates a new one",
    ),
    "no-such-path": Kind(404, "Unknown path", _SCHEMA_HINT),
    "method-not-allowed": Kind(405, "This path does not support the method", _SCHEMA_HINT),
    "too-large": Kind(
        413, "The body is too large", "send less; the setting `serve.max_body` is the limit"
    ),
    "unsupported-media-type": Kind(
        415, "The body is not JSON", "send JSON with `Content-Type: application/json`"
    ),
    "too-many-requests": Kind(
        429, "Too many requests", "wait for the number of seconds in `Retry-After`"
    ),
    "too-many-streams": Kind(
        429,
        "Too many event streams are open",
        "close unused streams; the setting `serve.max_streams` is the limit",
    ),
    "internal": Kind(500, "Internal error", "the server log has the details"),
    "unavailable": Kind(503, "The store is not available", _LATER_HINT),
    "busy": Kind(503, "The conversation is busy", _LATER_HINT),
    "damaged": Kind(
        503,
        "The stored conversation cannot be read",
        "the server log names the place",
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


def headers_of(http_problem: HttpProblem) -> dict[str, str]:
    """Return the headers of an error response. A temporary error has the header `Retry-After`."""
    retry = (
        {"Retry-After": _RETRY_AFTER[http_problem.code]}
        if http_problem.code in _RETRY_AFTER
        else {}
    )
    return {"Cache-Control": "no-store", **retry}


def encode(http_problem: HttpProblem) -> bytes:
    return json_codec.encode(http_problem)


def problem_of(error: Exception) -> HttpProblem:
    """Return the body of the error response for an exception.

    Storage errors and unexpected errors are logged in full. Their response contains no paths and no
    network addresses of the server.
    """
    if isinstance(error, SessionNotFoundError):
        return problem("not-found", str(error))
    if isinstance(error, InvalidIdError):
        return problem("invalid-id", str(error), error.hint)
    if isinstance(error, SessionStorageError):
        _log.warning("the store failed: %s", error)
        return problem(_storage_code(error), hide_addresses(error))
    if isinstance(error, (CortextError, ValueError)):
        return problem("bad-request", str(error), getattr(error, "hint", ""))
    _log.error("an unexpected error", exc_info=error)
    return problem("internal")


def hide_addresses(error: SessionStorageError) -> str:
    """Return the message of a storage error without file paths and network addresses."""
    text = str(error)
    if error.path:
        text = text.replace(error.path, "a file")
    if isinstance(error, SessionLockedError):
        text = text.replace(error.holder, "another process")
    return " ".join(_PLACE.sub("", text).split())


def _storage_code(error: SessionStorageError) -> str:
    if isinstance(error, SessionLockedError):
        return "busy"
    return "damaged" if isinstance(error, SessionCorruptedError) else "unavailable"


def problem_of_status(status: int, detail: str, extra: Any) -> HttpProblem:
    """Return the body of the error response for an HTTP error of the web framework.

    `detail` and `extra` are attributes of the framework's exception. The client sees them only if
    the request was invalid.
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
    details = (cast("dict[str, Any]", each) for each in cast("list[Any]", extra))
    reasons = [f"{each.get('key', 'the body')}: {each.get('message', '')}" for each in details]
    return "; ".join(reasons)[:500]
