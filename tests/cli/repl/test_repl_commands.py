"""The slash commands, through the real command."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext.cli.repl.repl_commands import COMMANDS, is_command
from tests.cli.repl.conftest import Person
from tests.cli.repl.terminal import Terminal


def test_help_names_every_command(person: Person) -> None:
    """With what it takes, in 80 columns."""
    shown = person.script("/help\n").stdout
    for name in COMMANDS:
        assert f"/{name}" in shown
    assert max(map(len, shown.split("\n"))) <= 80


@pytest.mark.parametrize("text", ["/x", "/?", "/HELP", "/save a b", " /x ", "/title two\nlines"])
def test_is_command_accepts_slash_followed_by_word(text: str) -> None:
    """A slash and a word."""
    assert is_command(text)


@pytest.mark.parametrize("text", ["/usr/bin fails", "//", "/", "/ x", "1/2", "say /help", "/é"])
def test_is_command_rejects_paths_and_plain_text(text: str) -> None:
    """A path, or text."""
    assert not is_command(text)


def test_history_numbers_records_over_the_whole_session(person: Person) -> None:
    """The last 3 of 10 are 8, 9 and 10."""
    asked = "".join(f"q{number}\n" for number in range(1, 6))
    shown = person.script(f"{asked}/history 3\n/history\n").stdout.split("\n", 5)[5]
    assert re.findall(r"^(\d+)\. (\S+) ", shown, re.MULTILINE)[:3] == [
        ("8", "qa-test"),
        ("9", "user"),
        ("10", "qa-test"),
    ]
    assert re.findall(r"^(\d+)\. ", shown, re.MULTILINE)[3:] == [str(n) for n in range(1, 11)]
    assert "   you said: q4\n9. user" in shown


@pytest.mark.parametrize(
    "said",
    [r"word\n" * 13, r"word\n" * 40, "x" * 6000, r"\n\n".join(["a long paragraph " * 20] * 20)],
    ids=["13 lines", "40 lines", "one line", "paragraphs"],
)
def test_history_shortens_long_turns_on_terminal_only(
    person: Person, spawn: Callable[..., Terminal], said: str
) -> None:
    """However long a turn or one line of it is; where there is no screen it is whole."""
    person.script(f"say {said}\n")
    (answer,) = person.said("s")[1:]
    assert answer in person.script("/history 1\n").stdout.replace("\n   ", "\n")
    terminal = spawn("--session", "s", columns=80)
    terminal.prompt()
    terminal.line("/history 1")
    lines = terminal.prompt().split("/history 1\n")[1].split("\n")[:-1]
    assert sum(max(1, -(-len(line) // 80)) for line in lines) <= 14


@pytest.mark.parametrize("given", ["0", "-1", "x", "1 2", "9999999999"])
def test_history_refuses_invalid_count_with_hint(person: Person, given: str) -> None:
    """One sentence and a hint; the REPL stays."""
    done = person.script(f"/history {given}\nafter\n")
    assert f"error: not a number: {given}\nhint: " in done.stderr
    assert done.stdout == "you said: after\n"


def test_stats_prints_id_agent_turns_tokens_and_context_bar(person: Person) -> None:
    """Id, agent, turns, tokens, and the context as a bar."""
    config = person.home / ".aurora/config.json"
    config.write_text(json.dumps({"spawner": {"interactive": {"max_tokens": 1000}}}))
    shown = person.script(f"say {'x' * 396}\n/stats\n").stdout.split("\n", 1)[1]
    facts = dict(line.split(None, 1) for line in shown.split("\n") if line)
    assert facts["session"] == "s"
    assert facts["agent"] == "qa-test (python agent.py)"
    assert (facts["turns"], facts["tokens"]) == ("2", "about 199")
    assert re.fullmatch(r"\[█{6} {24}\] 19 % of 1,000 tokens", facts["context"])


def test_repl_warns_when_context_is_80_and_90_percent_full(person: Person) -> None:
    """At 80 and at 90 percent, and when turns are left out."""
    config = person.home / ".aurora/config.json"
    config.write_text(json.dumps({"spawner": {"interactive": {"max_tokens": 1000}}}))
    asked = "".join(f"say {'x' * 200}\n" for _ in range(12))
    done = person.script(asked)
    assert re.search(r"context is 8\d % full", done.stderr)
    assert re.search(r"context is 9\d % full; older turns will be left out soon", done.stderr)
    assert "The agent gets the first 2 and the last" in done.stderr
    assert len(person.said("s")) == 24


def test_clear_hides_history_from_agent_but_keeps_file(person: Person) -> None:
    """The next prompt has nothing of the past; the file has all of it."""
    done = person.script("secret word\nprompt\n/clear\nprompt\n")
    first, second = done.stdout.split("you said: secret word\n", 1)[1].rsplit("prompt\n", 2)[:2]
    assert "secret word" in first
    assert "secret word" not in second
    assert person.said("s")[0] == "secret word"


def test_agent_prompt_has_system_prompt_history_and_last_message(person: Person) -> None:
    """The system prompt first, the person's message last."""
    told = person.script("remember me\nprompt\n").stdout.split("\n", 1)[1]
    assert told.startswith("You test things.")
    assert "| remember me" in told
    assert told.endswith("\n\nprompt\n")


