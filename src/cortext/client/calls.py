"""What is asked of a server and what its answers mean; nothing here sends anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from cortext.conversations.base import check_message
from cortext.conversations.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError, SessionStorageError
from cortext.model import json, wire
from cortext.model.ids import check_id
from cortext.model.values import json_copy

TIMEOUT = 10.0
_BASE = "/v1/conversations"
_AGAIN = frozenset((429, 502, 503, 504))
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class ServiceError(SessionStorageError):
    """A server that refused, failed, or could not be reached. `code` is the server's own, or
    `unreachable` or `timeout`; `status` is 0 where there was no answer."""

    def __init__(self, sentence: str, *, code: str, status: int = 0, hint: str = "") -> None:
        self.code = code
        self.status = status
        super().__init__(sentence, hint=hint)


class Call(NamedTuple):
    """One request. Only what can be done twice without harm is tried `again`."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str | int] = {}
    again: bool = True
    id: str = ""

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else json.encode(self.body)


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str = ""

    @property
    def may_try_again(self) -> bool:
        return self.status in _AGAIN


class _Page(msgspec.Struct, rename="camel"):
    messages: Messages


class _Entries(msgspec.Struct, rename="camel"):
    conversations: list[ConversationEntry]


class _Begin(msgspec.Struct):
    after: str


class _Problem(msgspec.Struct):
    code: str = ""
    title: str = ""
    detail: str = ""
    hint: str = ""


def create(metadata: Mapping[str, Any] | None) -> Call:
    body = {"metadata": json_copy(dict(metadata), "metadata")} if metadata else {}
    # A second one would be a second conversation.
    return Call("POST", _BASE, body, again=False)


def get_or_create(id: str | None) -> Call:
    if id:
        check_id(id)
    return Call("POST", _BASE, {"conversationId": id} if id else {}, again=False)


def get(id: str) -> Call:
    return _of(id)


def delete(id: str) -> Call:
    return _of(id, method="DELETE")


def summary(id: str) -> Call:
    return _of(id, "/summary")


def add_message(id: str, message: Message) -> Call:
    return _of(id, "/messages", method="POST", body=check_message(message))


def get_history(id: str, limit: int | None) -> Call:
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ValueError(f"limit is a whole number from 0, not {limit!r}")
    return _of(id, "/messages", query={} if limit is None else {"limit": min(limit, 1000)})


def list_conversations(limit: int | None) -> Call:
    return Call("GET", _BASE, query={"limit": min(limit or 1000, 1000)})


def events(id: str, after: str | None) -> Call:
    return _of(id, "/events", query={} if after is None else {"after": after})


def _of(id: str, rest: str = "", **fields: Any) -> Call:
    return Call(fields.pop("method", "GET"), f"{_BASE}/{check_id(id)}{rest}", id=id, **fields)


def conversation(answer: Answer) -> Conversation:
    return _decode(answer.body, Conversation)


def found(call: Call, answer: Answer) -> Conversation | None:
    return None if is_missing(answer) else conversation(checked(call, answer))


def in_short(call: Call, answer: Answer) -> ConversationSummary | None:
    if is_missing(answer):
        return None
    return _decode(checked(call, answer).body, ConversationSummary)


def history(call: Call, answer: Answer) -> Messages:
    return [] if is_missing(answer) else _decode(checked(call, answer).body, _Page).messages


def entries(call: Call, answer: Answer) -> list[ConversationEntry]:
    return _decode(checked(call, answer).body, _Entries).conversations


def deleted(call: Call, answer: Answer) -> None:
    if not is_missing(answer):
        checked(call, answer)


def checked(call: Call, answer: Answer) -> Answer:
    """The answer, if it is a success; otherwise the error that it is."""
    if 200 <= answer.status < 300:
        return answer
    raise failure(call, answer)


def failure(call: Call, answer: Answer) -> CortextError:
    """The error that an answer is."""
    problem = _problem(answer)
    if problem.code == "not-found":
        return SessionNotFoundError(call.id)
    if problem.code == "invalid-id":
        return InvalidIdError(call.id)
    sentence = problem.detail or problem.title or f"the server answered {answer.status}"
    return ServiceError(
        sentence, code=problem.code or "unknown", status=answer.status, hint=problem.hint
    )


def parse_message(data: bytes) -> Message:
    return _decode(data, Message)


def parse_begin(data: bytes) -> str:
    """After which message a stream begins; "" is before the first."""
    return _decode(data, _Begin).after


def unreachable(url: str, error: Exception) -> ServiceError:
    return ServiceError(
        f"cannot reach {url}: {error or type(error).__name__}",
        code="unreachable",
        hint="is `cortext serve` running there?",
    )


def too_slow(url: str, seconds: float) -> ServiceError:
    return ServiceError(f"{url} did not answer within {seconds:g} s", code="timeout")


def base_url(url: str) -> str:
    """A server's address without its last slash; CortextError if it is none."""
    if not url.startswith(("http://", "https://")):
        raise CortextError(
            f"not the address of a server: {url[:100]!r}", hint="as in http://127.0.0.1:8733"
        )
    return url.rstrip("/")


def is_missing(answer: Answer) -> bool:
    return answer.status == 404 and _problem(answer).code == "not-found"


def _problem(answer: Answer) -> _Problem:
    try:
        return msgspec.json.decode(answer.body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Something between us and the server answered.
        return _Problem()


def _decode(data: bytes, kind: type[_Struct]) -> _Struct:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half characters are written as escapes, which the fast decoder refuses.
        try:
            return wire.convert(wire.as_dict(json.decode(data)), kind)
        except ValueError as error:
            raise ServiceError(
                f"the answer makes no sense: {error}", code="bad-answer", status=200
            ) from None
