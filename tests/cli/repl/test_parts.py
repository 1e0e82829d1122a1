"""The parts of the REPL that need no terminal: blocks, completion, history, signals."""

import errno
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.cli.repl import prompt_history
from cortext.cli.repl.markdown_blocks import Blocks, rows
from cortext.cli.repl.prompt_input import complete, goes_on
from cortext.cli.repl.termination_signals import EndSignal, Signals
from cortext.durability.file_lock import FileLock

TEXT = "One\ntwo\n\n```sh\n\necho\n```\n\n1. a\n\n   b\n\n2. c\n\nlast\n"


def cut(text: str, size: int) -> list[str]:
    """The blocks of a text that comes in pieces of some size."""
    blocks, found = Blocks(), [""]
    for start in range(0, len(text), size):
        for part, ended in blocks.feed(text[start : start + size]):
            if ended:
                found.append("")
            found[-1] += part
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_split_text_at_markdown_boundaries_for_any_chunk_size(size: int) -> None:
    """A paragraph, a fence with a blank line in it, a loose list, however the text comes."""
    assert cut(TEXT, size) == [
        "One\ntwo\n\n",
        "```sh\n\necho\n```\n\n",
        "1. a\n\n   b\n\n2. c\n\n",
        "last\n",
    ]


def test_code_fence_closes_only_with_matching_fence() -> None:
    """Not by a shorter one, another character, or one with a word after it."""
    text = "````\n```\n~~~~\n```` x\n\n````\nafter\n"
    assert cut(text, 1000) == [text[: -len("after\n")], "after\n"]


@given(st.text(alphabet="a \n`~-1.", max_size=60), st.integers(1, 9))
def test_no_text_is_lost_in_blocks(text: str, size: int) -> None:
    """And pieces make no difference."""
    assert "".join(cut(text, size)) == text
    assert cut(text, size) == cut(text, 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n", 1),
        ("a\n", 1),
        ("a" * 10 + "\n", 1),
        ("a" * 11 + "\n", 2),
        ("a\n\n" + "b" * 25 + "\n", 5),
        ("漢" * 5 + "\n", 1),
        ("a" + "漢" * 5 + "\n", 2),
        ("a" * 9 + "漢\n", 2),
        ("e\u0301\n", None),
        ("\U0001f1e9\U0001f1ea\n", None),
    ],
)
def test_rows_counts_wrapped_lines_by_display_width(text: str, expected: int | None) -> None:
    """Ten columns wide."""
    assert rows(text, 10) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/he", ["/help"]),
        ("/s", ["/save", "/stats"]),
        ("/agent ", ["default", "qa-test"]),
        ("/agent q", ["qa-test"]),
        ("/save ", ["a file.md", "folder/"]),
        ("/save a f", ["a file.md"]),
        ("/import folder/", ["folder/inner.md"]),
        ("/import .", [".hidden"]),
        ("look at fol", ["folder/"]),
        ("look at\nfol", ["folder/"]),
        ("look ", []),
        ("nowhere/x", []),
        ("", []),
    ],
)
def test_complete_offers_commands_agents_and_visible_files(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    """Commands, agents, files; what is hidden only for who asks, what cannot be shown never."""
    (tmp_path / "folder").mkdir()
    for name in ("a file.md", "folder/inner.md", ".hidden", "bad\x1b[31m.md"):
        (tmp_path / name).touch()
    found = complete(
        text,
        commands=["/help", "/save", "/stats"],
        agents=lambda: ["qa-test", "default"],
        cwd=str(tmp_path),
    )
    assert [each for each, _ in found] == expected
    assert all(each.startswith(text[len(text) - size :]) for each, size in found)


@pytest.mark.parametrize(
    ("text", "expected"), [("a\\", True), ("a\\\\", False), ("\\\\\\", True), ("a", False)]
)
def test_goes_on_is_true_for_odd_trailing_backslashes(text: str, expected: bool) -> None:
    """By one backslash, not by two."""
    assert goes_on(text) is expected


@pytest.fixture
def aurora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "aurora"))
    return tmp_path / "aurora"