def test_agent_command_switches_agent_and_refuses_unknown_name(person: Person) -> None:
    """By name, and it stays in the file; an unknown one leaves all as it was."""
    done = person.script("/agent nobody\n/agent default\nprompt\n/agent\n")
    assert "error: unknown agent nobody\nhint: available agents: default, qa-test" in done.stderr
    assert "You test things." not in done.stdout
    assert [line.split()[0] for line in done.stdout.split("\n")[1:3]] == ["default", "qa-test"]
    assert person.lines("s")[0]["agent"] == "default"


def test_agent_command_switches_tool_unless_tool_was_given(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless one was asked for."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("claude", "codex"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    agent = person.home / ".aurora/agents/coder.md"
    agent.write_text("---\ntool: codex\n---\nYou code.\n", encoding="utf-8")
    assert ", run by python agent.py." in person.script("/agent coder\n").stderr
    told = person.script("/agent coder\n", "--session", "asked", tool="claude").stderr
    assert "The agent is now coder, run by claude." in told
    told = person.script("/agent coder\n/agent default\n", "--session", "t", tool="").stderr
    assert "session t · claude" in told
    assert "The agent is now coder, run by codex." in told
    assert "The agent is now default, run by claude." in told


def test_title_command_shows_and_sets_single_line_title(person: Person) -> None:
    """One line, which lists show."""
    done = person.script("/title\n/title A   new\ttitle\n/title\n")
    assert done.stdout == "(no title)\nA new title\n"
    assert person.lines("s")[0]["title"] == "A new title"


@pytest.mark.parametrize("name", ["c.md", "c.html", "c.json", "c.jsonl", "with space"])
def test_saved_file_imports_into_another_session_without_duplicates(
    person: Person, name: str
) -> None:
    """As its ending says; each can be read back into another session."""
    person.script(f"what was said\n/save {name}\n")
    assert b"what was said" in (person.cwd / name).read_bytes()
    done = person.script(f"/import {name}\n/import {name}\nprompt\n", "--session", "t")
    assert "2 turns of s were added." in done.stderr
    assert "0 turns of s were added; 2 were already here." in done.stderr
    assert person.said("t")[:3] == ["what was said", "you said: what was said", "prompt"]
    assert done.stdout.count("| what was said") == 1


def test_export_copies_session_file_byte_for_byte(person: Person) -> None:
    """Byte for byte; into a folder under its own name."""
    done = person.script("one\n/export copy.jsonl\n/export folder/\n")
    copy = (person.cwd / "copy.jsonl").read_bytes()
    assert [json.loads(line)["type"] for line in copy.split(b"\n") if line] == [
        *("metadata", "turn", "turn")
    ]
    assert (person.cwd / "folder/s.jsonl").read_bytes() == copy
    assert done.returncode == 0


@pytest.mark.parametrize("command", ["save", "export"])
def test_save_and_export_overwrite_file_only_with_bang(
    person: Person, spawn: Callable[..., Terminal], command: str
) -> None:
    """Only with a `!`."""
    file = person.cwd / "mine.md"
    file.write_text("mine", encoding="utf-8")
    terminal = spawn()
    terminal.prompt()
    terminal.line("one")
    terminal.prompt()
    terminal.line(f"/{command} mine.md")
    terminal.until(f"hint: /{command}! overwrites it")
    terminal.prompt()
    assert file.read_text(encoding="utf-8") == "mine"
    terminal.line(f"/{command}! mine.md")
    terminal.until("Written: ")
    terminal.prompt()
    assert "one" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["save", "export"])
