"""The HTTP connections of the synchronous client, with a time-out for each call.

The time-out of a socket limits only a single read. A server that sends one byte at a time could
therefore block a call forever. So each connect, read and write gets the remaining time of the call
as its time-out.
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
    # Each event subscription uses one connection all the time. Other calls must not wait for it.
    max_connections=None,
    max_keepalive_connections=None,
    # This is shorter than the keep-alive of servers (uvicorn: 5 s), so that the client does not use
    # a connection that the server is about to close.
    keepalive_expiry=3.0,
)


def tls_of(url: str) -> ssl.SSLContext:
    """Return the TLS settings for connections to a server.

    For an `http://` URL, no certificates are loaded, because loading them takes longer than a call.
    """
    if url.startswith("https"):
        return httpx.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Transport(httpx.HTTPTransport):
    """The httpx transport of the synchronous client, with a time-out for the whole call.

    `close` closes all connections, also those that a call is using. The transport can be used again
    afterwards.
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
    """The part of the transport that opens connections, and can close all of them.

    The connection pool of httpcore cannot close a connection that is still being opened.
    """

    def __init__(self) -> None:
        self._sync_backend = httpcore.SyncBackend()
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
        """Open a TCP connection.

        If `host` has several addresses, they are tried one after the other, and share the time-out.
        """
        closings = self._closings
        addresses = _addresses(host, port)
        for number, address in enumerate(addresses):
            share = _time_left(timeout, httpcore.ConnectTimeout)
            share = None if share is None else share / (len(addresses) - number)
            try:
                stream = self._sync_backend.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses) - 1:
                    raise
            else:
                return self.keep(_Stream(stream, self, closings))
        raise httpcore.ConnectError(f"{host} has no address")

    def close(self) -> None:
        """Close every connection. A thread that is using a connection gets an error."""
        with self._lock:
            self._closings += 1
            streams = [*self._open]
        for each in streams:
            each.close()

    def keep(self, stream: _Stream) -> _Stream:
        """Remember a new connection, so that `close` can close it, and return the connection.

        If `close` was called while the connection was being opened, the connection is closed, and
        ConnectError is raised.
        """
        with self._lock:
            if stream.closings == self._closings:
                self._open.add(stream)
                return stream
        stream.close()
        raise httpcore.ConnectError("the client was closed in the meantime")

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
            return self._stream.read(max_bytes, _time_left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        try:
            with self._in_use:
                while rest:
                    self._socket.settimeout(_time_left(timeout, httpcore.WriteTimeout))
                    rest = rest[self._socket.send(rest) :]
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._backend.forget(self)
        # The shutdown wakes a thread that reads from this socket. Close the socket only after that
        # thread has stopped reading. Otherwise the thread could read from a new socket that has the
        # same file descriptor.
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
        seconds = _time_left(timeout, httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, seconds)
        self._backend.forget(self)
        return self._backend.keep(_Stream(stream, self._backend, self.closings))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _time_left(timeout: float | None, error_type: type[Exception]) -> float | None:
    seconds = left(timeout)
    if seconds is not None and seconds <= 0:
        raise error_type("timed out")
    return seconds


def _addresses(host: str, port: int) -> list[str]:
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(each[4][0]) for each in results))
