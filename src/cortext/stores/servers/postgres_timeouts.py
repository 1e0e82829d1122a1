"""Connections to PostgreSQL that do not wait for ever."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from cortext.durability.file_lock import DEFAULT_WAIT
from cortext.stores.servers.server_access import TIMEOUT

SILENCE = DEFAULT_WAIT + TIMEOUT / 2
"""Seconds without a word of an answer, also none that somebody else has the session, after which a
server counts as gone."""


def patient(psycopg: Any) -> Any:
    """Connections that wait for an answer, and not for ever: psycopg's own would, for a server that
    stands still."""

    class Patient(psycopg.Connection):
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
                        raise psycopg.OperationalError("it says nothing")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Patient
