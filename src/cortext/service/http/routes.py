"""The routes of the HTTP service below `/v1`.

Handlers raise exceptions, and `application.py` turns these into error responses.
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
from cortext.service.http.fast_post import add_posted
from cortext.service.http.machine_sessions import FoundPage, SessionPage
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

_MOST = 1000
_MOST_HITS = 100
Asked = Request[Any, Any, Any]
Id = FromPath[str]
Limit = Annotated[int, QueryParameter(ge=1, le=_MOST)]
Status = Literal["active", "paused", "completed", "interrupted"]


def _may_fail(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the OpenAPI descriptions of the error responses that a route may send.

    These are the given statuses, and the statuses that any route may send.
    """
    return {
        status: ResponseSpec(
            HttpProblem, media_type=PROBLEM, generate_examples=False, description=_WHY[status]
        )
        for status in (*statuses, 400, 401, 403, 413, 429, 503)
    }


_WHY = {
    400: "The request cannot be understood.",
    401: "The token is missing or wrong.",
    403: "The token, the host or the origin does not allow that.",
    404: "There is no such conversation.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too many requests; `Retry-After` says when to come again.",
    503: "The store cannot do this now; try again.",
}


def _owner(request: Asked) -> Any:
    """Return the owner who makes the request. After `_check`, the owner is not None."""
    return request.scope[OWNER]  # type: ignore[typeddict-item]


@post("/conversations", status_code=201, responses=_may_fail(415))
async def create(request: Asked) -> Response[Conversation]:
    """Begin a conversation, or with `conversationId` load one (200); if there is none, a new one
    is created, which has another id."""
    data = await request.body()
    wanted = decode(data, NewConversation) if data else NewConversation()
    owner, metadata, owned = _owner(request), wanted.metadata or {}, request.app.state.owned
    if wanted.conversation_id:
        found, is_new = await owned.get_or_create(
            owner, wanted.conversation_id, metadata, wanted.owner
        )
    else:
        found, is_new = await owned.create(owner, metadata, wanted.owner or ""), True
    headers = {"Location": f"{base_of(request.scope)}/v1/conversations/{found.id}"}
    return JsonResponse(found, status_code=201 if is_new else 200, headers=headers)


@get("/conversations", responses=_may_fail())
async def list_conversations(
    request: Asked,
    limit: Limit = 50,
    until: FromQuery[datetime | None] = None,
    owner: Annotated[str | None, QueryParameter(max_length=LONGEST_ID)] = None,
) -> ConversationEntries:
    """Your conversations, newest first; with `owner`, those of one of your owners, and with an
    empty one those of none. With `until`, those that were created then or earlier: the `createdAt`
    of the last one of a page gives the next page, which begins with that one."""
    return ConversationEntries(
        await request.app.state.owned.entries(_owner(request), limit, until, owner)
    )


@get("/conversations/{id:str}", responses=_may_fail(404))
async def load(request: Asked, id: Id) -> Conversation:
    """A conversation with the messages of its window."""
    return await request.app.state.owned.get(_owner(request), id)


@patch("/conversations/{id:str}", responses=_may_fail(404, 415))
async def change(request: Asked, id: Id) -> Conversation:
    """Change keys of the metadata; the conversation as it is then. That prolongs nothing."""
    changes = decode(await request.body(), Changes).metadata
    return await request.app.state.owned.set_metadata(_owner(request), id, changes)


@delete("/conversations/{id:str}", responses=_may_fail(404))
async def remove(request: Asked, id: Id) -> None:
    """Remove a conversation for good."""
    await request.app.state.owned.delete(_owner(request), id)


_TAKEN = ResponseSpec(
    Message, generate_examples=False, description="Nothing was added: this one has that `id`."
)


@post("/conversations/{id:str}/messages", responses={200: _TAKEN, **_may_fail(404, 415)})
async def add(request: Asked, id: Id) -> Response[Message]:
    """Add a message; when the answer is there, the store has it. Sent again with the same `id`,
    it is stored once; where another message has that `id` already, nothing is added, and the
    answer is that one (200)."""
    state, data = request.app.state, await request.body()
    status, made = await add_posted(state.owned, state.metrics, _owner(request), id, data)
    return JsonResponse(made, status_code=status)


@get("/conversations/{id:str}/messages", responses=_may_fail(404))
async def history(
    request: Asked,
    id: Id,
    limit: Annotated[int | None, QueryParameter(ge=0, le=_MOST)] = None,
) -> MessageHistory:
    """The last messages, oldest first: those of the window, and at most `limit`."""
    return MessageHistory(await request.app.state.owned.history(_owner(request), id, limit))


