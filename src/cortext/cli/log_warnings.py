"""Print log warnings for the user: one line each, without terminal control codes."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy

from cortext.cli.terminal_text import clean
from cortext.errors import file_and_reason

_FORMAT = "warning: %(message)s"
_SKIP_PHRASES = ("passed over", "skipped", "could not read")


class CleanFormatter(logging.Formatter):
    """A log formatter whose lines contain no terminal control codes.

    Every record is one line, unless it has a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record.args, tuple) and any(isinstance(a, OSError) for a in record.args):
            record = copy(record)
            record.args = tuple(map(_explain_os_error, record.args or ()))
        return clean(super().format(record), lines=record.exc_info is not None)


def _explain_os_error(value: object) -> object:
    """Return an OSError as text with its path and reason; return any other value unchanged."""
    return file_and_reason(value) if isinstance(value, OSError) else value


def show_warnings() -> None:
    """Print log warnings on stderr, unless the program has already configured logging."""
    handler = logging.StreamHandler()
    handler.setFormatter(CleanFormatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


class _SkippedFiles(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if any(word in text for word in _SKIP_PHRASES):
            self.messages.append(text)


@contextmanager
def missed() -> Generator[list[str]]:
    """Collect the log warnings about skipped files while the `with` block runs.

    Yield the list to which the warnings are added. They are also printed as usual.
    """
    handler, log = _SkippedFiles(), logging.getLogger("cortext")
    log.addHandler(handler)
    try:
        yield handler.messages
    finally:
        log.removeHandler(handler)
