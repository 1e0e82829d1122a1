"""Warnings of the library as a person sees them."""

import errno
import logging

from cortext.cli.log_warnings import CleanFormatter


def test_clean_formatter_prints_os_error_without_errno() -> None:
    """Whoever logs it: the file and the reason are told, and the record stays as it was."""
    error = OSError(errno.EMFILE, "Too many open files", "/work/a\x1b[2J.jsonl")
    record = logging.LogRecord("x", 30, "", 0, "%s cannot be read: %s", ("a", error), None)
    text = CleanFormatter().format(record)
    assert text == "a cannot be read: /work/a\ufffd[2J.jsonl: too many open files"
    assert record.args == ("a", error)
