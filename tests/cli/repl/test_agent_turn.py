"""Talking to an agent in a terminal: turns, what interrupts them, and how it ends."""

import resource
import shlex
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from cortext import clock
from tests.cli.repl.conftest import Person
from tests.cli.repl.terminal import ALT_ENTER, CTRL_C, CTRL_D, TAB, UP, Terminal

Spawn = Callable[..., Terminal]


def test_repl_saves_turns_and_exit_completes_session(person: Person, spawn: Spawn) -> None:
    """The banner names all; both turns are in the file; /exit says where and completes it."""
    terminal = spawn()
    banner = terminal.prompt()
    assert "agent qa-test · session s · python" in banner
    assert "/help" in banner
    assert terminal.until("qa-test>")
    assert person.lines("s")[0]["status"] == "active"
    terminal.line("hello")
    terminal.prompt()
    assert person.said("s") == ["hello", "you said: hello"]
    terminal.line("/exit")
    assert terminal.until(str(person.sessions / "s.jsonl"))
    assert (terminal.ends(), person.status("s")) == (0, "completed")


def test_user_turn_timestamp_is_time_of_typing(
    person: Person, spawn: Spawn, tmp_path: Path
) -> None:
    terminal = spawn()
    terminal.prompt()
    for text in (f"wait {tmp_path / 'go'}", "/retry"):
        before = clock.now()
        terminal.line(text)
        terminal.until("waiting")
        answering = clock.now()
        (tmp_path / "go").touch()
        terminal.prompt()
        (tmp_path / "go").unlink()
        turns = person.lines("s")[-2:]
        asked, answered = (datetime.fromisoformat(turn["timestamp"]) for turn in turns)
        assert before <= asked <= answering <= answered


def test_ctrl_d_at_empty_prompt_completes_session(person: Person, spawn: Spawn) -> None:
    """Ctrl+D at an empty prompt is /exit; the terminal is left as it was."""
    terminal = spawn()
    terminal.prompt()
    terminal.keys(CTRL_D)
    assert (terminal.ends(), person.status("s")) == (0, "completed")
    assert terminal.echoes()


def test_ctrl_c_at_the_prompt_clears_the_line(person: Person, spawn: Spawn) -> None:
    """And nothing else, however often."""
    terminal = spawn()
    terminal.prompt()
    for _ in range(3):
        terminal.keys(f"unwanted{CTRL_C}")
        terminal.prompt()
    terminal.line("wanted")
    terminal.until("you said: wanted")
    terminal.prompt()
    assert person.said("s") == ["wanted", "you said: wanted"]


def test_repl_strips_colour_codes_from_unbracketed_paste(person: Person, spawn: Spawn) -> None:
    """The colours are passed over, and the text is what was typed."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("some \x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[0m text")
    terminal.until("you said: some red and green text")
    terminal.prompt()
    assert person.said("s")[:1] == ["some red and green text"]


def test_ctrl_c_stops_agent_and_discards_its_turn(person: Person, spawn: Spawn) -> None:
    """The whole of it; nothing of the turn is kept, and the next one is answered."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("wait /nowhere/at/all")
    terminal.until("waiting")
    terminal.keys(CTRL_C)
    terminal.until("Interrupted. Returning to prompt.")
    terminal.prompt()
    assert (person.agents_alive(), person.said("s")) == ([], [])
    terminal.line("and now")
    terminal.until("you said: and now")
    terminal.prompt()
    assert person.said("s") == ["and now", "you said: and now"]


def test_failed_turn_shows_agent_error_and_is_not_saved(person: Person, spawn: Spawn) -> None:
    """With what the agent complained about; the session goes on and completes with 0."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("fail the tank is empty")
    terminal.until("error: python agent.py failed (exit code 3): the tank is empty")
    terminal.prompt()
    terminal.line("again")
    terminal.until("you said: again")
    terminal.prompt()
    assert person.said("s") == ["again", "you said: again"]
    terminal.keys(CTRL_D)
    assert (terminal.ends(), person.status("s")) == (0, "completed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_during_turn_stops_agent_and_marks_session_interrupted(
    person: Person, spawn: Spawn, number: int
) -> None:
    """The agent is stopped, the session is interrupted and has what was completed."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("first")
    terminal.prompt()
    terminal.line("wait /nowhere/at/all")
    terminal.until("waiting")
    terminal.signal(number)
    assert terminal.ends() == 128 + number
    assert (person.agents_alive(), person.status("s")) == ([], "interrupted")
    assert person.said("s") == ["first", "you said: first"]
    assert terminal.echoes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_at_prompt_marks_session_interrupted_and_restores_tty(
    person: Person, spawn: Spawn, number: int
) -> None:
    """The terminal is left as it was, also in the middle of a line."""
    terminal = spawn()
    terminal.prompt()
    terminal.keys("half a li")
    terminal.until("half a li")
    terminal.signal(number)
    assert terminal.ends() == 128 + number
    assert (person.status("s"), terminal.echoes()) == ("interrupted", True)


