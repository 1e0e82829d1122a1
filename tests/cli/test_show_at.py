"""`cortext show ID --at N`: a conversation opened where something was found."""

import json
import os
import pty
import subprocess
import threading
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from tests.cli.show_terminal import SCRIPT, STYLE, in_terminal, keep
from tests.command import begin, cortext, folder_of, ok
from tests.homes import lay_out, move_project, said


@pytest.fixture
def quiet_workspace(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(data_home / "cache"))
    monkeypatch.setenv("CI", "true")
    root = tmp_path / "work"
    root.mkdir()
    ok(root, "init")
    return root


def numbers(shown: str) -> list[int]:
    """Of the messages that a page shows."""
    heads = [line for line in STYLE.sub("", shown).splitlines() if line.startswith("#")]
    return [int(line[1:].split()[0]) for line in heads]


def talk(count: int) -> list[str]:
    return [f"said {n}" for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("at", "expected"),
    [(1, [1, 2, 3]), (2, [1, 2, 3, 4]), (10, [8, 9, 10, 11, 12]), (20, [18, 19, 20])],
)
def test_show_at_marks_message_and_shows_its_neighbours(
    quiet_workspace: Path, at: int, expected: list[int]
) -> None:
    """The message is marked, and it is said how much of the conversation is shown."""
    id = begin(quiet_workspace, "plan", "Long", *talk(20))
    shown = ok(quiet_workspace, "show", id, "--at", str(at))
    assert numbers(shown) == expected
    assert [line for line in shown.splitlines() if line.endswith("◀")] == [
        line for line in shown.splitlines() if line.startswith(f"#{at} ")
    ]
    assert f"\nmessages {expected[0]} to {expected[-1]} of 20\n" in shown
    found = json.loads(ok(quiet_workspace, "show", id, "--at", str(at), "--json"))["messages"]
    assert [message["content"] for message in found] == [f"said {n}" for n in expected]


