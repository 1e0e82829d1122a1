"""The routes of the HTTP service below `/v1`.

The handlers raise exceptions, which `application.py` turns into error responses.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from litestar import Request, Response, Router, delete, get, patch, post
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, FromQuery, HeaderParameter, QueryParameter
from litestar.response import Stream

from cortext.features.listing.conversation_list import ListFilter
from cortext.features.listing.time_ranges import date_range
from cortext.features.search.search import TextFilter
from cortext.service.http import event_streams
from cortext.service.http.local_conversation_queries import FoundPage, SessionPage
from cortext.service.http.message_post_fast_path import add_posted
from cortext.service.http.mount_path import base_of
from cortext.service.http.problem_responses import MEDIA_TYPE as PROBLEM
from cortext.service.http.problem_responses import HttpProblem
from cortext.service.http.request_bodies import (
    LONGEST_ID,
    Changes,
    ConversationEntries,
    JsonResponse,
    MessageHistory,
    NewConversation,
    NewMessage,
    decode,
    meant,
)
from cortext.service.http.request_guard import OWNER, STAYS
from cortext.service.stores.port import Conversation, ConversationSummary, Message

_MAX_LIMIT = 1000
_MAX_HITS = 100
AnyRequest = Request[Any, Any, Any]
Id = FromPath[str]
Limit = Annotated[int, QueryParameter(ge=1, le=_MAX_LIMIT)]
Status = Literal["active", "paused", "completed", "interrupted"]


def _may_fail(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the OpenAPI descriptions of the error responses of a route, by HTTP status.

    The result has the given statuses, and the statuses that every route may send, such as 401.
    """
    return {
        status: ResponseSpec(
            HttpProblem,
            media_type=PROBLEM,
            generate_examples=False,
            description=_DESCRIPTIONS[status],
        )
        for status in (*statuses, 400, 401, 403, 413, 429, 503)
    }


_DESCRIPTIONS = {
    400: "The request is invalid.",
    401: "The token is missing or wrong.",
    403: "The token, the host or the origin does not allow the request.",
    404: "The conversation does not exist.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too many requests. `Retry-After` has the seconds to wait.",
    503: "The store is not available. Try again later.",
}


def _owner(request: AnyRequest) -> Any:
    """Return the owner who makes the request. After `_check_request`, the owner is not None."""
    return request.scope[OWNER]  # type: ignore[typeddict-item]


@post("/conversations", status_code=201, responses=_may_fail(415))
async def create(request: AnyRequest) -> Response[Conversation]:
    """Create a conversation (201). With `conversationId`, load that conversation (200). If it does
    not exist, create a conversation with a new id (201)."""
    data = await request.body()
    new_conversation = decode(data, NewConversation) if data else NewConversation()
    owner, metadata, owned = (
        _owner(request),
        new_conversation.metadata or {},
        request.app.state.owned,
    )
    if new_conversation.conversation_id:
        conversation, is_new = await owned.get_or_create(
            owner, new_conversation.conversation_id, metadata, new_conversation.owner
        )
    else:
        conversation, is_new = (
            await owned.create(owner, metadata, new_conversation.owner or ""),
            True,
        )
    headers = {"Location": f"{base_of(request.scope)}/v1/conversations/{conversation.id}"}
    return JsonResponse(conversation, status_code=201 if is_new else 200, headers=headers)


@get("/conversations", responses=_may_fail())
async def list_conversations(
    request: AnyRequest,
    limit: Limit = 50,
    until: FromQuery[datetime | None] = None,
    owner: Annotated[str | None, QueryParameter(max_length=LONGEST_ID)] = None,
) -> ConversationEntries:
    """List your conversations, newest first. `owner` selects the conversations of one owner, as you
    gave it when you created them. An empty `owner` selects conversations without an owner. `until`
    selects conversations that were created at that time or earlier. For the next page, pass the
    `createdAt` of the last conversation. The next page starts with that conversation."""
    return ConversationEntries(
        await request.app.state.owned.entries(_owner(request), limit, until, owner)
    )


@get("/conversations/{id:str}", responses=_may_fail(404))
async def load(request: AnyRequest, id: Id) -> Conversation:
    """Return a conversation with the messages that the service keeps (by default the last 20)."""
    return await request.app.state.owned.get(_owner(request), id)


@patch("/conversations/{id:str}", responses=_may_fail(404, 415))
async def change(request: AnyRequest, id: Id) -> Conversation:
    """Change keys of the metadata and return the conversation. This does not delay its expiry."""
    changes = decode(await request.body(), Changes).metadata
    return await request.app.state.owned.set_metadata(_owner(request), id, changes)


@delete("/conversations/{id:str}", responses=_may_fail(404))
async def remove(request: AnyRequest, id: Id) -> None:
    """Delete a conversation permanently."""
    await request.app.state.owned.delete(_owner(request), id)


_EXISTING_MESSAGE = ResponseSpec(
    Message, generate_examples=False, description="Nothing was added. This message has the `id`."
)


@post("/conversations/{id:str}/messages", responses={200: _EXISTING_MESSAGE, **_may_fail(404, 415)})
async def add(request: AnyRequest, id: Id) -> Response[Message]:
    """Add a message. When the response arrives, the store has the message. A message that is sent
    again with the same `id` is stored once. If another message already has the `id`, nothing is
    added, and the response is that other message (200)."""
    state, data = request.app.state, await request.body()
    status, response_body = await add_posted(state.owned, state.metrics, _owner(request), id, data)
    return JsonResponse(response_body, status_code=status)


