"""Being told to end: at the prompt, while an agent runs, and not in the middle of saving."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """The process was told to end by a signal. No error: nothing that catches those stops it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class Signals:
    """SIGTERM and SIGHUP become `Ended`, once; what waits in a loop of its own is told by `tell`
    instead, which sees to it that `Ended` is raised where it waits."""

    def __init__(self) -> None:
        self.tell: Callable[[Ended], None] | None = None
        self._before: dict[int, Any] = {}
        self._held = False
        self._came: BaseException | None = None
        self.ended: Ended | None = None

    def __enter__(self) -> Self:
        for number in _ENDING:
            # nohup has it ignored, and means it.
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
        """What comes meanwhile, Ctrl+C too, is raised at the end. Without `interrupts` a Ctrl+C is
        passed over: what it would have stopped is done then."""

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
                raise came  # even if the rest failed: it comes once
        if came is not None and interrupts:
            raise came
