"""Our plug-in in the real OpenCode: what is said is kept by itself, and nothing is noticed."""

import json
import os
import time
from pathlib import Path

import pytest

from tests.tools.real.captured_person import Person
from tests.tools.real.commands import BIN, cortext, set_up, slash
from tests.tools.real.launch import Tool
from tests.tools.real.record import TURNS, Said, repository, say
from tests.tools.real.screens import opened, send
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


def test_opencode_plugin_captures_every_turn_without_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """Nobody calls stop: after each turn it is there, OpenCode prints what it always does, and the
    log of errors is empty; a closing phrase pauses it; uninstalled, nothing of ours is left."""
    with Stub() as stub:
        person = Person("opencode", tmp_path, stub, monkeypatch)
        tool = person.tool
        tool.extra = {"PATH": f"{BIN}:{tool.environment()['PATH']}"}
        tool.configure(tool.project)
        cortext(tool, "setup", "--tools", "opencode", "--plugin", "--yes")
        repository(tool.project)
        stub.say("Hello.")
        done = tool.run("Hi.")
        assert (done.code, "cortext" in done.stdout + done.stderr) == (0, False)
        session = person.bind(after="")
        said: Said = [("user", "Hi."), ("assistant", "Hello.")]
        for prompt, answer in TURNS:
            say(tool, stub, prompt, [answer], session)
            said += [("user", prompt), ("assistant", answer)]
            person.await_said(said)
        say(tool, stub, "Let's stop here.", ["Until then."], session)
        person.await_said([*said, ("user", "Let's stop here."), ("assistant", "Until then.")])
        deadline = time.monotonic() + 20
        while person.head["status"] != "paused" and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (person.head["status"], person.head["stop_reason"]) == ("paused", "user")
        log = tmp_path / "home/.local/share/cortext/errors.log"
        assert not log.exists() or log.read_text(encoding="utf-8") == ""
        cortext(tool, "uninstall", "--yes")
        left = sorted(os.listdir(tool.home / ".config/opencode"))
        assert [name for name in left if name in ("commands", "plugins")] == []


def test_opencode_plugin_captures_conversation_started_by_slash_command(tmp_path: Path) -> None:
    """`/workspace.brainstorm` binds the session, and the plug-in captures it."""
    with Stub() as stub:
        tool = set_up("opencode", tmp_path, stub.url)
        cortext(tool, "setup", "--tools", "opencode", "--plugin", "--yes")
        stub.say("What about the cache?")
        assert slash(tool, "workspace.brainstorm", "the cache").code == 0
        said = kept(tool, 2)
        assert said[1:] == ["What about the cache?"]
        assert said[0].startswith("/workspace.brainstorm the cache")


@pytest.mark.timeout(600)
@pytest.mark.needs("tmux", "to have a screen")
def test_opencode_plugin_captures_turns_in_terminal_screen(tmp_path: Path) -> None:
    """Each turn is kept while the person is still there, and the screen shows nothing of it."""
    with Stub() as stub:
        tool = set_up("opencode", tmp_path / "root", stub.url)
        cortext(tool, "setup", "--tools", "opencode", "--plugin", "--yes")
        with opened(tool) as terminal:
            stub.say("What about the cache?")
            send(terminal, stub, "workspace.brainstorm", "the cache")
            terminal.shows("What about the cache?")
            assert kept(tool, 2)[1:] == ["What about the cache?"]
            stub.say("Every hour, then.")
            terminal.type("Empty it hourly.")
            terminal.press("Enter")
            screen = terminal.shows("Every hour, then.")
            assert kept(tool, 4)[2:] == ["Empty it hourly.", "Every hour, then."]
            assert "cortext hook" not in screen
        log = tool.home / ".local/share/cortext/errors.log"
        assert not log.exists() or log.read_text(encoding="utf-8") == ""


def kept(tool: Tool, count: int) -> list[str]:
    """What the only conversation holds, once it is that much."""
    deadline = time.monotonic() + 30
    while True:
        paths = tool.project.glob("conversations/*/*/.session/messages.jsonl")
        lines = [line for path in paths for line in path.read_bytes().split(b"\n") if line]
        if len(lines) >= count or time.monotonic() > deadline:
            return [json.loads(line)["content"] for line in lines]
        time.sleep(0.05)
