"""Read the usage of all tools for the web page, in a thread, because it may take some seconds."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait

from cortext import paths
from cortext.features.usage.usage_overview import UsageSnapshot, take_snapshot

FRESH = 20.0
"""Seconds for which the usage that was read is used again."""
WAIT = 3.0
"""Seconds that a request waits for the usage. The thread continues after that."""


class UsageReading:
    """The usage of all tools. A thread reads it once for all viewers of the page.

    Several threads may use one object.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading: Future[UsageSnapshot] | None = None
        self._finished_at = 0.0
        self.unread: int = 0
        """The number of sessions that are still to be read; 0 if it is not known yet."""

    def snapshot(self) -> UsageSnapshot | None:
        """Return the usage. If it is not complete after `WAIT` seconds, return None.

        If the thread failed with an error, raise the error. The next call then starts a new thread.
        """
        reading = self._current()
        wait([reading], WAIT)
        if not reading.done():
            return None
        if reading.exception() is not None:
            with self._lock:
                if self._reading is reading:
                    self._reading = None
        return reading.result()

    def _current(self) -> Future[UsageSnapshot]:
        """Return the future of the thread that reads the usage. Start a new thread if necessary.

        A new thread is necessary if there was none yet, or if the last result is older than `FRESH`
        seconds.
        """
        with self._lock:
            reading = self._reading
            is_old = time.monotonic() > self._finished_at + FRESH
            if reading is None or (reading.done() and is_old):
                reading = self._reading = Future()
                self.unread = 0
                # A daemon thread does not delay the end of the server.
                threading.Thread(
                    target=self._read, args=(reading,), name="cortext-usage", daemon=True
                ).start()
            return reading

    def _read(self, reading: Future[UsageSnapshot]) -> None:
        try:
            snapshot = take_snapshot(paths.workspace_root(), self._count)
        except Exception as error:  # noqa: BLE001  the request that waits raises it
            reading.set_exception(error)
        else:
            self._finished_at = time.monotonic()
            reading.set_result(snapshot)

    def _count(self, number: int, total: int) -> None:
        self.unread = total - number
