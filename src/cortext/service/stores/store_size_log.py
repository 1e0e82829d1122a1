"""The log of a store's usage: the number of its conversations, and their size."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct

from cortext.errors import CortextError
from cortext.service.stores.delayed_task import Alarm

log: logging.Logger = logging.getLogger("cortext.conversations")

LARGE = 100_000_000
"""The size of all conversations, in bytes, above which a warning is logged."""
MEASURE_EVERY = 60.0
"""Seconds from a change of the store to the next measurement."""
MEASURE_WITHIN = 1.0
"""Seconds after which the first measurement is given up, because a caller waits for it."""


class StoreUsage(Struct, frozen=True):
    """The number of conversations, and an estimate of their size in bytes."""

    count: int
    size: float


class UsageLog:
    """Logs the usage of a store each time the number of conversations changes.

    For a store in memory, each log entry is a warning while the size is above 100 MB. A store on
    disk is expected to grow, so there is one warning at 100 MB, and another each time the size has
    doubled.
    """

    def __init__(self, medium: Literal["of memory", "on disk"]) -> None:
        self._medium = medium
        self.warned_at: float = 0.0
        """The size in bytes at the last warning; 0 while the size is below about 100 MB."""

    def count_changed(self, count: int, size: float) -> None:
        has_grown = self._has_become_large(size)
        is_warning = has_grown or (size > LARGE and self._medium == "of memory")
        self._log_usage(logging.WARNING if is_warning else logging.INFO, count, size)

    def size_changed(self, count: int, size: float) -> None:
        if self._has_become_large(size):
            self._log_usage(logging.WARNING, count, size)

    def _has_become_large(self, size: float) -> bool:
        if size < 0.9 * LARGE:  # well below, so that a size near the limit warns only once
            self.warned_at = 0.0
        elif size > LARGE and size >= 2 * self.warned_at:
            self.warned_at = size
            return True
        return False

    def _log_usage(self, level: int, count: int, size: float) -> None:
        if log.isEnabledFor(level):
            megabytes = size / 1_000_000
            noun = "conversation" if count == 1 else "conversations"
            log.log(level, "%d %s, about %.1f MB %s", count, noun, megabytes, self._medium)


class UsageMeter:
    """Measures and logs the usage of a store on disk or on a server.

    `measure` returns the number and the size of the conversations. Because `measure` is slow, it is
    called only after the first change of the number, and later in the background, at most once a
    minute. The caller that reports the first change waits for the result, but at most one second.

    Between two measurements, this process adds its own changes to the measured number. The size is
    estimated from the mean size of a conversation. A change during a measurement may be counted
    twice or not at all until the next measurement.
    """

    def __init__(self, usage_log: UsageLog, measure: Callable[[], Awaitable[StoreUsage]]) -> None:
        self._log = usage_log
        self._measure = measure
        self._count: int | None = None
        self._mean_size: float | None = None
        self._is_measured = False
        self._changes = 0
        self._measured_changes = 0
        """The value of `_changes` when the last measurement of `_measure_if_first` started."""
        self._lock = asyncio.Lock()
        self._has_failed = False
        self._alarm = Alarm(self._measure_again)

    async def count_changed(self, by: int) -> None:
        """Log the usage after `by` conversations were added, or removed if `by` is negative."""
        if not await self._measure_if_first() and self._count is not None:
            self._count = max(self._count + by, 0)
        self._log_count()

    async def set_count(self, count: int) -> None:
        """Log the usage after a change. `count` is the exact number of conversations."""
        await self._measure_if_first()
        self._count = count
        self._log_count()

    def size_changed(self) -> None:
        """Schedule a measurement, because a conversation has grown."""
        self._alarm.set(MEASURE_EVERY)

    def drop(self) -> None:
        """Cancel the timer and replace the lock, because the store now uses another event loop."""
        self._alarm.drop()
        self._lock = asyncio.Lock()

    async def aclose(self) -> None:
        await self._alarm.aclose()

    async def _measure_if_first(self) -> bool:
        """Make the first measurement of the store, or wait for it if it is running.

        Return True if the measurement ended during this call. The measured number then includes the
        change that the caller has just made. Return False if the first measurement ended earlier.
        """
        if self._is_measured:
            return False
        self._changes += 1
        change = self._changes
        async with self._lock:
            # If many changes come at once, the second measurement counts what the first missed.
            if self._measured_changes < change:
                self._measured_changes = self._changes
                await self._measure_first()
        self._is_measured = True
        return True

    async def _measure_first(self) -> None:
        try:
            self._set_measured(await asyncio.wait_for(self._measure(), MEASURE_WITHIN))
        except TimeoutError:
            self._log_failure("no answer in time")
        except CortextError as error:
            self._log_failure(str(error))

    async def _measure_again(self) -> None:
        try:
            usage = await self._measure()
        except CortextError as error:
            self._log_failure(str(error))
            return
        self._set_measured(usage)
        self._log.size_changed(usage.count, usage.size)

    def _set_measured(self, usage: StoreUsage) -> None:
        self._count = usage.count
        self._mean_size = usage.size / usage.count if usage.count else 0.0

    def _log_failure(self, why: str) -> None:
        """Log that a measurement failed: the first time as a warning, later at level DEBUG.

        No error is raised, because the change of the store itself has succeeded.
        """
        level = logging.DEBUG if self._has_failed else logging.WARNING
        log.log(level, "the size of the conversations is unknown: %s", why)
        self._has_failed = True

    def _log_count(self) -> None:
        self._alarm.set(MEASURE_EVERY)
        if self._count is None:
            return
        if self._mean_size is None:
            log.info("%d conversations", self._count)
        else:
            self._log.count_changed(self._count, self._count * self._mean_size)
