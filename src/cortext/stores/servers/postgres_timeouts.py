"""A time-out for calls to a PostgreSQL server that does not answer."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from cortext.durability.file_lock import DEFAULT_WAIT
from cortext.stores.servers.server_calls import TIMEOUT

SILENCE = DEFAULT_WAIT + TIMEOUT / 2
"""Seconds without any data from the server after which a call fails.

This is longer than DEFAULT_WAIT, the time that the server itself waits for a lock. So the server
can first report that another writer has locked the session.
"""


def patient(psycopg: Any) -> Any:
    """Return a subclass of `psycopg.Connection` that fails if no data arrives for SILENCE seconds.

    A `psycopg.Connection` itself waits forever for a server that hangs.
    """

    class TimeoutConnection(psycopg.Connection):
        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            limited = self._limited(gen, time.monotonic() + SILENCE)
            return psycopg.Connection.wait(self, limited, *args, **options)

        def _limited(self, gen: Any, deadline: float) -> Generator[Any, Any, Any]:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if ready:
                        deadline = time.monotonic() + SILENCE
                    elif time.monotonic() >= deadline:
                        self.pgconn.finish()
                        raise psycopg.OperationalError("the server does not respond")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return TimeoutConnection
