"""Handling of SIGTERM and SIGHUP in the REPL: at once during a turn, but never during a save."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """The exception for a signal that ends the process; `number` is the signal.

    It is not a subclass of Exception, so that no `except Exception` stops it.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class Signals:
    """A context manager that raises `Ended` on the first SIGTERM or SIGHUP.

    An editable prompt has its own event loop, in which a signal handler must not raise. Such a
    prompt sets `tell`, which gets the `Ended` and must raise it in that loop.
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
        """Delay SIGTERM, SIGHUP and Ctrl+C during the block, and raise them at its end.

        With `interrupts=False` a Ctrl+C is dropped instead, because the block completes the work
        that it would stop.
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
