"""Save a session periodically: in a task if an event loop runs, otherwise in a daemon thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cortext.workspace.running_loop import running_loop


class AutoSaveThread(threading.Thread):
    """A thread that calls `save` every `interval` seconds.

    The thread ends after `cancel`, or when `save` returns False.
    """

    def __init__(self, interval: float, save: Callable[[], bool]) -> None:
        super().__init__(name="cortext-auto-save", daemon=True)
        self._interval = min(interval, threading.TIMEOUT_MAX)
        self._save = save
        self._stop_asked = threading.Event()

    def run(self) -> None:
        while not self._stop_asked.wait(self._interval):
            if not self._save():
                return

    def cancel(self) -> None:
        self._stop_asked.set()


def start_auto_save(
    interval: float, save: Callable[[], bool], on_end: Callable[[Any], None]
) -> Any:
    """Call `save` every `interval` seconds in the background, until `save` returns False.

    If an event loop runs in this thread, start a task, otherwise a thread. Return the task or the
    thread, which both have a `cancel()` method. Return None if `interval` is not positive.

    `on_end` is called with the task when the task ends for any reason. It is never called for a
    thread.
    """
    if interval <= 0:
        return None
    loop = running_loop()
    if loop is None:
        return start_thread(interval, save)
    task = loop.create_task(_save_in_loop(loop, interval, save))
    task.add_done_callback(on_end)
    return task


def start_thread(interval: float, save: Callable[[], bool]) -> AutoSaveThread:
    """Start a thread that calls `save` every `interval` seconds, and return the thread."""
    thread = AutoSaveThread(interval, save)
    thread.start()
    return thread


def stop_auto_save(task: Any) -> None:
    """Cancel the task or thread that `start_auto_save` returned.

    If the event loop of the task is closed, nothing happens, because the task has ended already.
    """
    with suppress(RuntimeError):
        task.cancel()


async def _save_in_loop(loop: Any, interval: float, save: Callable[[], bool]) -> None:
    sleep: Any = sys.modules["asyncio"].sleep
    while True:
        await sleep(interval)
        if not await loop.run_in_executor(None, save):
            return