def test_history_returns_latest_first_and_skips_damaged_lines(aurora: Path) -> None:
    """Of any text; what cannot be read costs nothing but itself."""
    assert prompt_history.latest() == []
    for text in ("one", "two\nlines", "\ud800 half", "漢"):
        prompt_history.add(text)
    with open(prompt_history.history_file(), "ab") as file:
        file.write(b'{"no": "text"}\nbroken\n')
    prompt_history.add("last")
    assert prompt_history.latest() == ["last", "漢", "\ud800 half", "two\nlines", "one"]
    assert os.stat(prompt_history.history_file()).st_mode & 0o777 == 0o600


def test_history_file_stays_below_size_limit(aurora: Path) -> None:
    """It keeps its last part, whole lines of it; a large paste is not in it."""
    for number in range(300):
        prompt_history.add(f"{number} {'x' * 19_000}")
    prompt_history.add("y" * 100_000)
    assert os.path.getsize(prompt_history.history_file()) <= 5 << 20
    found = prompt_history.latest()
    assert found[0].startswith("299 ")
    assert len(found) > 50


def test_history_logs_write_failure_without_raising(aurora: Path, data_home: Path) -> None:
    """Nothing is raised: the message is on its way; the log has the reason."""
    (aurora / "spawn/history").mkdir(parents=True)
    prompt_history.add("one")
    assert prompt_history.latest() == []
    assert "history" in (data_home / "cortext/errors.log").read_text(encoding="utf-8")


def test_history_survives_full_disk_while_trimming(
    aurora: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is made shorter it stays as it is, until the shorter one is there."""
    for number in range(20):
        prompt_history.add(f"{number}")
    monkeypatch.setattr(prompt_history, "_MOST_BYTES", 50)
    monkeypatch.setattr(prompt_history, "_KEPT_BYTES", 20)

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        prompt_history.add("lost")
    assert prompt_history.latest()[-1] == "0"
    prompt_history.add("20")
    assert prompt_history.latest() == ["20", "19", "18", "17"]


def test_history_skips_and_logs_entry_when_lock_is_held(
    aurora: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not get his turn says so in the log, and waits no longer."""
    prompt_history.add("one")
    monkeypatch.setattr(prompt_history, "_LOCK_TIMEOUT", 0)
    with FileLock(f"{prompt_history.history_file()}.lock"):
        prompt_history.add("two")
    prompt_history.add("three")
    assert prompt_history.latest() == ["three", "one"]
    assert "history" in (data_home / "cortext/errors.log").read_text(encoding="utf-8")


def test_history_never_blocks_on_named_pipe(aurora: Path, data_home: Path) -> None:
    """Nobody waits for its other end, whether somebody has it open or not."""
    (aurora / "spawn").mkdir(parents=True)
    os.mkfifo(prompt_history.history_file())
    prompt_history.add("one")
    other = os.open(prompt_history.history_file(), os.O_RDONLY | os.O_NONBLOCK)
    prompt_history.add("two")
    assert os.read(other, 100) == b""
    os.close(other)
    assert prompt_history.latest() == []


def save(signals: Signals, number: int) -> None:
    with signals.hold():
        os.kill(os.getpid(), number)
        saved.append(number)


saved: list[int] = []


def test_signals_are_delayed_until_save_ends() -> None:
    """Both kinds; afterwards they come, once, and the handlers are as they were."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Signals() as signals:
        with pytest.raises(EndSignal):
            save(signals, signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            save(signals, signal.SIGINT)
        save(signals, signal.SIGTERM)
    assert saved == [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_hold_ignores_late_interrupt_but_raises_on_sigterm() -> None:
    """It is passed over; being told to end is not, even by what fails meanwhile."""
    with Signals() as signals:
        with signals.hold(interrupts=False):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(EndSignal):
            fail(signals)


def fail(signals: Signals) -> None:
    with signals.hold(interrupts=False):
        os.kill(os.getpid(), signal.SIGTERM)
        raise ValueError("it failed")