def test_save_and_export_refuse_overwrite_from_pipe(person: Person, command: str) -> None:
    """What comes by it is often not the person's own text."""
    file = person.cwd / "mine.md"
    file.write_text("mine", encoding="utf-8")
    done = person.script(f"one\n/{command} mine.md\n/{command}! mine.md\n")
    assert "mine.md already exists\nhint: choose another name" in done.stderr
    assert f"error: /{command}! works only in a terminal\nhint: /{command} FILE" in done.stderr
    assert (file.read_text(encoding="utf-8"), done.returncode) == ("mine", 1)


def test_double_slash_sends_command_name_as_text(person: Person) -> None:
    """Only where it would be one: a comment in code stays as it is."""
    person.script("//help me\n// a comment\n//usr/bin\n")
    assert person.said("s")[::2] == ["/help me", "// a comment", "//usr/bin"]


def test_commands_ignore_case_and_accept_aliases(person: Person) -> None:
    """And by the names that other programs have for them."""
    done = person.script("/STATS\n/Title Mine\n/?\n/Quit\nnot asked\n")
    assert "turns     0" in done.stdout
    assert "/history [N]" in done.stdout
    assert (person.lines("s")[0]["title"], person.said("s")) == ("Mine", [])
    assert done.returncode == 0


def test_single_turn_is_counted_in_singular_form(person: Person) -> None:
    """In the banner, in the list, and when it is added."""
    person.script("one\n")
    lines = (person.sessions / "s.jsonl").read_bytes().split(b"\n")
    data = b"\n".join(lines[:2]).replace(b'"session_id":"s"', b'"session_id":"t"') + b"\n"
    (person.sessions / "t.jsonl").write_bytes(data)
    (person.cwd / "one.jsonl").write_bytes(data)
    done = person.script("/resume\n/import one.jsonl\n/import one.jsonl\n", "--resume", "t")
    assert "1 turn so far" in done.stderr
    assert ", 1 turn, " in done.stdout
    assert "0 turns of t were added; 1 was already here." in done.stderr
    done = person.script("/import one.jsonl\n", "--session", "u")
    assert "1 turn of t was added." in done.stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/save", "/save needs a file name"),
        ("/save x.docx", "has the suffix .docx"),
        ("/save missing/x.md", "could not write"),
        ("/import missing.md", "there is no file"),
        ("/import .", "is a folder"),
        ("/exit now", "/exit takes no argument"),
        ("/retry", "there is no message to send again"),
        ("/resume no such words", "Session not found: no such words"),
        ("/resume s", "session s is already open here"),
    ],
)
def test_bad_command_prints_single_error_and_keeps_repl_open(
    person: Person, line: str, sentence: str
) -> None:
    """And the REPL stays."""
    done = person.script(f"{line}\nafter\n")
    errors = [each for each in done.stderr.split("\n") if each.startswith("error: ")]
    assert (len(errors), sentence in errors[0]) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "you said: after\n"


