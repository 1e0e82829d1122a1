"""Decode an HTTP answer of the server into a value or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from cortext.client import client_errors
from cortext.client.client_errors import ServiceError
from cortext.errors import CortextError, InvalidIdError
from cortext.model import json_codec, message_dicts
from cortext.service.stores.base import not_found

_RETRY_STATUSES = frozenset((429, 502, 503, 504))
_GATEWAY_STATUSES = frozenset((502, 503, 504))
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class ServerResponse(NamedTuple):
    """An HTTP answer of the server with the address `url`.

    `retry_after`, `location` and `kind` are the headers `Retry-After`, `Location` and
    `Content-Type`. If a header is missing, the value is "".
    """

    status: int
    body: bytes
    url: str = ""
    retry_after: str = ""
    location: str = ""
    kind: str = ""

    @property
    def may_try_again(self) -> bool:
        return self.status in _RETRY_STATUSES


def answer_of(url: str, status: int, headers: Mapping[str, str], body: bytes) -> ServerResponse:
    retry_after, location = headers.get("retry-after", ""), headers.get("location", "")
    kind = headers.get("content-type", "").partition(";")[0].strip()
    return ServerResponse(status, body, url, retry_after, location, kind)


class _Problem(msgspec.Struct):
    code: str = ""
    title: str = ""
    detail: str = ""
    hint: str = ""


def checked(id: str, answer: ServerResponse) -> ServerResponse:
    """Return the answer if its HTTP status means success.

    Otherwise raise the error that the answer describes. `id` is the id of the conversation in the
    request.
    """
    if 200 <= answer.status < 300:
        return answer
    raise failure(id, answer)


def failure(id: str, answer: ServerResponse) -> CortextError:
    """Return the error for an answer whose HTTP status does not mean success.

    `id` is the id of the conversation in the request.
    """
    problem = _decode_problem(answer)
    if problem.code == "not-found":
        return not_found(id)
    if problem.code == "invalid-id":
        return InvalidIdError(id)
    if 300 <= answer.status < 400:
        return _redirect_error(answer)
    if not problem.code:
        return _foreign_answer(answer)
    sentence = client_errors.shown(
        problem.detail or problem.title or f"{answer.url} refused the request"
    )
    hint = problem.hint or _HINTS.get(problem.code, "")
    return ServiceError(sentence, code=problem.code, status=answer.status, hint=hint)


_HINTS = {
    "unauthorized": "pass the token as the second argument of the client",
    "no-such-path": "use the address that `cortext serve` prints, without a path",
}


def _redirect_error(answer: ServerResponse) -> ServiceError:
    """Return the error for an answer that is a redirect.

    The client does not follow redirects, because it must not send its token to another server.
    """
    target = (
        client_errors.shown(answer.location.partition("?")[0]) if answer.location else "nowhere"
    )
    return ServiceError(
        f"{answer.url} redirects ({answer.status}) to: {target}",
        code="redirect",
        status=answer.status,
        hint="use the address at which `cortext serve` itself answers",
    )


def _foreign_answer(answer: ServerResponse) -> ServiceError:
    kind = f" with {client_errors.shown(answer.kind)}" if answer.kind else ""
    hint = "a proxy answered; check that the server behind it runs"
    if answer.status not in _GATEWAY_STATUSES:
        hint = "another program answered; check the address of `cortext serve`"
    return ServiceError(
        f"{answer.url} answered {answer.status}{kind}",
        code="unknown",
        status=answer.status,
        hint=hint,
    )


def is_missing(answer: ServerResponse) -> bool:
    return answer.status == 404 and _decode_problem(answer).code == "not-found"


def _decode_problem(answer: ServerResponse) -> _Problem:
    try:
        return msgspec.json.decode(answer.body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # This answer is not from the server, but for example from a proxy in front of it.
        return _Problem()


def decode(answer: ServerResponse, kind: type[_Struct]) -> _Struct:
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A message may contain escaped lone surrogates, which only the slower decoder accepts.
        try:
            return message_dicts.convert(
                message_dicts.as_dict(json_codec.decode(answer.body)), kind
            )
        except ValueError as error:
            raise client_errors.bad_answer(
                answer.url, client_errors.shown(error), answer.status
            ) from None
