"""`spawn` without a terminal: a line is a prompt, answers go to stdout, the rest to stderr."""

import os
import signal
import subprocess
import time

import pytest

from tests.cli.repl.conftest import Person


def test_script_prints_only_answers_to_stdout(person: Person) -> None:
    """A line each; the end of input completes the session."""
    done = person.script("one\n\ntwo\\\nthree\nsay no newline")
    assert done.stdout == "you said: one\nyou said: three\nno newline\n"
    assert "session s" in done.stderr
    assert str(person.sessions / "s.jsonl") in done.stderr
    assert (done.returncode, person.status("s")) == (0, "completed")
    assert person.said("s")[2] == "two\nthree"


def test_script_prints_answer_unchanged_with_escape_codes(person: Person) -> None:
    """A program may want the codes that a terminal must not get."""
    done = person.script("say **a**\\x1b[31m\\tb\n")
    assert done.stdout == "**a**\x1b[31m\tb\n"


def test_failed_turn_makes_script_exit_1_after_remaining_lines(person: Person) -> None:
    """What follows it is asked all the same."""
    done = person.script("fail so it goes\nafter\n")
    assert "error: python agent.py failed (exit code 3): so it goes" in done.stderr
    assert done.stdout.endswith("you said: after\n")
    assert (done.returncode, person.status("s")) == (1, "completed")
    assert person.said("s") == ["after", "you said: after"]


def test_script_runs_slash_commands_and_fails_on_unknown_command(person: Person) -> None:
    """What they show is data; an unknown one is said, and makes it fail."""
    done = person.script("one\n/history 1\n/nothing\n/exit\nnot asked\n")
    assert done.stdout.split("\n")[0] == "you said: one"
    assert done.stdout.split("\n")[2:] == ["   you said: one", ""]
    assert "Unknown command: /nothing\nhint: " in done.stderr
    assert (done.returncode, person.said("s")) == (1, ["one", "you said: one"])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_signal_stops_agent_and_marks_script_session_interrupted(
    person: Person, number: int, code: int
) -> None:
    """The agent is stopped, and the session is interrupted: there is no prompt to return to."""
    process = subprocess.Popen(
        person.words("--session", "s"),
        cwd=person.cwd,
        env={**os.environ, **person.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"wait /nowhere/at/all\n")
    process.stdin.flush()
    assert process.stdout.read(7) == b"waiting"
    process.send_signal(number)
    assert process.wait(60) == code
    process.stdin.close()
    process.stdout.close()
    assert (person.agents_alive(), person.status("s")) == ([], "interrupted")


def test_script_exits_0_and_keeps_turns_when_reader_closes_pipe(person: Person) -> None:
    """As with `head`: nothing is wrong, and what was answered before is kept."""
    process = subprocess.Popen(
        person.words("--session", "s"),
        cwd=person.cwd,
        env={**os.environ, **person.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"you said: one\n"
    deadline = time.monotonic() + 60
    while len(person.lines("s")) < 3 and time.monotonic() < deadline:
        os.sched_yield()
    process.stdout.close()
    process.stdin.write(b"lines 100000\n")
    process.stdin.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert (process.wait(60), "Traceback" in told) == (0, False)
    assert (person.status("s"), person.said("s")) == ("interrupted", ["one", "you said: one"])
