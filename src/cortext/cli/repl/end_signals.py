"""Signals that end the process: handled at the prompt and during a turn, delayed during a save."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asked the process to end.

    This is not an Exception, so no `except Exception` stops it.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class Signals:
    """Handlers that turn the first SIGTERM or SIGHUP into `Ended`.

    A prompt with its own event loop sets `tell`. `tell` then gets the `Ended` and must raise it
    there.
    """

    def __init__(self) -> None:
        self.tell: Callable[[Ended], None] | None = None
        self._before: dict[int, Any] = {}
        self._held = False
        self._came: BaseException | None = None
        self.ended: Ended | None = None

    def __enter__(self) -> Self:
        for number in _ENDING:
            # nohup ignores SIGHUP on purpose.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self.ended is None:
            self.ended = Ended(number)
            self._raise(self.ended)

    def _raise(self, error: BaseException) -> None:
        if self._held:
            self._came = self._came or error
        elif self.tell is not None and isinstance(error, Ended):
            self.tell(error)
        else:
            raise error

    @contextmanager
    def hold(self, *, interrupts: bool = True) -> Generator[None]:
        """Delay signals and Ctrl+C until the end of the block, and raise them there.

        With `interrupts=False` a Ctrl+C during the block is ignored, because the work that it would
        stop is done.
        """

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._raise(KeyboardInterrupt())

        self._held = True
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._held = False
            came, self._came = self._came, None
            if isinstance(came, Ended):
                raise came  # also after an error, because a signal is raised only once
        if came is not None and interrupts:
            raise came
