"""The errors that a client raises. Each error has a message, and a hint that says what to do."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

from cortext.errors import SessionStorageError

_MAX_LENGTH = 300


class ServiceError(SessionStorageError):
    """Raised if the server refuses a request, fails, or cannot be reached.

    `code` is the error code that the server sent, or one of the client's own codes: `unreachable`,
    `timeout`, `bad-answer`, `redirect`, `too-many` and `unknown`. `status` is the HTTP status, or 0
    if there was no answer.
    """

    def __init__(self, sentence: str, *, code: str, status: int = 0, hint: str = "") -> None:
        self.code = code
        self.status = status
        super().__init__(sentence, hint=hint)


def passes(error: httpx.RequestError) -> bool:
    """Return whether an error may be temporary, such as a lost connection."""
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


def is_timeout(error: httpx.RequestError) -> bool:
    return isinstance(error, httpx.TimeoutException)


def connection_error(
    url: str, error: httpx.RequestError, seconds: float, *, is_safe: bool
) -> ServiceError:
    """Return the ServiceError for an error of httpx.

    Args:
        url: The address of the server.
        error: The error of httpx.
        seconds: The time-out of the call.
        is_safe: Whether the call can be repeated without harm. If not, the hint warns that the
            server may have executed the call.
    """
    hint = (
        "" if is_safe or not was_sent(error) else "the server may have executed the request anyway"
    )
    if isinstance(error, httpx.TimeoutException):
        return too_slow(url, seconds, hint=hint)
    if isinstance(error, httpx.ConnectError):
        return unreachable(url, error)
    if isinstance(error, httpx.DecodingError) or _is_no_http(error):
        return bad_answer(url, "it is not valid HTTP")
    return ServiceError(
        f"the connection to {url} broke: {shown(error)}",
        code="unreachable",
        hint=hint or "check that `cortext serve` still runs there",
    )


def unreachable(url: str, error: Exception) -> ServiceError:
    return ServiceError(
        f"cannot reach {url}: {shown(error)}", code="unreachable", hint=_connection_hint(url, error)
    )


def too_slow(url: str, seconds: float, *, hint: str = "") -> ServiceError:
    return ServiceError(
        f"{url} did not answer within {seconds:g} s",
        code="timeout",
        hint=hint or "the server may be busy or its store unavailable; `timeout` can be longer",
    )


def bad_answer(url: str, why: str, status: int = 0) -> ServiceError:
    return ServiceError(
        f"unexpected answer from {url}: {why}" if url else f"unexpected answer: {why}",
        code="bad-answer",
        status=status,
        hint="check that this is the address of `cortext serve`, with no proxy that answers for it",
    )


def shown(what: object) -> str:
    """Return an error, or a text from a server, as one short line for an error message."""
    text = "".join(each if each.isprintable() else " " for each in str(what))
    return text[:_MAX_LENGTH].strip() or type(what).__name__


def _connection_hint(url: str, error: Exception) -> str:
    reasons = list(_reasons(error))
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in reasons):
        return "its certificate is not trusted on this machine"
    if any(isinstance(each, ssl.SSLError) for each in reasons):
        return "the address of a server without TLS starts with http://"
    if any(isinstance(each, socket.gaierror) for each in reasons):
        return "check the host name"
    return "check that `cortext serve` runs there"


def _is_no_http(error: Exception) -> bool:
    """Return whether httpx raised an error because the server sent bytes that are not HTTP.

    httpx raises the same type of error if a connection ends too early, so the text of the error is
    checked.
    """
    return isinstance(error, httpx.RemoteProtocolError) and "illegal" in str(error).lower()


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, the error that caused it, the cause of that error, and so on."""
    current: BaseException | None = error
    for _ in range(20):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__
