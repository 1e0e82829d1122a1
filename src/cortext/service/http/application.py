"""The service, put together: an ASGI application over a store of conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, MediaType, Request, Response, get
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from cortext import __version__
from cortext.errors import CortextError, SessionStorageError
from cortext.model.ids import new_id
from cortext.service.http import app_arguments, metrics, problem_responses
from cortext.service.http.auth import AccessTokens
from cortext.service.http.browser_login import Entrance
from cortext.service.http.event_streams import Streams
from cortext.service.http.fast_post import Posting
from cortext.service.http.machine_sessions import MachineSessions
from cortext.service.http.openapi_schema import Schema
from cortext.service.http.ownership import Owned
from cortext.service.http.plain_error_page import html_of, prefers_html
from cortext.service.http.rate_limits import MAX_BODY, MAX_STREAMS, Places, Rate
from cortext.service.http.request_bodies import JsonResponse
from cortext.service.http.request_guard import DATA, LOOPBACK_NAMES, Guard, OwnerOf
from cortext.service.http.routes import data_router
from cortext.service.stores.adapter import adapt_store
from cortext.service.stores.base import Conversations
from cortext.service.stores.port import ConversationStore
from cortext.web.error_pages import odd
from cortext.web.live_updates import Ending
from cortext.web.router import pages_router

_READY_WITHIN = 2.0
_SCHEMA = ("/", "/openapi.json")


class Service:
    """An ASGI application. It can be served by itself, and mounted in another."""

    def __init__(self, guard: Guard, state: State, entrance: Entrance | None = None) -> None:
        self._guard = guard
        self._state = state
        self._entrance = entrance

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._guard(scope, receive, send)

    def end_streams(self) -> None:
        """Let every event stream end: a server that stops does not wait for them."""
        self._state.streams.end()
        if "ending" in self._state:
            self._state.ending.is_near = True

    def link_once(self, token: str) -> str:
        """The path of a link that lets a browser into the pages as the client of this token: good
        once and for ten minutes, in this process. It stands below the path that the service is
        mounted at. For where an address is written down: in the log of a server, in a mail."""
        if self._entrance is None:
            raise CortextError(
                "nobody signs in here by a link",
                hint="create_app(store, tokens={…}, pages=True) has pages that one signs in to",
            )
        return self._entrance.link_once(token)


def create_app(
    store: ConversationStore,
    *,
    tokens: Mapping[str, str] | AccessTokens | None = None,
    owner_of: OwnerOf | None = None,
    hosts: Sequence[str] = LOOPBACK_NAMES,
    rate: int = 0,
    max_streams: int = MAX_STREAMS,
    max_body: int = MAX_BODY,
    sessions: bool = False,
    pages: bool = False,
    secret: str = "",
    close: bool = False,
) -> Service:
    """The service over `store`.

    `tokens` are the clients' tokens, each with the owner of its conversations; a client never
    sees another's. Without any, only requests from this machine are answered, and all that comes
    through a proxy on it is that. An application that knows its users gives `owner_of` instead: of
    the scope of a request it tells the owner, or None for nobody; it may be `async`. `hosts` are
    the names that this server is called by; `"*"` is any. `rate` is how many requests a minute each
    client has, `max_streams` how many event streams at a time; 0 is any number. `sessions` adds
    what this machine keeps of conversations with AI tools, for the owner "" only, which no
    `owner_of` can make somebody; and `pages` the web pages: each owner sees its own conversations,
    and with `sessions` the owner "" those of this machine, too. Where several processes serve the
    pages, `secret` is the same for all of them: the cookies of browsers are made with it. With
    `close` the store is closed when the server stops.

    Any class with the five methods of `ConversationStore` can be served; `adapt_store` in
    `cortext.service.stores.adapter` says with which guarantees.

    CortextError or ValueError names an argument that is not valid.
    """
    app_arguments.check_store(store)
    app_arguments.check_users(tokens, owner_of, sessions=sessions)
    app_arguments.check_hosts(hosts)
    app_arguments.check_secret(secret)
    numbers = {"rate": rate, "max_streams": max_streams, "max_body": max_body}
    app_arguments.check_numbers(numbers, {"max_body": 1})
    app_arguments.check_switches({"sessions": sessions, "pages": pages, "close": close})
    adapted = adapt_store(store)
    state = State(
        {
            "owned": Owned(adapted),
            "sessions": MachineSessions(),
            "metrics": metrics.Metrics(),
            "streams": Streams(),
        }
    )
    known = AccessTokens(tokens) if isinstance(tokens, Mapping) else tokens
    if pages:
        state.has_machine = sessions
        state.takes_tokens = known is not None
        state.has_users = owner_of is not None
    app: Any = _litestar(adapted, state, max_body, sessions=sessions, pages=pages, close=close)
    entrance = None
    if pages and known is not None:
        entrance = Entrance(known, secret)
        app = entrance.in_front_of(app)
    guard = Guard(
        Posting(app, state.owned, state.metrics, max_body),
        owner_of=owner_of,
        tokens=known,
        entrance=entrance,
        hosts=hosts,
        rate=Rate(rate),
        streams=Places(max_streams),
        max_body=max_body,
        metrics=state.metrics,
    )
    return Service(guard, state, entrance)


def _litestar(
    store: Conversations, state: State, max_body: int, *, sessions: bool, pages: bool, close: bool
) -> Litestar:
    @asynccontextmanager
    async def closing(_app: Litestar) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await state.sessions.end()
            if close:
                await store.aclose()

    handlers: list[Any] = [healthz, readyz, metrics_page, data_router(sessions=sessions)]
    if pages:
        state.ending = Ending()
        handlers.append(pages_router(state.ending, machine=sessions, serving=True))
    return Litestar(
        handlers,
        exception_handlers={HTTPException: _framework, CortextError: _ours, Exception: _ours},
        lifespan=[closing],
        logging_config=None,
        openapi_config=_openapi(),
        request_max_body_size=max_body,
        response_class=JsonResponse,
        state=state,
    )


@get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok", "version": __version__}


@get("/readyz", include_in_schema=False)
async def readyz(request: Request[Any, Any, Any], state: State) -> Response[Any]:
    """The store answers, too."""
    try:
        await asyncio.wait_for(state.owned.store.get(new_id()), _READY_WITHIN)
    except SessionStorageError as error:
        return _not_ready(request, error)
    except TimeoutError:
        late = SessionStorageError(f"no answer within {_READY_WITHIN:g} s")
        return _not_ready(request, late)
    return JsonResponse({"status": "ready"})


@get("/metrics", media_type=metrics.MEDIA_TYPE, include_in_schema=False)
async def metrics_page(state: State) -> bytes:
    return state.metrics.text(streams=len(state.streams.open)).encode()


def _not_ready(request: Request[Any, Any, Any], error: SessionStorageError) -> Response[Any]:
    found = problem_responses.problem_of(error)
    hint = "it is 200 as soon as the store answers; the log of the server says where that is"
    return answer(request, problem_responses.problem(found.code, found.detail, hint), {})


def _openapi() -> OpenAPIConfig:
    # Pages that show it load scripts from other hosts, so it is JSON only.
    return OpenAPIConfig(
        title="cortext",
        version=__version__,
        path="/schema",
        render_plugins=[Schema(path=_SCHEMA, media_type=MediaType.JSON)],
        use_handler_docstrings=True,
        security=[{"token": []}],
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
    )


def _framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    found = problem_responses.problem_of_status(error.status_code, error.detail, error.extra)
    is_page = "takes_tokens" in request.app.state and not request.scope["path"].startswith(DATA)
    if is_page and found.status == 404 and prefers_html(request.headers.get("accept", "")):
        return odd(request, error)
    return answer(request, found, error.headers or {})


def _ours(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    return answer(request, problem_responses.problem_of(error), {})


def answer(
    request: Request[Any, Any, Any],
    found: problem_responses.HttpProblem,
    headers: Mapping[str, str],
) -> Response[Any]:
    """A problem for whoever asked: a program, or a person in a browser."""
    headers = {**problem_responses.headers_of(found), **headers}
    if prefers_html(request.headers.get("accept", "")):
        _, body, more = html_of(found)
        headers = {**headers, **more}
        return Response(body, status_code=found.status, media_type=MediaType.HTML, headers=headers)
    return JsonResponse(
        found, status_code=found.status, media_type=problem_responses.MEDIA_TYPE, headers=headers
    )
