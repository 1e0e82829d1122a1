"""A real uvicorn server in a thread, for an application that a test made."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn


class Background:
    """Serves until `stop`; a port of 0 is any."""

    def __init__(self, app: Any, port: int = 0) -> None:
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(app, log_config=None, access_log=False, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._app = app

    def _run(self) -> None:
        self._server.run(sockets=[self.listener])

    def start(self) -> "Background":
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        end_streams = getattr(self._app, "end_streams", None)
        if end_streams:
            end_streams()
        self._server.should_exit = True
        self._thread.join(60)
        self.listener.close()
        assert not self._thread.is_alive()


@contextlib.contextmanager
def in_background(app: Any) -> Iterator[str]:
    """The address of the server."""
    server = Background(app).start()
    try:
        yield server.url
    finally:
        server.stop()
