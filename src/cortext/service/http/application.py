"""The ASGI application that serves the conversations of a store over HTTP."""

from __future__ import annotations

import asyncio
import logging
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
from cortext.service.http import app_argument_checks, metrics, problem_responses
from cortext.service.http.access_tokens import AccessTokens
from cortext.service.http.browser_login import Entrance
from cortext.service.http.event_streams import Streams
from cortext.service.http.local_conversation_queries import MachineSessions
from cortext.service.http.message_post_fast_path import FastPost
from cortext.service.http.openapi_schema import Schema
from cortext.service.http.owned_store import OwnedStore
from cortext.service.http.plain_error_page import html_of, prefers_html
from cortext.service.http.rate_limits import MAX_BODY, MAX_STREAMS, Places, Rate
from cortext.service.http.request_bodies import JsonResponse
from cortext.service.http.request_guard import DATA, LOOPBACK_NAMES, Guard, OwnerOf
from cortext.service.http.routes import data_router
from cortext.service.stores.base import Conversations
from cortext.service.stores.custom_store_adapter import adapt_store
from cortext.service.stores.port import ConversationStore
from cortext.web.error_pages import odd
from cortext.web.live_updates import ShutdownFlag
from cortext.web.router import pages_router

_log = logging.getLogger("cortext.web")
_READY_TIMEOUT = 2.0
_SCHEMA_PATHS = ("/", "/openapi.json")