@pytest.mark.parametrize("said", ["", "wait /nowhere/at/all\r", "hush /nowhere/at/all\r"])
def test_terminal_hangup_stops_agent_and_marks_session_interrupted(
    person: Person, spawn: Spawn, said: str
) -> None:
    """At the prompt, in an answer and before it: interrupted, and no agent goes on."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("first")
    terminal.prompt()
    terminal.keys(said)
    if said:
        terminal.until("waiting" if said.startswith("wait") else " python")
    terminal.hang_up()
    assert terminal.ends() == 128 + signal.SIGHUP
    assert (person.agents_alive(), person.status("s")) == ([], "interrupted")
    assert person.said("s") == ["first", "you said: first"]


def test_killed_repl_keeps_completed_turns_and_resumes(person: Person, spawn: Spawn) -> None:
    """What was completed is there, and it goes on."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("first")
    terminal.prompt()
    terminal.line("wait /nowhere/at/all")
    terminal.until("waiting")
    terminal.signal(signal.SIGKILL)
    assert terminal.ends() == -signal.SIGKILL
    terminal = spawn("--resume", "s")
    assert "session s · python agent.py · 2 turns so far" in terminal.prompt()
    terminal.line("second")
    terminal.until("you said: second")
    terminal.prompt()
    assert person.said("s")[::2] == ["first", "second"]


def test_repl_keeps_prompt_on_terminal_when_stdout_is_redirected(person: Person) -> None:
    """Typed at a terminal with stdout in a file: the prompt and the talk stay with the person."""
    words = f"exec {shlex.join(person.words('--session', 's'))} > answers"
    with Terminal(["sh", "-c", words], cwd=person.cwd, env=person.env) as terminal:
        terminal.until("default> ")
        terminal.keys("hello\n")
        terminal.until("default> ")
        terminal.keys("wait /nowhere/at/all\n")
        answers = person.cwd / "answers"
        deadline = time.monotonic() + 60
        while "waiting" not in answers.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline
        terminal.keys(CTRL_C)
        terminal.until("Interrupted. Returning to prompt.")
        terminal.until("default> ")
        terminal.keys(CTRL_D)
        assert terminal.ends() == 0
    assert answers.read_text(encoding="utf-8").startswith("you said: hello\n")
    assert (person.status("s"), person.said("s")) == ("completed", ["hello", "you said: hello"])


def test_backslash_or_alt_enter_continues_line(person: Person, spawn: Spawn) -> None:
    """By a backslash at the end, or by Alt+Enter; a written backslash stays one."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("one\\")
    terminal.line("two \\\\")
    terminal.prompt()
    terminal.keys(f"three{ALT_ENTER}four\r")
    terminal.until("you said: four")
    terminal.prompt()
    assert person.said("s")[::2] == ["one\ntwo \\\\", "three\nfour"]


def test_large_paste_becomes_single_turn(person: Person, spawn: Spawn) -> None:
    """100 KB of lines, of which none is a turn of its own."""
    text = "".join(f"{number} {'x' * 90}\n" for number in range(1100)) + "the end"
    assert len(text) > 100_000
    terminal = spawn()
    terminal.prompt()
    terminal.paste(text)
    terminal.keys("\r")
    terminal.until("you said: the end")
    terminal.prompt()
    assert person.said("s") == [text, "you said: the end"]


def test_up_arrow_recalls_input_from_other_sessions(person: Person, spawn: Spawn) -> None:
    """Also what has several lines; the file is for nobody else."""
    terminal = spawn()
    terminal.prompt()
    terminal.keys(f"said before{ALT_ENTER}on two lines\r")
    terminal.prompt()
    terminal.keys(CTRL_D)
    assert terminal.ends() == 0
    history = person.home / ".aurora/spawn/history"
    assert history.stat().st_mode & 0o777 == 0o600
    terminal = spawn("--session", "t")
    terminal.prompt()
    terminal.keys(UP)
    terminal.until("on two lines")
    terminal.keys("\r")
    terminal.prompt()
    assert person.said("t")[0] == "said before\non two lines"


def test_tab_completes_commands_agents_and_files(person: Person, spawn: Spawn) -> None:
    """Commands, agents, and files of the folder."""
    (person.cwd / "notes about it.md").write_text("", encoding="utf-8")
    terminal = spawn("--session", "s")
    terminal.prompt()
    terminal.line(f"/ti{TAB} Tabbed")
    terminal.until("Title: Tabbed")
    terminal.prompt()
    terminal.line(f"/agent q{TAB}")
    terminal.until("The agent is now qa-test")
    terminal.prompt()
    terminal.line(f"/save no{TAB}")
    terminal.until("notes about it.md already exists")
    terminal.prompt()
    terminal.line(f"see not{TAB}")
    terminal.until("you said: see notes about it.md")


def test_input_typed_during_answer_waits_for_next_prompt(
    person: Person, spawn: Spawn, tmp_path: Path
) -> None:
    """It is not in the way of the answer, and it is at the next prompt."""
    terminal = spawn()
    terminal.prompt()
    terminal.line(f"wait {tmp_path / 'go'}")
    terminal.until("waiting")
    terminal.keys("typed ahead\r")
    assert not terminal.echoes()
    (tmp_path / "go").touch()
    assert "typed ahead" not in terminal.until("no more")
    terminal.until("you said: typed ahead")


def test_special_keys_typed_during_answer_apply_at_next_prompt(
    person: Person, spawn: Spawn, tmp_path: Path
) -> None:
    """Alt+Enter, a long line, and Ctrl+D: each is at the next prompt what it is at any."""
    terminal = spawn()
    terminal.prompt()
    terminal.line(f"wait {tmp_path / 'go'}")
    terminal.until("waiting")
    long = "x" * 3000
    terminal.keys(f"one{ALT_ENTER}{long}\r{CTRL_D}")
    (tmp_path / "go").touch()
    assert terminal.ends() == 0
    assert person.said("s")[2::2] == [f"one\n{long}"]
    assert person.status("s") == "completed"


def test_failed_save_keeps_turns_and_retries_on_next_turn(person: Person, spawn: Spawn) -> None:
    """It is said each time, the file stays as it was, and the next turn brings both."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("one")
    terminal.prompt()
    file = person.sessions / "s.jsonl"
    before = file.read_bytes()
    resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (len(before), -1))
    terminal.line("two")
    assert "error: could not" in terminal.until("1 exchange is not saved")
    terminal.prompt()
    assert file.read_bytes() == before
    terminal.line("/exit")
    terminal.until("/exit again leaves without saving")
    terminal.prompt()
    resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
    terminal.line("three")
    terminal.until("saved now")
    terminal.prompt()
    assert person.said("s")[::2] == ["one", "two", "three"]
    terminal.line("/exit")
    assert (terminal.ends(), person.status("s")) == (0, "completed")