def test_retry_asks_again_without_the_answer(person: Person) -> None:
    """Also twice; the file has every answer, the agent none that was asked again."""
    (person.cwd / "answer").write_text("a bad one", encoding="utf-8")
    done = person.script("start\nshow answer\n/retry\n/retry\nprompt\n")
    assert person.said("s")[2:8] == ["show answer", "a bad one"] * 3
    assert done.stdout.count("| a bad one") == 1
    assert done.stdout.count("| show answer") == 1
    assert done.stdout.count("| start") == 1


def test_retry_sends_same_prompt_except_boundary_mark(person: Person) -> None:
    """Word for word, but for the mark that is new each time."""
    told = person.script("start\nprompt\n/retry\n").stdout.split("\n", 1)[1]
    marks = set(re.findall(r"[0-9a-f]{32}", told))
    for mark in marks:
        told = told.replace(mark, "MARK")
    half = len(told) // 2
    assert len(marks) == 2
    assert told[:half] == told[half:]


def test_fork_continues_in_new_session_and_interrupts_parent(person: Person) -> None:
    """The first session stays as it was, interrupted; the new one has its turns and its parent."""
    done = person.script("one\n/fork\ntwo\n")
    (fork,) = (path.stem for path in person.sessions.glob("*.jsonl") if path.stem != "s")
    assert fork in done.stderr
    assert (person.said("s"), person.status("s")) == (["one", "you said: one"], "interrupted")
    assert person.said(fork) == ["one", "you said: one", "two", "you said: two"]
    assert person.lines(fork)[0]["parent_id"] == "s"
    assert person.status(fork) == "completed"


def test_resume_lists_sessions_and_continues_by_number_or_words(person: Person) -> None:
    """By number, by words; the one that is left is interrupted."""
    person.script("about whales\n/title Whales\n", "--session", "a")
    person.script("about ants\n", "--session", "b")
    done = person.script("here\n/resume\n/resume whales\n/history 1\n", "--session", "c")
    listed = [line.split()[:2] for line in done.stdout.split("\n")[1:4]]
    assert listed == [["1.", "c"], ["2.", "b"], ["3.", "a"]]
    assert "Resuming completed session" in done.stderr
    assert "session a · python agent.py · 2 turns so far" in done.stderr
    assert (person.status("c"), person.status("a")) == ("interrupted", "completed")
    assert "you said: about whales" in done.stdout
    person.script("/resume\n/resume 2\nmore\n", "--session", "d")
    assert person.said("c")[2:] == ["more", "you said: more"]


def test_resume_list_shows_title_beside_generated_id_in_80_columns(
    person: Person, spawn: Callable[..., Terminal]
) -> None:
    """Also beside an id as we make them."""
    person.script("how do whales sleep?\n", "--agent", "qa-test")
    terminal = spawn("--session", "t", columns=80)
    terminal.prompt()
    terminal.line("/resume")
    shown = terminal.prompt()
    assert re.search(r"\n  2\. qa-test-\d{8}-\d{6}-\w{4}  how do whales sleep\?  \(", shown)
    assert "  1. t  (open here, default, 0 turns, " in shown


def test_resume_numbers_ambiguous_matches_for_selection(person: Person) -> None:
    """They are shown with numbers, and one is taken by it."""
    person.script("/title same thing\n", "--session", "one")
    person.script("/title same thing\n", "--session", "two")
    done = person.script("/resume same\n/resume 2\nhello\n")
    assert "2 sessions match same" in done.stderr
    assert person.said("one") == ["hello", "you said: hello"]


def test_resume_refuses_damaged_session_and_leaves_file_unchanged(person: Person) -> None:
    """It is said where, its file stays as it was, and the REPL stays where it is."""
    person.script("one\n", "--session", "bad")
    path = Path(person.sessions / "bad.jsonl")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"{broken", *lines[2:]]))
    before = path.read_bytes()
    done = person.script("/resume bad\nstill here\n")
    assert f"error: {path}, line 2" in done.stderr
    assert (path.read_bytes(), person.said("s")[0]) == (before, "still here")
