"""The server process of the HTTP service, with one or several worker processes.

On SIGTERM or SIGINT the server accepts no new connections, ends the event streams, finishes the
requests in progress, and closes the store. It does not wait for clients that do not read their
responses.
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
from cortext.service.http.access_tokens import TokenFolder, local_token, read_tokens
from cortext.service.http.application import Service, create_app
from cortext.service.http.rate_limits import MAX_BODY, MAX_STREAMS
from cortext.service.http.request_guard import ANY_ADDRESS, LOOPBACK_NAMES
from cortext.service.http.service_store_opener import open_store_at
from cortext.service.http.stalled_connections import Connection
from cortext.web.page_access import PARAMETER

_SHUTDOWN_TIMEOUT = 30
"""Seconds that requests in progress may take to finish when the server stops."""
_KEEP_ALIVE = 75


class Settings(NamedTuple):
    """The settings of the HTTP server, as `cortext serve` passes them.

    - `store`: the URL of the store
    - `tokens`: the path of the folder with the access tokens
    - `port`: the port; 0 means any free port
    - `bounds`: the options `window`, `ttl` and `max_conversations` of the store; a missing option
      has the default of the store
    - `names`: additional host names of the server
    - `secret`: the secret from which all worker processes derive the cookies of the web pages
    """

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
    """Run the HTTP server until a signal stops it.

    `tell` is called with the URL of the server before the first request is served. CortextError is
    raised if the store, the tokens or the address cannot be used.
    """
    _check_store(settings)
    _check_tokens(settings)
    if settings.pages:
        settings = settings._replace(secret=_cookie_secret(settings.tokens))
    with _open_listener(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        config = _config(settings)
        tell(f"http://{host}:{port}")
        # uvicorn raises the signal again after its shutdown. Exit with status 0 in this case.
        signal.signal(signal.SIGTERM, _exit)
        if settings.workers == 1:
            uvicorn.Server(config).run(sockets=[listener])
        else:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[listener]).run()


def _exit(_number: int, _frame: Any) -> None:
    sys.exit(0)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_names(host: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the host names under which clients may call a server that listens on `host`.

    The result always contains the loopback names, and the additional `names` that the user allows.
    """
    if is_loopback(host):
        return (*LOOPBACK_NAMES, *names)
    return (*LOOPBACK_NAMES, ANY_ADDRESS, host, socket.gethostname(), *names)


def worker_app(settings: Settings) -> _StoppingServer:
    """Open the store, and return the ASGI application for one worker process."""
    _configure_log()
    return _StoppingServer(
        create_app(
            open_store_at(settings.store, **settings.bounds),
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


def _configure_log() -> None:
    """Log to stderr: cortext from level INFO, everything else from level WARNING."""
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(format=form, level=logging.WARNING, force=True)
    logging.getLogger("cortext").setLevel(logging.INFO)


class _StoppingServer:
    """The HTTP service, which ends its event streams when the process gets a stop signal.

    Without this, uvicorn would wait for the event streams, which never end by themselves.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._end_on(number)
        await self._service(scope, receive, send)

    def _end_on(self, number: signal.Signals) -> None:
        previous = signal.getsignal(number)

        def end(signum: int, frame: Any) -> None:
            self._service.end_streams()
            if callable(previous):
                previous(signum, frame)

        signal.signal(number, end)


def _config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        partial(worker_app, settings),
        factory=True,
        workers=settings.workers,
        access_log=False,
        log_config=None,
        http=Connection,
        # Use the address of the connection, and ignore forwarding headers: a client can fake them.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
        timeout_keep_alive=_KEEP_ALIVE,
        ws="none",
    )


def _check_store(settings: Settings) -> None:
    """Raise CortextError if the store cannot be opened, or if several workers cannot share it."""
    if settings.workers > 1 and settings.store.startswith("memory:"):
        raise CortextError(
            "several workers cannot share the store memory:",
            hint="use one worker, or a shared store: --store file:PATH or --store redis://…",
        )
    open_store_at(settings.store, **settings.bounds)


def _check_tokens(settings: Settings) -> None:
    """Make sure that there is a token for the server.

    If only this machine can reach the server, create the token `local` unless it exists. If other
    machines can reach the server, raise CortextError if there is no token at all.
    """
    if is_loopback(settings.host):
        local_token(settings.tokens)
    elif not os.path.isdir(settings.tokens) or not read_tokens(settings.tokens):
        raise CortextError(
            f"other machines can reach {settings.host}, but there is no token yet",
            hint="make a token first: `cortext serve --new-token NAME`",
        )


def _cookie_secret(folder: str) -> str:
    """Return the secret from which the cookies of browsers are derived.

    The secret is the token `local` in `folder`, the folder of access tokens. The cookies then stay
    valid after a restart, and are also valid on other servers with the same folder.

    If there is no token `local`, the secret is a random text. The cookies are then valid until the
    server stops.
    """
    owners = {owner: token for token, owner in read_tokens(folder).items()}
    return owners.get("") or secrets.token_urlsafe(32)


def page_link(folder: str, address: str) -> str:
    """Return the URL with which the user of this machine opens the web pages.

    The URL contains the token `local`. If the token does not exist, return "". `folder` is the path
    of the token folder, and `address` is the URL of the server.
    """
    owners = {owner: token for token, owner in read_tokens(folder).items()}
    return f"{address}/?{PARAMETER}={owners['']}" if "" in owners else ""


def _open_listener(host: str, port: int) -> socket.socket:
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
        # Listen before `tell` reports the address, so that clients can connect at once.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CortextError(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0).lower()}",
            hint="`--port 0` uses any free port",
        ) from None
    listener.set_inheritable(True)
    return listener
