"""A bar for somebody who waits."""

import io
import sys

import pytest

from cortext.cli.progress import ProgressBar


class Screen(io.StringIO):
    """What is written to a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_progress_bar_appears_after_one_second_and_is_cleared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing within a second; then how far it is, not too often; in the end nothing is left."""
    now = [0.0]
    screen = Screen()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", screen)
    bar = ProgressBar("reading")
    progress = bar.progress
    assert progress is not None
    for at, done in ((0.1, 1), (0.9, 2), (1.1, 3), (1.15, 4), (1.3, 5)):
        now[0] = at
        progress(done, 10)
    drawn = screen.getvalue().split("\r")[1:]
    assert [text.rpartition(" reading: ")[2] for text in drawn] == ["3 of 10", "5 of 10"]
    assert drawn[-1].startswith("█" * 15 + " ")
    bar.clear()
    assert screen.getvalue().split("\r")[-2:] == [" " * len(drawn[-1]), ""]


def test_progress_bar_prints_nothing_without_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no terminal nothing is told."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = ProgressBar("reading")
    assert bar.progress is None
    bar.begin("waiting")
    bar.clear()
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_progress_bar_begin_shows_text_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is counted; what comes after it covers all of it."""
    now = [0.0]
    screen = Screen()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", screen)
    bar = ProgressBar("read")
    words = "looking " * 9
    bar.begin(words)
    assert screen.getvalue() == f"\r{words}"
    now[0] = 2.0
    assert bar.progress is not None
    bar.progress(1, 2)
    assert len(screen.getvalue().split("\r")[-1]) == len(words)
    bar.clear()
    assert screen.getvalue().split("\r")[-2:] == [" " * len(words), ""]
