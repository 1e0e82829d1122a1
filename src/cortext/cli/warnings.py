"""Warnings of the library as the user sees them: one line each, without terminal control codes."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy

from cortext.cli.terminal_text import clean
from cortext.errors import where_and_why

_FORMAT = "warning: %(message)s"
_MISSED = ("passed over", "could not read")


class CleanFormatter(logging.Formatter):
    """A log formatter whose lines contain no terminal control codes.

    Every record is one line, unless it has a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record.args, tuple) and any(isinstance(a, OSError) for a in record.args):
            record = copy(record)
            record.args = tuple(map(_in_words, record.args or ()))
        return clean(super().format(record), lines=record.exc_info is not None)


def _in_words(value: object) -> object:
    """Return an OSError as text with its path and reason; return any other value unchanged."""
    return where_and_why(value) if isinstance(value, OSError) else value


def show_warnings() -> None:
    """Print log warnings on stderr, unless the program has already configured logging."""
    handler = logging.StreamHandler()
    handler.setFormatter(CleanFormatter(_FORMAT))
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
    """Collect the log warnings about files that the library skipped, while the block runs.

    The yielded list grows with each warning. The warnings are printed as usual.
    """
    handler, log = _Missed(), logging.getLogger("cortext")
    log.addHandler(handler)
    try:
        yield handler.said
    finally:
        log.removeHandler(handler)
