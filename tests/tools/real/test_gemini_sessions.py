"""Gemini CLI without our hooks says nothing of its sessions: what we tell from what it writes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.tools.real.commands import cortext, heads, heard, set_up, slash
from tests.tools.real.launch import Tool
from tests.tools.real.screens import READY, enter, opened, send
from tests.tools.real.stub import Stub
from tests.tools.real.terminal import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
    pytest.mark.needs("tmux", "to have a screen"),
]


def without_hooks(root: Path, stub: Stub) -> Tool:
    tool = set_up("gemini", root, stub.url)
    path = tool.home / ".gemini/settings.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings.pop("hooks")
    path.write_text(json.dumps(settings), encoding="utf-8")
    return tool


def clear(terminal: Terminal, shown: str) -> None:
    """As a person begins another session without leaving Gemini CLI."""
    for _ in range(5):
        # Keys are lost while it draws an answer.
        terminal.type("/clear")
        try:
            terminal.shows("start a new session", seconds=8)
        except AssertionError:
            terminal.press("C-u")
            continue
        break
    enter(terminal, lambda: shown not in terminal.screen)


def tell(terminal: Terminal, stub: Stub, words: str, answer: str) -> None:
    """One exchange."""
    before = len(stub.asked)
    stub.say(answer)
    terminal.type(words)
    terminal.shows(words)
    enter(terminal, lambda: len(stub.asked) > before)
    terminal.shows(answer)


def elsewhere(tool: Tool, text: str) -> None:
    """Somebody says something in the only conversation, in another tool."""
    (lines,) = tool.project.glob("conversations/*/*/.session/messages.jsonl")
    said = {"role": "user", "content": text, "timestamp": datetime.now(UTC).isoformat()}
    with open(lines, "a", encoding="utf-8") as file:
        file.write(f"{json.dumps(said)}\n")


def test_slash_command_after_gemini_clear_starts_new_conversation(tmp_path: Path) -> None:
    """After `/clear` a new conversation begins, also where the one before goes on, and each has
    the session that it was had in."""
    with Stub() as stub:
        tool = without_hooks(tmp_path / "root", stub)
        with opened(tool) as terminal:
            stub.say("What is fixed about it?")
            send(terminal, stub, "workspace.brainstorm", "API design")
            terminal.shows("What is fixed about it?")
            tell(terminal, stub, "More of it please", "Second answer.")
            clear(terminal, "Second answer.")
            stub.say("And about that?")
            send(terminal, stub, "workspace.brainstorm", "Another matter")
            terminal.shows("And about that?")
            stub.say("It goes on.")
            send(terminal, stub, "workspace.brainstorm", "A third one")
            terminal.shows("It goes on.")
        first, second = heads(tool)
        assert (first["title"], second["title"]) == ("API design", "Another matter")
        had = [head["native"][0]["session_id"] for head in (first, second)]
        assert had == tool.sessions()


def test_clear_in_resumed_gemini_session_starts_new_conversation(tmp_path: Path) -> None:
    """Also where the arguments of the process name the one before."""
    with Stub() as stub:
        tool = without_hooks(tmp_path / "root", stub)
        stub.say("What is fixed about it?")
        slash(tool, "workspace.brainstorm", "API design")
        (first,) = tool.sessions()
        with Terminal(tool, ["--resume", first]) as terminal:
            terminal.shows(READY["gemini"], seconds=60)
            stub.say("It goes on.")
            send(terminal, stub, "workspace.brainstorm", "Something else")
            assert [head["title"] for head in heads(tool)] == ["API design"]
            terminal.shows("It goes on.")
            clear(terminal, "It goes on.")
            stub.say("And about that?")
            send(terminal, stub, "workspace.brainstorm", "Another matter")
            terminal.shows("And about that?")
        cortext(tool, "stop", heads(tool)[1]["conversation_id"])
        had = {head["title"]: head["native"][-1]["session_id"] for head in heads(tool)}
        assert list(had) == ["API design", "Another matter"]
        assert (had["API design"], had["Another matter"] in tool.sessions()) == (first, True)
        assert had["Another matter"] != first


def test_repeated_resume_in_gemini_session_sends_history_once(tmp_path: Path) -> None:
    """A second `/workspace.resume` in one session has command and block; what was said elsewhere
    since is told once; a cleared session is told all of it."""
    with Stub() as stub:
        tool = without_hooks(tmp_path / "root", stub)
        with opened(tool) as terminal:
            stub.say("What is fixed about it?")
            send(terminal, stub, "workspace.brainstorm", "API design")
            terminal.shows("What is fixed about it?")
        with opened(tool) as terminal:
            told = resumed(terminal, stub, "One.")
            assert "What is fixed about it?" in told
            told = resumed(terminal, stub, "Two.")
            assert "[RESUMED CONVERSATION]" in told
            assert ("[HISTORY " in told, "already contains" in told) == (False, True)
            elsewhere(tool, "Paging is by cursor.")
            told = resumed(terminal, stub, "Three.")
            assert "Paging is by cursor." in told
            assert "What is fixed about it?" not in told
            told = resumed(terminal, stub, "Four.")
            assert ("[HISTORY " in told, "already contains" in told) == (False, True)
            clear(terminal, "Four.")
            told = resumed(terminal, stub, "Five.")
            assert "What is fixed about it?" in told
            assert "Paging is by cursor." in told


def resumed(terminal: Terminal, stub: Stub, answer: str) -> str:
    """What the last request told the model of the only conversation."""
    stub.say(answer)
    before = len(stub.asked)
    send(terminal, stub, "workspace.resume", "api design")
    terminal.shows(answer)
    (body,) = stub.asked[before:]
    return heard({**body, "contents": body["contents"][-1:]})