def test_show_at_counts_only_spoken_messages_as_neighbours(quiet_workspace: Path) -> None:
    """Around a message stands what was said, with the calls between; never very many."""
    tools = [SessionMessage("tool", f"out {n}", tool_call_id=str(n)) for n in range(5)]
    spoken = [SessionMessage("user", "one"), SessionMessage("assistant", "two")]
    keep(quiet_workspace, "001-debug-x", *spoken, *tools, *spoken, *tools, *spoken, *(tools * 20))
    assert numbers(ok(quiet_workspace, "show", "001", "--at", "8", "--full")) == [*range(1, 16)]
    last = numbers(ok(quiet_workspace, "show", "001", "--at", "60", "--full"))
    assert last == [*range(41, 81)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--at", "3"], "error: no message 3; this conversation has 2\n"),
        (["--at", "0"], "'0' is not a message number; give a number, document or agents"),
        (["--at", "agents"], "001-plan-short has no sub-agents"),
        (["--at", "1", "-n", "2"], "--at cannot be combined with"),
        (["--at", "1", "--message", "2"], "--at cannot be combined with"),
    ],
)
def test_show_at_rejects_invalid_position_with_exit_code_2(
    quiet_workspace: Path, options: list[str], told: str
) -> None:
    begin(quiet_workspace, "plan", "Short", "one", "two")
    done = cortext(quiet_workspace, "show", "001", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_show_at_reports_empty_conversation(quiet_workspace: Path) -> None:
    begin(quiet_workspace, "plan", "Empty")
    done = cortext(quiet_workspace, "show", "001", "--at", "3")
    assert done.stderr == "error: no message 3; this conversation has no messages\n"


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "opencode"])
def test_show_at_opens_tool_session_at_message_of_search_hit(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number that a search tells opens a tool's session there; its sub-agents are left out."""
    homes = lay_out(tmp_path)
    root = tmp_path / "space"
    root.mkdir()
    move_project(homes, root)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")
    hits = json.loads(ok(root, "search", '"emptied every"', "--tool", tool, "--json"))
    hit = next(hit for hit in hits if hit["id"] == said(tool)[0])
    shown = ok(root, "show", hit["id"], "--at", str(hit["message"]), "--stubs")
    after = shown.split("◀\n", 1)[1]
    assert after.startswith("Decided: the cache is emptied every hour.\n")
    assert "sub-agent" not in shown


def test_show_at_in_terminal_marks_message_heading(quiet_workspace: Path) -> None:
    """Rendered, with the mark in its heading."""
    id = begin(quiet_workspace, "plan", "Long", *talk(20))
    shown = in_terminal(quiet_workspace, "show", id, "--at", "10")
    assert numbers(shown) == [8, 9, 10, 11, 12]
    assert any("#10 " in line and "◀" in line for line in shown.splitlines())


def test_show_at_opens_pager_at_the_message(quiet_workspace: Path) -> None:
    long = [f"said {n}\n\n" + "\n\n".join(f"part {m}" for m in range(40)) for n in range(1, 21)]
    id = begin(quiet_workspace, "plan", "Long", *long)
    pager = quiet_workspace / "less"
    pager.write_text('#!/bin/sh\necho "$LESS|$*"\ncat\n', encoding="utf-8")
    pager.chmod(0o755)
    chosen = "-R -Pa prompt"
    shown = in_terminal(quiet_workspace, "show", id, "--at", "10", PAGER=str(pager), LESS=chosen)
    first, _, text = STYLE.sub("", shown).partition("\n")
    options, _, arguments = first.partition("|")
    assert options == chosen
    first_line = int(arguments.removeprefix("+").removesuffix("g"))
    assert text.split("\n")[first_line - 1].startswith("#10 ")


def test_show_at_keeps_short_page_whole_in_pager(quiet_workspace: Path) -> None:
    id = begin(quiet_workspace, "plan", "Long", *talk(20))
    pager = quiet_workspace / "less"
    pager.write_text('#!/bin/sh\necho "LESS is $LESS$*"\n', encoding="utf-8")
    pager.chmod(0o755)
    shown = in_terminal(quiet_workspace, "show", id, "--at", "10", PAGER=str(pager))
    assert shown == "LESS is -FRX\n"


def test_show_at_prints_complete_tool_output(quiet_workspace: Path) -> None:
    """Is told in full below its own heading, also in a terminal, which folds it into its call."""
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "make it"}}
    printed = "\n".join(["the ibex is here", *(f"line {n}" for n in range(40))])
    keep(
        quiet_workspace,
        "001-debug-x",
        SessionMessage("user", "Where is it?"),
        SessionMessage("assistant", "I look.", tool_calls=[call]),
        SessionMessage("tool", printed, tool_call_id="c1"),
        SessionMessage("assistant", "There."),
    )
    shown = STYLE.sub("", in_terminal(quiet_workspace, "show", "001", "--at", "3"))
    before, _, after = shown.partition("#3 tool")
    assert ("#2 assistant" in before, "the ibex is here" in before) == (True, False)
    assert after.split("\n", 1)[0].rstrip("─ ").endswith("◀")
    assert after.index("the ibex is here") < after.index("line 20") < after.index("#4 assistant")
    shown = STYLE.sub("", in_terminal(quiet_workspace, "show", "001", "--at", "2"))
    assert ("make it" in shown, "result: message 3" in shown, "#3" in shown) == (True, True, False)


def test_show_at_document_prints_only_markdown(quiet_workspace: Path) -> None:
    """The markdown and nothing else, where a session has both."""
    id = begin(quiet_workspace, "plan", "Written", "said aloud")
    path = folder_of(quiet_workspace, id) / "plan.md"
    path.write_text("# Written\n\nWe keep xylophones.\n", encoding="utf-8")
    for shown in (
        ok(quiet_workspace, "show", id, "--at", "document"),
        STYLE.sub("", in_terminal(quiet_workspace, "show", id, "--at", "document")),
    ):
        assert ("We keep xylophones." in shown, "said aloud" in shown) == (True, False)
        assert "no session" not in shown
    found = json.loads(ok(quiet_workspace, "show", id, "--at", "document", "--json"))
    assert (found["id"], found["markdown"], found["messages"]) == (id, str(path), [])
    assert "xylophones" in found["text"]
    path.unlink()
    assert (
        f"{id} has no document" in cortext(quiet_workspace, "show", id, "--at", "document").stderr
    )