class Service:
    """The HTTP service as an ASGI application, made by `create_app`.

    A server such as uvicorn can run the application, and another ASGI application can mount it.
    """

    def __init__(self, guard: Guard, state: State, entrance: Entrance | None = None) -> None:
        self._guard = guard
        self._state = state
        self._entrance = entrance

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._guard(scope, receive, send)

    def end_streams(self) -> None:
        """End all open event streams, so that a server that stops does not wait for them."""
        self._state.streams.end()
        if "ending" in self._state:
            self._state.ending.is_near = True

    def link_once(self, token: str) -> str:
        """Return the path of a link with which a browser can sign in to the web pages once.

        The browser then sees the conversations of the client that has this token. The link is valid
        for ten minutes, and only in this process. Append the path to the URL of the service.

        The link does not contain the token. Use such a link where other people may read the URL,
        for example in a server log or a mail.

        CortextError is raised if the token is unknown, or if users of the pages do not sign in with
        tokens.
        """
        if self._entrance is None:
            raise CortextError(
                "this application has no sign-in links",
                hint="sign-in needs create_app(store, tokens={…}, pages=True)",
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
    """Return an ASGI application that serves the conversations of `store` over HTTP.

    The store may be of any class with the five methods of `ConversationStore`. The docstring of
    `adapt_store` describes the restrictions of a class that has only these methods.

    Args:
        store: The store with the conversations.
        tokens: A dict that maps the token of each client to the client's name, which is the owner
            of the client's conversations. A client never sees conversations of another owner.
            Without `tokens` and `owner_of`, only requests from this machine are answered. A request
            through a proxy on this machine counts as a request from this machine.
        owner_of: A function that identifies the user of a request, instead of `tokens`. The
            function gets the ASGI scope of the request. It returns the owner, or None to reject the
            request. It may be `async`.
        hosts: The host names of this server; `"*"` accepts any name.
        rate: The number of requests that each client may send per minute; 0 means no limit.
        max_streams: The number of event streams that each client may have open; 0 means no limit.
        max_body: The largest body of a request, in bytes.
        sessions: Whether to serve this machine's conversations with AI tools. Only the owner "",
            which is the user of this machine, sees these conversations. `sessions` cannot be
            combined with `owner_of`.
        pages: Whether to serve the web pages. Each owner sees only their own conversations. With
            `sessions`, the owner "" also sees this machine's conversations with AI tools.
        secret: The secret from which the cookies of browsers are derived. Processes that serve the
            same pages need the same secret. The default is a random secret.
        close: Whether to close the store when the server stops.

    Raises:
        CortextError: The arguments contradict each other, or one cannot be used.
        ValueError: An argument has an invalid value.
    """
    app_argument_checks.check_store(store)
    app_argument_checks.check_users(tokens, owner_of, sessions=sessions)
    app_argument_checks.check_hosts(hosts)
    app_argument_checks.check_secret(secret)
    numbers = {"rate": rate, "max_streams": max_streams, "max_body": max_body}
    app_argument_checks.check_numbers(numbers, {"max_body": 1})
    app_argument_checks.check_switches({"sessions": sessions, "pages": pages, "close": close})
    adapted_store = adapt_store(store)
    state = State(
        {
            "owned": OwnedStore(adapted_store),
            "sessions": MachineSessions(),
            "metrics": metrics.Metrics(),
            "streams": Streams(),
        }
    )
    known_tokens = AccessTokens(tokens) if isinstance(tokens, Mapping) else tokens
    if pages:
        state.has_machine = sessions
        state.takes_tokens = known_tokens is not None
        state.has_users = owner_of is not None
    app: Any = _litestar(
        adapted_store, state, max_body, sessions=sessions, pages=pages, close=close
    )
    entrance = None
    if pages and known_tokens is not None:
        entrance = Entrance(known_tokens, secret)
        app = entrance.wrap_pages(app)
    guard = Guard(
        FastPost(app, state.owned, state.metrics, max_body),
        owner_of=owner_of,
        tokens=known_tokens,
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
    async def check_and_close(_app: Litestar) -> AsyncGenerator[None]:
        check = asyncio.create_task(_warn_if_unreachable(store))
        try:
            yield
        finally:
            check.cancel()
            await state.sessions.end()
            if close:
                await store.aclose()

    handlers: list[Any] = [healthz, readyz, metrics_page, data_router(sessions=sessions)]
    if pages:
        state.ending = ShutdownFlag()
        handlers.append(pages_router(state.ending, machine=sessions, serving=True))
    return Litestar(
        handlers,
        exception_handlers={
            HTTPException: _handle_http_error,
            CortextError: _handle_error,
            Exception: _handle_error,
        },
        lifespan=[check_and_close],
        logging_config=None,
        openapi_config=_openapi_config(),
        request_max_body_size=max_body,
        response_class=JsonResponse,
        state=state,
    )


@get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    """Answer a health check with status 200, which shows that the process can answer requests."""
    return {"status": "ok", "version": __version__}


@get("/readyz", include_in_schema=False)
async def readyz(request: Request[Any, Any, Any], state: State) -> Response[Any]:
    """Answer a readiness check: status 200 if the store answers in time, otherwise status 503."""
    error = await _readiness_error(state.owned.store)
    return _not_ready(request, error) if error else JsonResponse({"status": "ready"})


async def _readiness_error(store: Conversations) -> SessionStorageError | None:
    """Read from the store. Return the error if the store fails or does not answer in time.

    Return None if the store answers in time.
    """
    try:
        await asyncio.wait_for(store.get(new_id()), _READY_TIMEOUT)
    except SessionStorageError as error:
        return error
    except TimeoutError:
        return SessionStorageError(f"no answer within {_READY_TIMEOUT:g} s")
    return None


async def _warn_if_unreachable(store: Conversations) -> None:
    """Log a warning at the start of the server if the store does not answer."""
    if error := await _readiness_error(store):
        _log.warning("requests get status 503 until the store answers: %s", error)


@get("/metrics", media_type=metrics.MEDIA_TYPE, include_in_schema=False)
async def metrics_page(state: State) -> bytes:
    return state.metrics.text(streams=len(state.streams.open)).encode()


def _not_ready(request: Request[Any, Any, Any], error: SessionStorageError) -> Response[Any]:
    problem = problem_responses.problem_of(error)
    hint = "the status is 200 as soon as the store answers; the server log names the store"
    return answer(request, problem_responses.problem(problem.code, problem.detail, hint), {})


def _openapi_config() -> OpenAPIConfig:
    # JSON only: HTML viewers of a schema load scripts from other hosts.
    return OpenAPIConfig(
        title="cortext",
        version=__version__,
        path="/schema",
        render_plugins=[Schema(path=_SCHEMA_PATHS, media_type=MediaType.JSON)],
        use_handler_docstrings=True,
        security=[{"token": []}],
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
    )


def _handle_http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    problem = problem_responses.problem_of_status(error.status_code, error.detail, error.extra)
    is_page = "takes_tokens" in request.app.state and not request.scope["path"].startswith(DATA)
    if is_page and problem.status == 404 and prefers_html(request.headers.get("accept", "")):
        return odd(request, error)
    return answer(request, problem, error.headers or {})


def _handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    return answer(request, problem_responses.problem_of(error), {})


def answer(
    request: Request[Any, Any, Any],
    problem: problem_responses.HttpProblem,
    headers: Mapping[str, str],
) -> Response[Any]:
    """Return the response for an error: an HTML page for a browser, JSON for a program.

    `problem` describes the error. `headers` are additional headers of the response.
    """
    headers = {**problem_responses.headers_of(problem), **headers}
    if prefers_html(request.headers.get("accept", "")):
        _, body, html_headers = html_of(problem)
        headers = {**headers, **html_headers}
        return Response(
            body, status_code=problem.status, media_type=MediaType.HTML, headers=headers
        )
    return JsonResponse(
        problem,
        status_code=problem.status,
        media_type=problem_responses.MEDIA_TYPE,
        headers=headers,
    )
