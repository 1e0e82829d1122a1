"""The connections of the synchronous client. No call takes longer than its time-out.

The time-out of a socket limits only a single read, so a server that sends a byte now and then could
block a call forever. Therefore each connect, read and write gets the time that remains of the call.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from cortext.client.deadlines import left

LIMITS = httpx.Limits(
    # Each follower of a conversation uses one connection. Other calls must not wait for them.
    max_connections=None,
    max_keepalive_connections=None,
    # Shorter than the keep-alive of servers (uvicorn: 5 s), so that no connection is used while the
    # server closes it.
    keepalive_expiry=3.0,
)


def tls_of(url: str) -> ssl.SSLContext:
    """Return the TLS settings for the URL of a server.

    For `http://`, no certificates are loaded, because loading them takes longer than a call.
    """
    if url.startswith("https"):
        return httpx.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Transport(httpx.HTTPTransport):
    """The transport of the synchronous httpx client, with a time limit for the whole call.

    `close` closes all connections, also those in use. The transport can be used again afterwards.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(verify=tls, trust_env=False, limits=LIMITS)
        self._backend = _Backend()
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls,
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=LIMITS.keepalive_expiry,
            network_backend=self._backend,
        )

    def close(self) -> None:
        super().close()
        self._backend.close()


class _Backend(httpcore.NetworkBackend):
    """The part of the transport that opens connections. It remembers them, to close them later.

    httpcore's pool does not close connections that are still being opened.
    """

    def __init__(self) -> None:
        self._plain = httpcore.SyncBackend()
        self._lock = threading.Lock()
        self._open: set[_Stream] = set()
        self._closings = 0

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Open a TCP connection. If `host` has several addresses, each gets a share of the time."""
        closings = self._closings
        addresses = _addresses(host, port)
        for number, address in enumerate(addresses):
            share = _left(timeout, httpcore.ConnectTimeout)
            share = None if share is None else share / (len(addresses) - number)
            try:
                made = self._plain.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses) - 1:
                    raise
            else:
                return self.keep(_Stream(made, self, closings))
        raise httpcore.ConnectError(f"{host} has no address")

    def close(self) -> None:
        """Close every connection. A thread that uses a connection gets an error."""
        with self._lock:
            self._closings += 1
            found = [*self._open]
        for each in found:
            each.close()

    def keep(self, stream: _Stream) -> _Stream:
        """Remember an open connection, and return it.

        If `close` was called since the connection was begun, close it and raise ConnectError.
        """
        with self._lock:
            if stream.closings == self._closings:
                self._open.add(stream)
                return stream
        stream.close()
        raise httpcore.ConnectError("the client was closed meanwhile")

    def forget(self, stream: _Stream) -> None:
        with self._lock:
            self._open.discard(stream)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend, closings: int) -> None:
        self.closings = closings
        self._stream = stream
        self._backend = backend
        self._socket: socket.socket = stream.get_extra_info("socket")
        self._in_use = threading.Lock()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._in_use:
            return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        try:
            with self._in_use:
                while rest:
                    self._socket.settimeout(_left(timeout, httpcore.WriteTimeout))
                    rest = rest[self._socket.send(rest) :]
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._backend.forget(self)
        # The shutdown wakes a thread that reads from this socket. The socket is closed only after
        # that thread has stopped: otherwise the thread could read from a new socket with the same
        # number.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with self._in_use:
            self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        rest = _left(timeout, httpcore.ConnectTimeout)
        made = self._stream.start_tls(ssl_context, server_hostname, rest)
        self._backend.forget(self)
        return self._backend.keep(_Stream(made, self._backend, self.closings))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, late: type[Exception]) -> float | None:
    rest = left(timeout)
    if rest is not None and rest <= 0:
        raise late("timed out")
    return rest


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))
