"""The errors of a client: a sentence that says what failed, and a hint what to do."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

from cortext.errors import SessionStorageError

_LONGEST = 300


class ServiceError(SessionStorageError):
    """The error for a server that refused, failed, or could not be reached.

    `code` is the server's own code, or `unreachable`, `timeout`, `bad-answer`, `redirect`,
    `too-many` or `unknown`. `status` is the HTTP status, or 0 if there was no answer.
    """

    def __init__(self, sentence: str, *, code: str, status: int = 0, hint: str = "") -> None:
        self.code = code
        self.status = status
        super().__init__(sentence, hint=hint)


def passes(error: httpx.RequestError) -> bool:
    """Return whether an error may be temporary, such as a lost connection, so a retry may help."""
    if not isinstance(error, httpx.TransportError) or _is_no_http(error):
        return False
    return not any(
        isinstance(each, ssl.SSLError)
        or (isinstance(each, socket.gaierror) and each.errno == socket.EAI_NONAME)
        for each in _reasons(error)
    )


def was_sent(error: httpx.RequestError) -> bool:
    """Return whether the server may have received and executed the request."""
    return not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))


def is_late(error: httpx.RequestError) -> bool:
    """Return whether the error is a time-out."""
    return isinstance(error, httpx.TimeoutException)


def of_connection(
    url: str, error: httpx.RequestError, seconds: float, *, is_safe: bool
) -> ServiceError:
    """Return the ServiceError to raise in place of a connection error of httpx.

    `seconds` is the time-out of the call. `is_safe` is whether the call can be repeated without
    harm. If not, a hint says that the server may have executed the request.
    """
    hint = "" if is_safe or not was_sent(error) else "it may have been done all the same"
    if isinstance(error, httpx.TimeoutException):
        return too_slow(url, seconds, hint=hint)
    if isinstance(error, httpx.ConnectError):
        return unreachable(url, error)
    if isinstance(error, httpx.DecodingError) or _is_no_http(error):
        return bad_answer(url, "it is no HTTP that can be understood")
    return ServiceError(
        f"the connection to {url} broke: {shown(error)}",
        code="unreachable",
        hint=hint or "is `cortext serve` still running there?",
    )


def unreachable(url: str, error: Exception) -> ServiceError:
    return ServiceError(
        f"cannot reach {url}: {shown(error)}", code="unreachable", hint=_advice(url, error)
    )


def too_slow(url: str, seconds: float, *, hint: str = "") -> ServiceError:
    return ServiceError(
        f"{url} did not answer within {seconds:g} s",
        code="timeout",
        hint=hint or "is the server busy, or its store away? `timeout` can be longer",
    )


def bad_answer(url: str, why: str, status: int = 0) -> ServiceError:
    return ServiceError(
        f"the answer of {url} makes no sense: {why}"
        if url
        else f"the answer makes no sense: {why}",
        code="bad-answer",
        status=status,
        hint="is this the address of `cortext serve`, and nothing in between that answers for it?",
    )


def shown(what: object) -> str:
    """Return an error or text from outside as one short line, for use in an error message."""
    text = "".join(each if each.isprintable() else " " for each in str(what))
    return text[:_LONGEST].strip() or type(what).__name__


def _advice(url: str, error: Exception) -> str:
    reasons = list(_reasons(error))
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in reasons):
        return "its certificate is not one that is trusted here"
    if any(isinstance(each, ssl.SSLError) for each in reasons):
        return "a server without TLS has an address with http://"
    if any(isinstance(each, socket.gaierror) for each in reasons):
        return "is the name right?"
    return "is `cortext serve` running there?"


def _is_no_http(error: Exception) -> bool:
    """Return whether the server sent bytes that are not HTTP.

    httpx raises the same error type for a connection that ended too early, so the text decides.
    """
    return isinstance(error, httpx.RemoteProtocolError) and "illegal" in str(error).lower()


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that cause, and so on."""
    found: BaseException | None = error
    for _ in range(20):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__
