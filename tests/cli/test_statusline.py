"""`cortext statusline`: the line that it prints, whatever it is given."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cortext import clock, paths
from cortext.cli.command_group import cortext as group
from cortext.features.errors_log import last_errors
from cortext.features.usage.background_usage_refresh import refresh
from tests.features.usage.usage_transcripts import (
    SESSION_A,
    SESSION_B,
    claude_answer,
    claude_file,
    codex_file,
    codex_meta,
    codex_total,
    codex_turn,
    write_lines,
)

MILLION = 1_000_000
CONTEXT = {
    "context_window_size": 200_000,
    "used_percentage": 23,
    "current_usage": {
        "input_tokens": 1_000,
        "output_tokens": 99_999,
        "cache_read_input_tokens": 40_000,
        "cache_creation_input_tokens": 5_000,
    },
}
HOSTILE = [
    b"", b"\n", b"x", b"\xff\xfe\x00", b"[]", b'"text"', b"null", b"17", b"[" * 100_000,
    b'{"session_id": ' + b"9" * 10_000 + b"}", b'{"cost": {"total_cost_usd": 1e999}}',
]  # fmt: skip
STRANGE: list[Any] = [None, True, -1, 1e300, "\x1b[2J\n", ["x"], {"x": {}}, {"total_cost_usd": "1"}]


_real_now = clock.now


@pytest.fixture(autouse=True)
def calm_clock(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noon, in a zone where it is the same day, and no processes in the background."""
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 3, 10, 12, 0, tzinfo=UTC))
    monkeypatch.setenv("CI", "1")


def run(given: bytes | dict[str, Any]) -> Result:
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    return CliRunner().invoke(group, ["statusline"], input=data)


def line(**payload: Any) -> str:
    done = run(payload)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.endswith("\n")
    return done.stdout[:-1]


def test_line_has_session_today_block_and_context(empty_home: Path) -> None:
    """Sonnet 4.5 takes $15 for a million tokens of output."""
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-03-09T23:59:00Z", output=MILLION),
        claude_answer("m2", at="2026-03-10T08:59:00Z", output=MILLION),
        claude_answer("m3", at="2026-03-10T09:14:59Z", output=2 * MILLION),
    )  # fmt: skip
    claude_file(empty_home, SESSION_B, claude_answer("m4", at="2026-03-10T11:59:00Z", output=2000))
    refresh()
    expected = "today $45.03 | block $45.03, 1 h 00 min left"
    assert line(session_id=SESSION_A) == f"session $60.00 | {expected}"
    assert line(session_id="unknown") == line() == expected
    cost = {"total_cost_usd": 1.239}
    shown = line(session_id=SESSION_A, cost=cost, context_window=CONTEXT)
    assert shown == f"session $1.24 | {expected} | context 46.0 k (23%)"


def test_block_begins_after_the_end_of_the_block_before(empty_home: Path) -> None:
    """Answers without a pause since yesterday: blocks at 20:00, 01:00, 06:00 and 11:00."""
    times = [f"2026-03-09T{hour:02}:30:00Z" for hour in (20, 22)]
    times += [f"2026-03-10T{hour:02}:30:00Z" for hour in range(1, 12)]
    answers = [claude_answer(f"m{at}", at=at, output=100_000) for at in times]
    claude_file(empty_home, SESSION_A, *answers)
    refresh()
    assert line() == "today $16.50 | block $1.50, 4 h 00 min left"


def test_answer_in_two_transcripts_counts_once(empty_home: Path) -> None:
    answer = claude_answer("m1", at="2026-03-10T11:00:00Z", output=MILLION)
    os.utime(claude_file(empty_home, SESSION_A, answer), (1, 1))
    claude_file(empty_home, SESSION_B, answer)
    refresh()
    rest = "today $15.00 | block $15.00, 4 h 00 min left"
    assert line(session_id=SESSION_A) == f"session $15.00 | {rest}"
    assert line(session_id=SESSION_B) == rest


def test_all_tools_count_and_unknown_price_is_marked(empty_home: Path) -> None:
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-03-10T11:00:00Z", model="unknown-model-9", output=7),
    )  # fmt: skip
    total = codex_total(0, 0, MILLION, at="2026-03-10T11:00:00Z")
    codex_file(empty_home, "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e5f",
        codex_meta("019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e5f"), codex_turn(), total)  # fmt: skip
    refresh()
    expected = "session $0.00+ | today $10.00+ | block $10.00+, 4 h 00 min left"
    assert line(session_id=SESSION_A) == expected


def test_future_answer_hides_no_block(empty_home: Path) -> None:
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", at="2026-03-10T11:00:00Z", output=MILLION),
        claude_answer("m2", at="9999-12-31T23:59:59Z", output=MILLION),
        claude_answer("m3", at="yesterday", output=MILLION),
    )  # fmt: skip
    refresh()
    assert line() == "today $15.00 | block $15.00, 4 h 00 min left"