@pytest.mark.parametrize("how", ["fails", "is stopped"])
def test_retry_resends_unanswered_message_and_keeps_earlier_answer(
    person: Person, spawn: Spawn, tmp_path: Path, how: str
) -> None:
    """It is asked for the first time; the answer before it stays what it was."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("first")
    terminal.prompt()
    said = f"show {tmp_path / 'late'}" if how == "fails" else f"wait {tmp_path / 'late'}"
    terminal.line(said)
    if how == "is stopped":
        terminal.until("waiting")
        terminal.keys(CTRL_C)
    terminal.prompt()
    assert person.said("s") == ["first", "you said: first"]
    (tmp_path / "late").write_text("here now", encoding="utf-8")
    terminal.line("/retry")
    terminal.prompt()
    answer = "here now" if how == "fails" else "waiting no more"
    assert person.said("s") == ["first", "you said: first", said, answer]
    terminal.line("prompt")
    terminal.prompt()
    assert "| you said: first" in person.said("s")[-1]


def test_repl_rewrites_deleted_session_file_and_reports_loss(person: Person, spawn: Spawn) -> None:
    """It is written anew from what is held, once, and that is said; /save needs no file."""
    terminal = spawn()
    terminal.prompt()
    terminal.line("one")
    terminal.prompt()
    file = person.sessions / "s.jsonl"
    file.unlink()
    terminal.line("/save copy.md")
    terminal.until("Written: ")
    terminal.prompt()
    assert "you said: one" in (person.cwd / "copy.md").read_text(encoding="utf-8")
    terminal.line("two")
    terminal.until("s.jsonl was deleted, and was written again")
    terminal.prompt()
    assert person.said("s")[::2] == ["one", "two"]
    terminal.line("three")
    assert "gone" not in terminal.prompt()
    file.unlink()
    terminal.line("/exit")
    terminal.until("was deleted, and was written again")
    assert (terminal.ends(), person.status("s")) == (0, "completed")
    assert person.said("s")[::2] == ["one", "two", "three"]


def test_control_characters_do_not_reach_the_terminal(person: Person, spawn: Spawn) -> None:
    """The file has them, also split over pieces and by NO_COLOR; the screen does not."""
    for env in ({}, {"NO_COLOR": "1"}):
        id = f"s{len(env)}"
        terminal = spawn("--session", id, env=env)
        terminal.prompt()
        terminal.line(r"say \x1b]0;owned\x07\x1b[31mred\x9b31m\u202eback\r\nnext")
        terminal.until("next")
        terminal.prompt()
        answer = person.said(id)[1]
        assert answer == "\x1b]0;owned\x07\x1b[31mred\x9b31m\u202eback\r\nnext"
        assert "\x1b]0;owned" not in terminal.raw
        assert "\x1b[31mred" not in terminal.raw
        assert "\u202e" not in terminal.raw
        assert "\ufffd]0;owned\ufffd\ufffd[31mred" in terminal.raw