def test_show_at_agents_prints_only_sub_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a search finds with them is shown in full, also in a terminal, without the rest."""
    homes = lay_out(tmp_path)
    root = tmp_path / "space"
    root.mkdir()
    move_project(homes, root)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")
    id, _ = said("claude")
    beside = homes.transcript("claude").parent / id / "subagents"
    beside.mkdir(parents=True)
    line = {
        "type": "assistant", "uuid": "a1", "sessionId": id, "isSidechain": True, "agentId": "1",
        "timestamp": "2026-01-05T10:00:00.000Z", "cwd": str(root),
        "message": {"role": "assistant", "content": [{"type": "text", "text": "An okapi!"}]},
    }  # fmt: skip
    (beside / "agent-1.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert [hit["role"] for hit in json.loads(ok(root, "search", "okapi", "--json"))] == ["agents"]
    shown = STYLE.sub("", in_terminal(root, "show", id, "--at", "agents"))
    assert ("An okapi!" in shown, "sub-agent · " in shown) == (True, True)
    assert "emptied" not in shown
    answer = json.loads(ok(root, "show", id, "--at", "agents", "--json"))
    assert answer["messages"] == []
    assert [each["content"] for each in answer["sub_agents"][0]["messages"]] == ["An okapi!"]


def test_completion_offers_document_and_agents_after_at(
    quiet_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After --at: what is no message."""
    monkeypatch.setenv("_CORTEXT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "cortext show x --at ")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert cortext(quiet_workspace).stdout.split() == ["plain,document", "plain,agents"]


def test_show_and_resume_accept_numbers_of_last_search(
    quiet_workspace: Path, data_home: Path
) -> None:
    """In one terminal: `show 2` is what the search numbered so, also a session of `spawn`, with
    which `resume` says how to go on."""
    begin(quiet_workspace, "plan", "Older", "an ibex")
    folder = data_home / "aurora/spawn/sessions"
    folder.mkdir(parents=True)
    session = Session("helper-1", title="Ask", agent="helper", status="paused")
    session.messages = [SessionMessage("user", "Where is the ibex?")]
    open_session_store(f"log:{folder}").save(session)
    lines = ("search ibex", "show 1 --at 1", "show 2 --at 1")
    commands = [*(f"{SCRIPT} {each} --no-pager" for each in lines), f"{SCRIPT} resume 2 --print"]
    screen = STYLE.sub("", terminal(quiet_workspace, "; ".join(commands)))
    found, _, rest = screen.partition("#1 user")
    assert found.index("1. Older") < found.index("2. Ask")
    assert rest.index("an ibex") < rest.index("Where is the ibex?")
    assert "cortext spawn --resume helper-1" in rest


def terminal(cwd: Path, line: str) -> str:
    """What a shell in a terminal shows of several commands."""
    ours, its = pty.openpty()
    got = bytearray()

    def collect() -> None:
        while True:
            try:
                got.extend(os.read(ours, 65536))
            except OSError:  # the other side was closed
                return

    env = {**os.environ, "TERM": "xterm", "PAGER": "cat"}
    child = subprocess.Popen(
        ["sh", "-c", line], cwd=cwd, stdin=its, stdout=its, stderr=its, env=env,
        start_new_session=True,
    )  # fmt: skip
    os.close(its)
    reader = threading.Thread(target=collect)
    reader.start()
    child.wait(timeout=60)
    reader.join(timeout=60)
    os.close(ours)
    return got.decode("utf-8").replace("\r\n", "\n")