def test_line_without_block_if_the_last_answer_is_long_ago(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", at="2026-03-10T06:00:00Z", output=1))
    refresh()
    assert line() == "today $0.00"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"current_usage": CONTEXT["current_usage"]}, "context 46.0 k"),
        ({**CONTEXT, "used_percentage": None}, "context 46.0 k (23%)"),
        ({**CONTEXT, "context_window_size": 0, "used_percentage": 101}, "context 46.0 k"),
        ({"current_usage": None, "used_percentage": 0, "context_window_size": 9}, "context 0%"),
        ({"current_usage": {"input_tokens": 10}, "context_window_size": 1}, "context 10 (100%)"),
    ],
)
def test_context_has_what_is_known(context: dict[str, Any], expected: str) -> None:
    assert line(context_window=context) == expected


@pytest.mark.parametrize("given", HOSTILE, ids=range(len(HOSTILE)))
def test_bad_input_gives_a_short_line(given: bytes) -> None:
    done = run(given)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "no usage is recorded yet\n", "")
    is_object = given.startswith(b'{"cost"')
    assert is_object or "statusline" in last_errors()[-1]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_fields_of_another_type_are_left_out(value: Any) -> None:
    names = ("session_id", "transcript_path", "cwd", "model", "workspace", "cost", "context_window")
    for nested in (value, {"current_usage": value, "total_cost_usd": value}):
        payload = dict.fromkeys(names, nested) | {"context_window": {"current_usage": nested}}
        done = run(payload)
        assert done.exit_code == 0
        assert done.stdout.count("\n") == 1
        assert done.stdout[:-1].isprintable()
    assert last_errors() == []


@pytest.mark.parametrize("data", [b"", b"x" * 100_000, b"SQLite format 3\0" + b"\xff" * 8192])
def test_damaged_catalog_is_left_to_the_background(data: bytes, empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", at="2026-03-10T11:00:00Z", output=2000))
    refresh()
    Path(paths.catalog()).write_bytes(data)
    assert line(cost={"total_cost_usd": 2}) == "session $2.00"
    assert Path(paths.catalog()).read_bytes() == data
    refresh()
    assert line() == "today $0.03 | block $0.03, 4 h 00 min left"


def test_locked_catalog_delays_nothing(empty_home: Path) -> None:
    refresh()
    hold = (
        "import sqlite3,sys;d=sqlite3.connect(sys.argv[1]);d.execute('PRAGMA journal_mode=DELETE');"
    )
    hold += "d.execute('BEGIN EXCLUSIVE');print(1,flush=True);sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, paths.catalog()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        start = time.monotonic()
        assert line(cost={"total_cost_usd": 2}).startswith("session $2.00")
        assert time.monotonic() - start < 2
        holder.communicate()


def test_refresh_of_a_session_reads_only_its_transcript(empty_home: Path) -> None:
    path = claude_file(
        empty_home, SESSION_A, claude_answer("m1", at="2026-03-10T11:00:00Z", output=MILLION)
    )
    claude_file(empty_home, SESSION_B, claude_answer("m2", at="2026-03-10T11:00:00Z", output=2000))
    refresh(SESSION_A, str(path))
    assert line() == "today $15.00 | block $15.00, 4 h 00 min left"
    write_lines(path, claude_answer("m3", at="2026-03-10T11:30:00Z", output=MILLION), mode="a")
    refresh(SESSION_A, str(path))
    assert line() == "today $30.00 | block $30.00, 4 h 00 min left"
    refresh()
    assert line() == "today $30.03 | block $30.03, 4 h 00 min left"


def test_refresh_of_a_session_reads_no_file_outside_of_the_tool(tmp_path: Path) -> None:
    answer = claude_answer("m1", at="2026-03-10T11:00:00Z", output=MILLION)
    path = write_lines(tmp_path / "elsewhere" / f"{SESSION_A}.jsonl", answer)
    refresh(SESSION_A, str(path))
    assert line(transcript_path=str(path), session_id=SESSION_A) == "no usage is recorded yet"
    assert last_errors() == []


def test_status_line_starts_one_process_that_reads_all(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", _real_now)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    claude_file(empty_home, SESSION_A, claude_answer("m1", at=now, output=MILLION))
    monkeypatch.delenv("CI", raising=False)
    assert line() == "no usage is recorded yet"
    end = time.monotonic() + 60
    while "block $15.00" not in (shown := line()):
        assert time.monotonic() < end, shown
        time.sleep(0.2)
    assert last_errors() == []


def test_terminal_gets_a_sentence_and_a_hint() -> None:
    command = [sys.executable, "-m", "cortext", "statusline"]
    leader, follower = os.openpty()
    done = subprocess.run(
        command, stdin=follower, capture_output=True, text=True, timeout=60, check=False
    )
    os.close(leader)
    os.close(follower)
    assert (done.returncode, done.stdout) == (1, "")
    assert "hint: install the status line with `cortext setup --statusline`" in done.stderr
