"""The HTTP requests to a server, and the values that its answers mean.

This module sends nothing. Both clients use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from cortext.client.client_errors import ServiceError, bad_answer
from cortext.client.responses import ServerResponse, checked, decode, is_missing
from cortext.model import json_codec
from cortext.model.ids import check_id
from cortext.service.stores.base import check_message, check_owner, could_be
from cortext.service.stores.metadata import copied
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)

MOST = 1000
"""The maximum number of conversations or messages that a client can request at once."""
_BASE = "/v1/conversations"


class Request(NamedTuple):
    """One HTTP request to a server. `id` is the conversation that it is about, if any.

    `again` is whether the client may repeat the request without harm after a failure.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str | int] = {}
    again: bool = True
    id: str = ""

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else json_codec.encode(self.body)


class _MessagesBody(msgspec.Struct, rename="camel"):
    messages: Messages


class _Entries(msgspec.Struct, rename="camel"):
    conversations: list[ConversationEntry]


class _Added(msgspec.Struct):
    id: str


class _Begin(msgspec.Struct):
    after: str


def create(metadata: Mapping[str, Any] | None, owner: str | None, id: str | None = None) -> Request:
    """Return the request that creates a conversation, or finds the conversation with this id.

    An `id` that cannot be valid is not sent. None as `owner` finds a conversation of any owner.
    """
    body: dict[str, Any] = {}
    if found := copied(metadata):
        body["metadata"] = found
    if owner is not None:
        check_owner(owner)
    if owner != "":
        body["owner"] = owner
    if id and could_be(id):
        body["conversationId"] = id
    # A repeated request would create a second conversation.
    return Request("POST", _BASE, body, again=False)


def set_metadata(id: str, changes: Mapping[str, Any]) -> Request:
    return _of(id, method="PATCH", body={"metadata": copied(changes)})


def get(id: str) -> Request:
    return _of(id)


def delete(id: str) -> Request:
    return _of(id, method="DELETE")


def summary(id: str) -> Request:
    return _of(id, "/summary")


def add_message(id: str, message: Message) -> Request:
    return _of(id, "/messages", method="POST", body=check_message(message))


def get_history(id: str, limit: int | None) -> Request:
    """Return the request for the last `limit` messages of a conversation.

    Without a limit, a server returns its window: as many of the last messages as it is set to. A
    server accepts no limit above MOST. For a higher limit, the whole window is requested, and
    `history` returns the last `limit` messages of it.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ValueError(f"limit is a whole number from 0, not {limit!r}")
    is_all = limit is None or limit > MOST
    return _of(id, "/messages", query={} if is_all else {"limit": limit})


class Pages:
    """A list of conversations that a client requests page by page.

    `call` is the request for the next page, or None when `found` is complete. Pass the answer to
    `take`. Each page begins with the creation time of the last conversation before it. Therefore no
    conversation is missed if several have the same time, or if one is deleted in the meantime.
    """

    def __init__(self, limit: int | None, owner: str | None) -> None:
        if owner is not None:
            check_owner(owner)
            if not can_ask_for(owner):
                raise ValueError("owner holds half a character, and no address can")
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"limit is a whole number from 0, or None for all, not {limit!r}")
        self._limit = limit
        self._whose = {} if owner is None else {"owner": owner}
        self._known: dict[str, ConversationEntry] = {}
        self._is_last = limit == 0

    @property
    def call(self) -> Request | None:
        if self._is_last:
            return None
        query: dict[str, str | int] = {"limit": min(self._limit or MOST, MOST)}
        if self._known:
            last = next(reversed(self._known.values()))
            query = {"limit": MOST, "until": last.created_at.isoformat()}
        return Request("GET", _BASE, query={**query, **self._whose})

    def take(self, call: Request, answer: ServerResponse) -> None:
        page = decode(checked(call.id, answer), _Entries).conversations
        before = len(self._known)
        self._known.update((each.id, each) for each in page if each.id not in self._known)
        # A short page is not the last: it leaves out conversations that have just expired.
        has_new = len(self._known) > before
        limit = self._limit
        enough = limit is not None and (limit <= MOST or limit <= len(self._known))
        self._is_last = enough or not has_new
        if not enough and not has_new and len(page) >= MOST:
            raise ServiceError(
                f"the server lists no more than {before:,} conversations, and there are others",
                code="too-many",
                hint=f"ask for at most {MOST:,}, or upgrade the server",
            )

    @property
    def found(self) -> list[ConversationEntry]:
        return [*self._known.values()][: self._limit]


def can_ask_for(id: str) -> bool:
    """Return whether an id can be part of a URL. Half a character (a lone surrogate) cannot."""
    return id.isascii() or id == id.encode("utf-8", "ignore").decode()


def events(id: str, after: str | None) -> Request:
    if after is not None and (type(after) is not str or not can_ask_for(after)):
        raise ValueError(f"after is the id of a message, not {after!r:.60}")
    return _of(id, "/events", query={} if after is None else {"after": after})


def _of(id: str, rest: str = "", **fields: Any) -> Request:
    return Request(fields.pop("method", "GET"), f"{_BASE}/{check_id(id)}{rest}", id=id, **fields)


def conversation(call: Request, answer: ServerResponse) -> Conversation:
    return decode(checked(call.id, answer), Conversation)


def found(call: Request, answer: ServerResponse) -> Conversation | None:
    return None if is_missing(answer) else conversation(call, answer)


def in_short(call: Request, answer: ServerResponse) -> ConversationSummary | None:
    return None if is_missing(answer) else decode(checked(call.id, answer), ConversationSummary)


def history(call: Request, answer: ServerResponse, limit: int | None) -> Messages:
    """Return the last `limit` messages in an answer. The list is empty without a conversation."""
    if is_missing(answer):
        return []
    messages = decode(checked(call.id, answer), _MessagesBody).messages
    return (
        messages if limit is None or limit >= len(messages) else messages[-limit:] if limit else []
    )


def added(call: Request, answer: ServerResponse) -> bool:
    """Return whether the message of the request was new on the server.

    Raises ServiceError if the answer does not name this message. Another program at the address of
    the server may answer 200 too.
    """
    if decode(checked(call.id, answer), _Added).id != call.body.id:
        raise bad_answer(answer.url, "it is about another message", answer.status)
    return answer.status == 201


def deleted(call: Request, answer: ServerResponse) -> None:
    if not is_missing(answer) and checked(call.id, answer).status != 204:
        raise bad_answer(answer.url, "it does not say that something was deleted", answer.status)


def parse_message(data: bytes) -> Message:
    return decode(ServerResponse(200, data), Message)


def parse_begin(data: bytes) -> str:
    """Return the id of the message after which a stream of events begins.

    "" means that the stream begins with the first message of the conversation.
    """
    return decode(ServerResponse(200, data), _Begin).after
