"""Signals that arrive while the REPL saves."""

import os
import signal

import pytest

from cortext.cli.repl.termination_signals import EndSignal, Signals


def receive(*numbers: int, interrupts: bool = True) -> None:
    """Receive signals during a step that must not be interrupted."""
    with Signals() as signals, signals.hold(interrupts=interrupts):
        for number in numbers:
            os.kill(os.getpid(), number)


@pytest.mark.parametrize("interrupts", [True, False])
@pytest.mark.parametrize(
    "numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)]
)
def test_interrupt_does_not_hide_end_signal(numbers: tuple[int, ...], interrupts: bool) -> None:
    with pytest.raises(EndSignal):
        receive(*numbers, interrupts=interrupts)


def test_interrupt_alone_is_raised_after_the_step() -> None:
    with pytest.raises(KeyboardInterrupt):
        receive(signal.SIGINT)
