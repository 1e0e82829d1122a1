"""Decoding of a server's HTTP answer into a value or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from cortext.client import client_errors
from cortext.client.client_errors import ServiceError
from cortext.errors import CortextError, InvalidIdError
from cortext.model import json_codec, record_dicts
from cortext.service.stores.base import not_found

_AGAIN = frozenset((429, 502, 503, 504))
_GATEWAY = frozenset((502, 503, 504))
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class ServerResponse(NamedTuple):
    """An HTTP answer of the server at `url`, with the headers that the client needs.

    `kind` is its content type. `retry_after` and `location` are headers, or "".
    """

    status: int
    body: bytes
    url: str = ""
    retry_after: str = ""
    location: str = ""
    kind: str = ""

    @property
    def may_try_again(self) -> bool:
        return self.status in _AGAIN


def answer_of(url: str, status: int, headers: Mapping[str, str], body: bytes) -> ServerResponse:
    again, location = headers.get("retry-after", ""), headers.get("location", "")
    kind = headers.get("content-type", "").partition(";")[0].strip()
    return ServerResponse(status, body, url, again, location, kind)


class _Problem(msgspec.Struct):
    code: str = ""
    title: str = ""
    detail: str = ""
    hint: str = ""


def checked(id: str, answer: ServerResponse) -> ServerResponse:
    """Return the answer if its status is a success. Otherwise raise the error that it describes.

    `id` is the conversation that the request was about.
    """
    if 200 <= answer.status < 300:
        return answer
    raise failure(id, answer)


def failure(id: str, answer: ServerResponse) -> CortextError:
    """Return the error that an unsuccessful answer describes.

    `id` is the conversation that the request was about.
    """
    problem = _problem(answer)
    if problem.code == "not-found":
        return not_found(id)
    if problem.code == "invalid-id":
        return InvalidIdError(id)
    if 300 <= answer.status < 400:
        return _redirect(answer)
    if not problem.code:
        return _of_somebody_else(answer)
    said = client_errors.shown(problem.detail or problem.title or f"{answer.url} refused")
    hint = problem.hint or _HINTS.get(problem.code, "")
    return ServiceError(said, code=problem.code, status=answer.status, hint=hint)


_HINTS = {
    "unauthorized": "the token is the second argument of the client",
    "no-such-path": "the address is the one that `cortext serve` prints, without a path behind it",
}


def _redirect(answer: ServerResponse) -> ServiceError:
    """Return the error for a redirect.

    The client does not follow redirects, because its token is meant for one server only.
    """
    there = client_errors.shown(answer.location.partition("?")[0]) if answer.location else "nowhere"
    return ServiceError(
        f"{answer.url} sends us elsewhere ({answer.status}): {there}",
        code="redirect",
        status=answer.status,
        hint="give the client the address where `cortext serve` itself answers",
    )


def _of_somebody_else(answer: ServerResponse) -> ServiceError:
    kind = f" with {client_errors.shown(answer.kind)}" if answer.kind else ""
    hint = "a proxy answers in its place: is the server behind it running?"
    if answer.status not in _GATEWAY:
        hint = "is this the address of `cortext serve`? it was not it that answered"
    return ServiceError(
        f"{answer.url} answered {answer.status}{kind}",
        code="unknown",
        status=answer.status,
        hint=hint,
    )


def is_missing(answer: ServerResponse) -> bool:
    return answer.status == 404 and _problem(answer).code == "not-found"


def _problem(answer: ServerResponse) -> _Problem:
    try:
        return msgspec.json.decode(answer.body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The answer came from something between the client and the server, such as a proxy.
        return _Problem()


def decode(answer: ServerResponse, kind: type[_Struct]) -> _Struct:
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The fast decoder refuses the escapes of half characters (lone surrogates).
        try:
            return record_dicts.convert(record_dicts.as_dict(json_codec.decode(answer.body)), kind)
        except ValueError as error:
            raise client_errors.bad_answer(
                answer.url, client_errors.shown(error), answer.status
            ) from None
