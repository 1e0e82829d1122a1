"""Warnings of the library, as a person sees them: on one line each, and nothing in them moves the
cursor, since they name files that others made."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from cortext.cli.text import clean

_FORMAT = "warning: %(message)s"
_MISSED = ("passed over", "could not read")


class _Clean(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record), lines=record.exc_info is not None)


CLEAN = _Clean()


def configure() -> None:
    """Let them reach the person; whoever has said otherwise before is left with that."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Clean(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


class _Missed(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if any(word in text for word in _MISSED):
            self.said.append(text)


@contextmanager
def missed() -> Generator[list[str]]:
    """What the library says meanwhile that it has passed over; it is shown as well."""
    configure()
    handler, log = _Missed(), logging.getLogger("cortext")
    log.addHandler(handler)
    try:
        yield handler.said
    finally:
        log.removeHandler(handler)