@get("/conversations/{id:str}/messages", responses=_may_fail(404))
async def history(
    request: AnyRequest,
    id: Id,
    limit: Annotated[int | None, QueryParameter(ge=0, le=_MAX_LIMIT)] = None,
) -> MessageHistory:
    """Return the last messages that the service keeps, at most `limit`, oldest first."""
    return MessageHistory(await request.app.state.owned.history(_owner(request), id, limit))


@get("/conversations/{id:str}/summary", responses=_may_fail(404))
async def summary(request: AnyRequest, id: Id) -> ConversationSummary:
    """Return a short summary, so that a program can choose which agent answers next. It has the
    last three messages, the newest structured data, the types of all structured data, and one line
    of text."""
    return await request.app.state.owned.summary(_owner(request), id)


@get(
    "/conversations/{id:str}/events",
    media_type=event_streams.MEDIA_TYPE,
    responses=_may_fail(404),
)
async def follow(
    request: AnyRequest,
    id: Id,
    after: Annotated[str | None, QueryParameter(max_length=256)] = None,
    last_event_id: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", max_length=256)
    ] = None,
) -> Stream:
    """Follow a conversation with server-sent events. The events are `begin`, `message`, and finally
    `deleted` or `expired`. The event `gap` means that the service dropped old messages before it
    could send them. By default, the stream starts with the next new message. With `after` (or the
    header `Last-Event-ID`), it starts after the message with this id. With an empty `after`, it
    starts with the first message."""
    state, owner = request.app.state, _owner(request)
    conversation = await state.owned.get(owner, id)
    scope: Any = request.scope
    parts = state.streams.follow(
        state.owned, owner, conversation, last_event_id or after, scope[STAYS]
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(parts, media_type=event_streams.MEDIA_TYPE, headers=headers)


@get("/sessions", responses=_may_fail())
async def list_sessions(
    request: AnyRequest,
    q: Annotated[str, QueryParameter(max_length=1000)] = "",
    type: Annotated[str, QueryParameter(max_length=100)] = "",
    tool: Annotated[str, QueryParameter(max_length=100)] = "",
    status: FromQuery[Status | None] = None,
    tag: FromQuery[list[str] | None] = None,
    limit: Limit = 50,
    offset: Annotated[int, QueryParameter(ge=0, le=10_000_000)] = 0,
) -> SessionPage:
    """List this machine's conversations with AI tools, most recent first. Only the user of this
    machine may call this."""
    _check_machine_user(request)
    list_filter = ListFilter(
        kind=type or None, status=status, tags=tag or (), words=q.strip(), tool=tool or None
    )
    return await request.app.state.sessions.list(list_filter, limit=limit, offset=offset)


@get("/search", responses=_may_fail())
async def search(
    request: AnyRequest,
    q: Annotated[str, QueryParameter(min_length=1, max_length=1000)],
    type: Annotated[str, QueryParameter(max_length=100)] = "",
    tool: Annotated[str, QueryParameter(max_length=100)] = "",
    role: Annotated[str, QueryParameter(max_length=20)] = "",
    when: Annotated[str, QueryParameter(max_length=64)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=_MAX_HITS)] = 20,
) -> FoundPage:
    """Search the messages of this machine's conversations, newest first. `q` is a query as for
    `cortext search`. `when` is a time span such as 2026-03..2026-05 or "last week". Only the user
    of this machine may call this."""
    _check_machine_user(request)
    span = date_range(when)
    text_filter = TextFilter(since=span.since, until=span.until, role=role)
    list_filter = ListFilter(kind=type or None, tool=tool or None)
    return await request.app.state.sessions.search(q, list_filter, text_filter, limit=limit)


def _check_machine_user(request: AnyRequest) -> None:
    if _owner(request) != "":
        raise PermissionDeniedException


def _check_request(request: AnyRequest) -> None:
    """Reject a request that has no owner or has unknown query parameters.

    `Guard` has already rejected requests without an owner. This second check is a safeguard.
    """
    if _owner(request) is None:
        raise NotAuthorizedException(headers={"WWW-Authenticate": "Bearer"})
    if request.scope["query_string"]:
        names = sorted(request.route_handler.parsed_fn_signature.parameters.keys() - _NOT_QUERY)
        for name in request.query_params:
            if name not in names:
                raise ValueError(f"unknown query parameter `{name[:60]}`{meant(name, names)}")


_NOT_QUERY = {"request", "id", "last_event_id"}
"""The parameters of handlers that do not come from the query of the URL."""


def data_router(*, sessions: bool) -> Router:
    """Return the router of all paths below `/v1`.

    With `sessions`, the router also has the routes that list and search this machine's
    conversations.
    """
    handlers = [create, list_conversations, load, change, remove, add, history, summary, follow]
    if sessions:
        handlers += [list_sessions, search]
    return Router("/v1", route_handlers=handlers, before_request=_check_request)


BODIES: dict[tuple[str, str], type[Any]] = {
    ("post", "/v1/conversations"): NewConversation,
    ("patch", "/v1/conversations/{id}"): Changes,
    ("post", "/v1/conversations/{id}/messages"): NewMessage,
}
"""The type of the request body of each route, by method and path, for the OpenAPI document.

These routes decode their bodies without the framework. That is faster and preserves lone
surrogates.
"""
