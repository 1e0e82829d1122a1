"""Running the service: one process or several, until a signal ends it.

On SIGTERM and SIGINT no new connection is taken, event streams end, requests that are being
answered are answered, and the store is closed after that. Clients that read nothing of what they
are sent are not waited for.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import Any, NamedTuple

import uvicorn

from cortext.errors import CortextError
from cortext.service.http.application import Service, create_app
from cortext.service.http.auth import TokenFolder, local_token, read_tokens
from cortext.service.http.open_connections import Connection
from cortext.service.http.rate_limits import MAX_BODY, MAX_STREAMS
from cortext.service.http.request_guard import ANY_ADDRESS, LOOPBACK_NAMES
from cortext.service.http.store_urls import opened_store
from cortext.web.page_access import PARAMETER

_PATIENCE = 30
"""Seconds that requests have to be answered when the server stops."""
_KEEP_ALIVE = 75


class Settings(NamedTuple):
    """How the service is run. A port of 0 is any that is free; `bounds` are the store's options
    `window`, `ttl` and `max_conversations`, where they are not its own. All processes make the
    cookies of the pages with the `secret`."""

    store: str
    tokens: str
    host: str = "127.0.0.1"
    port: int = 0
    workers: int = 1
    bounds: Mapping[str, Any] = {}
    names: tuple[str, ...] = ()
    rate: int = 0
    max_body: int = MAX_BODY
    max_streams: int = MAX_STREAMS
    pages: bool = False
    secret: str = ""


def serve(settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `tell` is given the address. CortextError says what cannot
    be."""
    _check_store(settings)
    _check_tokens(settings)
    if settings.pages:
        settings = settings._replace(secret=_secret(settings.tokens))
    with _listener(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        config = _config(settings)
        tell(f"http://{host}:{port}")
        # Raised again by uvicorn when all is done: that is no failure.
        signal.signal(signal.SIGTERM, _leave)
        if settings.workers == 1:
            uvicorn.Server(config).run(sockets=[listener])
        else:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[listener]).run()


def _leave(_number: int, _frame: Any) -> None:
    sys.exit(0)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_names(host: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What a server may be called that listens there."""
    if is_loopback(host):
        return (*LOOPBACK_NAMES, *names)
    return (*LOOPBACK_NAMES, ANY_ADDRESS, host, socket.gethostname(), *names)


def worker_app(settings: Settings) -> _StoppingServer:
    """The application of one process."""
    _show_log()
    return _StoppingServer(
        create_app(
            opened_store(settings.store, **settings.bounds),
            tokens=TokenFolder(settings.tokens),
            hosts=host_names(settings.host, settings.names),
            rate=settings.rate,
            max_body=settings.max_body,
            max_streams=settings.max_streams,
            sessions=True,
            pages=settings.pages,
            secret=settings.secret,
            close=True,
        )
    )


def _show_log() -> None:
    """On stderr: what becomes of conversations, and all warnings. Each process has its own."""
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(format=form, level=logging.WARNING, force=True)
    logging.getLogger("cortext").setLevel(logging.INFO)


class _StoppingServer:
    """The service, whose streams end as soon as its process is asked to end: uvicorn waits for
    every answer, and a stream is one that has no end."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._end_on(number)
        await self._service(scope, receive, send)

    def _end_on(self, number: signal.Signals) -> None:
        before = signal.getsignal(number)

        def end(signum: int, frame: Any) -> None:
            self._service.end_streams()
            if callable(before):
                before(signum, frame)

        signal.signal(number, end)


def _config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        partial(worker_app, settings),
        factory=True,
        workers=settings.workers,
        access_log=False,
        log_config=None,
        http=Connection,
        # The address of a client is that of its connection, whatever its headers say.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
        timeout_keep_alive=_KEEP_ALIVE,
        ws="none",
    )


def _check_store(settings: Settings) -> None:
    """Whether there is such a store, before anybody is told an address."""
    if settings.workers > 1 and settings.store.startswith("memory:"):
        raise CortextError(
            "with memory: each of several workers would have conversations of its own",
            hint="one worker, or a store that they share: --store file:PATH or redis://…",
        )
    opened_store(settings.store, **settings.bounds)


def _check_tokens(settings: Settings) -> None:
    """Here a token is made at the first start. On an address that others reach nothing is made in
    silence: who opens it to them has to know the token."""
    if is_loopback(settings.host):
        local_token(settings.tokens)
    elif not os.path.isdir(settings.tokens) or not read_tokens(settings.tokens):
        raise CortextError(
            f"{settings.host} can be reached from elsewhere, and there is no token yet",
            hint="make one first: `cortext serve --new-token NAME`",
        )


def _secret(folder: str) -> str:
    """What the cookies of the pages are made with: the same after a restart, and where the same
    tokens are; without a token of the person's it lasts as long as the server."""
    owners = {owner: token for token, owner in read_tokens(folder).items()}
    return owners.get("") or secrets.token_urlsafe(32)


def page_link(folder: str, address: str) -> str:
    """Where the person of this machine opens the pages, with the token; "" if there is none."""
    owners = {owner: token for token, owner in read_tokens(folder).items()}
    return f"{address}/?{PARAMETER}={owners['']}" if "" in owners else ""


def _listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CortextError(f"cannot listen on {host}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Who is told the address can ask at once.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CortextError(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0).lower()}",
            hint="`--port 0` takes any port that is free",
        ) from None
    listener.set_inheritable(True)
    return listener