@get("/conversations/{id:str}/summary", responses=_may_fail(404))
async def summary(request: Asked, id: Id) -> ConversationSummary:
    """What is needed to route the next message: the last three, the newest structured data, the
    types of all of it, and all that in one line."""
    return await request.app.state.owned.summary(_owner(request), id)


@get(
    "/conversations/{id:str}/events",
    media_type=event_streams.MEDIA_TYPE,
    responses=_may_fail(404),
)
async def follow(
    request: Asked,
    id: Id,
    after: Annotated[str | None, QueryParameter(max_length=256)] = None,
    last_event_id: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", max_length=256)
    ] = None,
) -> Stream:
    """The conversation as it grows, as server-sent events: `begin`, `message`, `gap` when some left
    the window unseen, and at the end `deleted` or `expired`. It begins after the message `after`
    (or `Last-Event-ID`), else now; with an empty `after`, with the first message."""
    state, owner = request.app.state, _owner(request)
    found = await state.owned.get(owner, id)
    scope: Any = request.scope
    parts = state.streams.follow(state.owned, owner, found, last_event_id or after, scope[STAYS])
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(parts, media_type=event_streams.MEDIA_TYPE, headers=headers)


@get("/sessions", responses=_may_fail())
async def list_sessions(
    request: Asked,
    q: Annotated[str, QueryParameter(max_length=1000)] = "",
    type: Annotated[str, QueryParameter(max_length=100)] = "",
    tool: Annotated[str, QueryParameter(max_length=100)] = "",
    status: FromQuery[Status | None] = None,
    tag: FromQuery[list[str] | None] = None,
    limit: Limit = 50,
    offset: Annotated[int, QueryParameter(ge=0, le=10_000_000)] = 0,
) -> SessionPage:
    """What this machine keeps of conversations with AI tools, the latest first. Only for the
    person of this machine."""
    _check_person(request)
    wanted = ListFilter(
        kind=type or None, status=status, tags=tag or (), words=q.strip(), tool=tool or None
    )
    return await request.app.state.sessions.list(wanted, limit=limit, offset=offset)


@get("/search", responses=_may_fail())
async def search(
    request: Asked,
    q: Annotated[str, QueryParameter(min_length=1, max_length=1000)],
    type: Annotated[str, QueryParameter(max_length=100)] = "",
    tool: Annotated[str, QueryParameter(max_length=100)] = "",
    role: Annotated[str, QueryParameter(max_length=20)] = "",
    when: Annotated[str, QueryParameter(max_length=64)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=_MOST_HITS)] = 20,
) -> FoundPage:
    """What was said in them, the newest first; `q` is what `cortext search` takes, `when` a span
    of days such as 2026-03..2026-05 or "last week". Only for the person of this machine."""
    _check_person(request)
    span = date_range(when)
    narrow = TextFilter(since=span.since, until=span.until, role=role)
    wanted = ListFilter(kind=type or None, tool=tool or None)
    return await request.app.state.sessions.search(q, wanted, narrow, limit=limit)


def _check_person(request: Asked) -> None:
    if _owner(request) != "":
        raise PermissionDeniedException


def _check(request: Asked) -> None:
    """Reject a request that has no owner or has unknown query parameters.

    `Guard` already rejects requests without an owner. This check is a second barrier.
    """
    if _owner(request) is None:
        raise NotAuthorizedException(headers={"WWW-Authenticate": "Bearer"})
    if request.scope["query_string"]:
        names = sorted(request.route_handler.parsed_fn_signature.parameters.keys() - _NO_QUERY)
        for name in request.query_params:
            if name not in names:
                raise ValueError(f"unknown query parameter `{name[:60]}`{meant(name, names)}")


_NO_QUERY = {"request", "id", "last_event_id"}
"""The parameters of handlers that do not come from the query of the URL."""


def data_router(*, sessions: bool) -> Router:
    """Return the router of all paths below `/v1`, which need a token.

    With `sessions`, the router also lists and searches this machine's conversations.
    """
    handlers = [create, list_conversations, load, change, remove, add, history, summary, follow]
    if sessions:
        handlers += [list_sessions, search]
    return Router("/v1", route_handlers=handlers, before_request=_check)


BODIES: dict[tuple[str, str], type[Any]] = {
    ("post", "/v1/conversations"): NewConversation,
    ("patch", "/v1/conversations/{id}"): Changes,
    ("post", "/v1/conversations/{id}/messages"): NewMessage,
}
"""The type of the request body of each route, by method and path, for the OpenAPI document.

These routes decode their bodies without the framework. That is faster and preserves lone
surrogates.
"""
