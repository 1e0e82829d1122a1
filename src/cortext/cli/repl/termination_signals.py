"""Handle SIGTERM and SIGHUP in the REPL: end a turn at once, but wait until a save is complete."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndSignal(BaseException):
    """Raised when a signal ends the REPL. `number` is the number of the signal.

    It is not a subclass of Exception, so that no `except Exception` stops it.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class Signals:
    """A context manager that raises `EndSignal` on the first SIGTERM or SIGHUP.

    If `tell` is set, it is called with the `EndSignal` instead, and nothing is raised. The editable
    prompt sets `tell`, because a signal handler must not raise while the prompt's own event loop
    runs. `ended` is the `EndSignal` after a signal, and None before.
    """

    def __init__(self) -> None:
        self.tell: Callable[[EndSignal], None] | None = None
        self._previous_handlers: dict[int, Any] = {}
        self._is_held = False
        self._delayed: BaseException | None = None
        self.ended: EndSignal | None = None

    def __enter__(self) -> Self:
        for number in _END_SIGNALS:
            # Keep ignoring a signal that the parent ignores on purpose, such as SIGHUP with nohup.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous_handlers[number] = signal.signal(number, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self.ended is None:
            self.ended = EndSignal(number)
            self._raise(self.ended)

    def _raise(self, error: BaseException) -> None:
        if self._is_held:
            # A signal that ends the program comes only once, so Ctrl+C must not hide it.
            if self._delayed is None or isinstance(error, EndSignal):
                self._delayed = error
        elif self.tell is not None and isinstance(error, EndSignal):
            self.tell(error)
        else:
            raise error

    @contextmanager
    def hold(self, *, interrupts: bool = True) -> Generator[None]:
        """Delay SIGTERM, SIGHUP and Ctrl+C until the end of the `with` block.

        If a signal arrived during the block, raise its exception at the end of the block. With
        `interrupts=False`, ignore Ctrl+C during the block. Use `interrupts=False` for the last step
        of a task, because Ctrl+C after that step has nothing to interrupt.
        """

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._raise(KeyboardInterrupt())

        self._is_held = True
        previous = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
            self._is_held = False
            delayed, self._delayed = self._delayed, None
            if isinstance(delayed, EndSignal):
                raise delayed  # even after another error, because a signal is raised only once
        if delayed is not None and interrupts:
            raise delayed
