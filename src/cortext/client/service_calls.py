"""Build the HTTP requests to a server, and convert its answers to values.

Both clients use this module. The module itself sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from cortext.client.client_errors import ServiceError, bad_answer
from cortext.client.responses import ServerResponse, checked, decode, is_missing
from cortext.model import json_codec
from cortext.model.ids import check_id
from cortext.service.stores.base import check_message, check_owner, is_valid_id
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
    """One HTTP request to a server.

    - `body`: a value that is sent as JSON
    - `query`: the parameters in the URL
    - `again`: whether the client may repeat the request after a failure
    - `id`: the id of the conversation in the request, or ""
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


class _EntriesBody(msgspec.Struct, rename="camel"):
    conversations: list[ConversationEntry]


class _AddedBody(msgspec.Struct):
    id: str


class _BeginData(msgspec.Struct):
    after: str


def create(metadata: Mapping[str, Any] | None, owner: str | None, id: str | None = None) -> Request:
    """Return the request that creates a conversation, or loads the conversation `id` if it exists.

    An invalid `id` is left out, so that the server creates a conversation. If `owner` is None, the
    conversation may have any owner.
    """
    body: dict[str, Any] = {}
    if metadata_copy := copied(metadata):
        body["metadata"] = metadata_copy
    if owner is not None:
        check_owner(owner)
    if owner != "":
        body["owner"] = owner
    if id and is_valid_id(id):
        body["conversationId"] = id
    # A repeated request would create a second conversation.
    return Request("POST", _BASE, body, again=False)


def set_metadata(id: str, changes: Mapping[str, Any]) -> Request:
    return _conversation_request(id, method="PATCH", body={"metadata": copied(changes)})


def get(id: str) -> Request:
    return _conversation_request(id)


def delete(id: str) -> Request:
    return _conversation_request(id, method="DELETE")


def summary(id: str) -> Request:
    return _conversation_request(id, "/summary")


def add_message(id: str, message: Message) -> Request:
    return _conversation_request(id, "/messages", method="POST", body=check_message(message))


def get_history(id: str, limit: int | None) -> Request:
    """Return the request for the last `limit` messages of a conversation.

    If `limit` is None, the server returns as many messages as its window allows. If `limit` is
    higher than MOST, the request is the same as for None, because a server refuses such a limit.
    The function `history` then selects the last `limit` messages from the answer.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ValueError(f"limit must be a whole number from 0, not {limit!r}")
    is_all = limit is None or limit > MOST
    return _conversation_request(id, "/messages", query={} if is_all else {"limit": limit})


class Pages:
    """A list of conversations that a client requests page by page.

    `call` is the request for the next page. Pass the server's answer to `take`. When all pages have
    arrived, `call` is None, and `found` is the complete list.

    Each page begins at the creation time of the last conversation on the previous page, so the
    pages overlap. Therefore no conversation is missed if several have the same creation time, or if
    a conversation is deleted between two requests.
    """

    def __init__(self, limit: int | None, owner: str | None) -> None:
        if owner is not None:
            check_owner(owner)
            if not fits_in_url(owner):
                raise ValueError("owner contains half a character, which a URL cannot contain")
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"limit must be a whole number from 0, or None for all, not {limit!r}")
        self._limit = limit
        self._owner_query = {} if owner is None else {"owner": owner}
        self._entries: dict[str, ConversationEntry] = {}
        self._is_last = limit == 0

    @property
    def call(self) -> Request | None:
        if self._is_last:
            return None
        query: dict[str, str | int] = {"limit": min(self._limit or MOST, MOST)}
        if self._entries:
            last = next(reversed(self._entries.values()))
            query = {"limit": MOST, "until": last.created_at.isoformat()}
        return Request("GET", _BASE, query={**query, **self._owner_query})

    def take(self, call: Request, answer: ServerResponse) -> None:
        page = decode(checked(call.id, answer), _EntriesBody).conversations
        before = len(self._entries)
        self._entries.update((each.id, each) for each in page if each.id not in self._entries)
        # A short page need not be the last page: the server leaves out expired conversations.
        has_new = len(self._entries) > before
        limit = self._limit
        is_enough = limit is not None and (limit <= MOST or limit <= len(self._entries))
        self._is_last = is_enough or not has_new
        if not is_enough and not has_new and len(page) >= MOST:
            raise ServiceError(
                f"the server lists only {before:,} conversations, but has more",
                code="too-many",
                hint=f"ask for at most {MOST:,}, or upgrade the server",
            )

    @property
    def found(self) -> list[ConversationEntry]:
        return [*self._entries.values()][: self._limit]


def fits_in_url(id: str) -> bool:
    """Return whether an id can be part of a URL.

    The result is False for an id with a lone surrogate (half of a UTF-16 pair), because it cannot
    be encoded.
    """
    return id.isascii() or id == id.encode("utf-8", "ignore").decode()


def events(id: str, after: str | None) -> Request:
    if after is not None and (type(after) is not str or not fits_in_url(after)):
        raise ValueError(f"after must be the id of a message, not {after!r:.60}")
    return _conversation_request(id, "/events", query={} if after is None else {"after": after})


def _conversation_request(id: str, rest: str = "", **fields: Any) -> Request:
    return Request(fields.pop("method", "GET"), f"{_BASE}/{check_id(id)}{rest}", id=id, **fields)


def conversation(call: Request, answer: ServerResponse) -> Conversation:
    return decode(checked(call.id, answer), Conversation)


def found(call: Request, answer: ServerResponse) -> Conversation | None:
    return None if is_missing(answer) else conversation(call, answer)


def parse_summary(call: Request, answer: ServerResponse) -> ConversationSummary | None:
    return None if is_missing(answer) else decode(checked(call.id, answer), ConversationSummary)


def history(call: Request, answer: ServerResponse, limit: int | None) -> Messages:
    """Return the last `limit` messages in the answer to a request for messages.

    If `limit` is None, return all messages in the answer. If the conversation does not exist,
    return [].
    """
    if is_missing(answer):
        return []
    messages = decode(checked(call.id, answer), _MessagesBody).messages
    return (
        messages if limit is None or limit >= len(messages) else messages[-limit:] if limit else []
    )


def added(call: Request, answer: ServerResponse) -> bool:
    """Return whether the message in the request `call` was new on the server.

    Raises ServiceError if the answer has the id of another message. A program that is not `cortext
    serve` may send such an answer.
    """
    if decode(checked(call.id, answer), _AddedBody).id != call.body.id:
        raise bad_answer(answer.url, "it names another message", answer.status)
    return answer.status == 201


def deleted(call: Request, answer: ServerResponse) -> None:
    if not is_missing(answer) and checked(call.id, answer).status != 204:
        raise bad_answer(answer.url, "it does not confirm the deletion", answer.status)


def parse_message(data: bytes) -> Message:
    return decode(ServerResponse(200, data), Message)


def parse_begin(data: bytes) -> str:
    """Return the id of the message after which a stream of events begins.

    `data` is the content of the event `begin`. The result is "" if the stream begins with the first
    message.
    """
    return decode(ServerResponse(200, data), _BeginData).after
