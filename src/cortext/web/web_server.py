"""The server of `cortext web`. Only this machine can connect to the server."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from cortext.errors import CortextError
from cortext.service.http.owned_store import EveryOwner
from cortext.service.stores.base import Conversations
from cortext.web.error_pages import odd
from cortext.web.live_updates import ShutdownFlag
from cortext.web.local_access import LOOPBACK, LocalAccess
from cortext.web.page_access import PARAMETER
from cortext.web.router import pages_router

PORT = 8642
"""The default port. It is fixed, so that an open page still works after a restart."""

Tell = Callable[[str, str], None]
"""A callback that gets two links to the pages: a permanent link and a one-time link.

The permanent link is printed, and is valid as long as the server runs. The one-time link is for the
arguments of a browser process, which other users of this machine can see.
"""


def serve(port: int | None, tell: Tell, store: Conversations | None = None) -> None:
    """Run the server of the web pages until a signal stops it.

    CortextError is raised if the server cannot listen on the port.

    Args:
        port: The port; 0 means any free port. None means `PORT`, or any free port if `PORT` is in
            use.
        tell: A callback that shows the links to the user. It is called as soon as a browser can
            connect.
        store: A store whose conversations are shown in addition to those of this machine. It is
            closed at the end.
    """
    ending = ShutdownFlag()
    with _listen(port) as listener:
        # Listen before `tell` reports the link, so that a browser can connect at once.
        listener.listen()
        number = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        door = LocalAccess(pages_app(ending, store), port=number, token=token)
        first = "" if store is None else "kept"
        link = f"http://{LOOPBACK}:{number}/{first}?{PARAMETER}="
        config = uvicorn.Config(
            door,  # pyright: ignore[reportArgumentType]  litestar and uvicorn each type ASGI
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=3,
        )
        server = _Server(config, ending)
        with server.ending_on_interrupt():
            tell(link + token, link + door.ticket())
            server.run(sockets=[listener])


def pages_app(ending: ShutdownFlag | None = None, store: Conversations | None = None) -> Litestar:
    """Return the litestar application of the web pages, without the access checks of `LocalAccess`.

    The application closes `store` when the server stops.
    """
    stores = {} if store is None else {"owned": EveryOwner(store)}
    return Litestar(
        [pages_router(ending, machine=True, serving=store is not None)],
        state=State({"has_machine": True, **stores}),
        on_shutdown=[] if store is None else [store.aclose],
        exception_handlers={HTTPException: odd, Exception: odd},
        openapi_config=None,
        logging_config=None,
    )


class _Server(uvicorn.Server):
    """A uvicorn server that ends all open event streams when it stops.

    Without this, uvicorn would wait for the event streams.
    """

    def __init__(self, config: uvicorn.Config, ending: ShutdownFlag) -> None:
        super().__init__(config)
        self._ending = ending
        self._is_interrupted = False

    @contextmanager
    def ending_on_interrupt(self) -> Generator[None]:
        """Return a context manager in which Ctrl+C stops the server, even before the server runs.

        After Ctrl+C, KeyboardInterrupt is raised at the end of the context. The signal handler
        cannot raise it, because an exception in a signal handler may be lost.
        """
        before = signal.signal(signal.SIGINT, self.handle_exit)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self._is_interrupted:
            raise KeyboardInterrupt

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._is_interrupted = self._is_interrupted or sig == signal.SIGINT
        self._ending.is_near = True
        super().handle_exit(sig, frame)


def _listen(port: int | None) -> socket.socket:
    reason = ""
    for number in (PORT, 0) if port is None else (port,):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, number))
            return listener
        except OSError as error:
            listener.close()
            reason = os.strerror(error.errno or 0).lower()
    raise CortextError(
        f"cannot listen on {LOOPBACK}:{port}: {reason}",
        hint="`--port 0` uses any free port",
    )
