"""A wire between a client and a server that can be cut."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class Wire:
    """A TCP proxy on loopback. `cut` breaks every connection; while `is_down`, new ones too."""

    def __init__(self, port: int) -> None:
        self.is_down = False
        self.connections = 0
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.is_down:
                here.close()
                continue
            there = socket.create_connection(("127.0.0.1", self._server_port))
            self._open += [here, there]
            for pair in ((here, there), (there, here)):
                self._threads.append(threading.Thread(target=_pass_on, args=pair, daemon=True))
                self._threads[-1].start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
