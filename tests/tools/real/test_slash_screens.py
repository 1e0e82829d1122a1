"""Our slash commands in the real tools' own screens, under tmux, as a person uses them."""

import json
from pathlib import Path

import pytest

from tests.tools.real.commands import HOSTILE, PINNED, cortext, heads, pwned, set_up, shell
from tests.tools.real.launch import Tool
from tests.tools.real.screens import keep, new_session, opened, say, send
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
    pytest.mark.needs("tmux", "to have a screen"),
]
SUMMARY = "REST is settled, and paging is open."


@pytest.mark.parametrize(("name", "version"), PINNED)
def test_slash_commands_work_from_menu_of_tool_screen(
    name: str, version: str, tmp_path: Path
) -> None:
    """Brainstorm, stop and resume, each chosen from the tool's own menu."""
    with Stub() as stub:
        tool = set_up(name, tmp_path / "root", stub.url, version)
        with opened(tool) as terminal:
            stub.say("What is fixed about it?")
            told = send(terminal, stub, "workspace.brainstorm", "API design")
            assert "# Brainstorm" in told
            terminal.shows("What is fixed about it?")
            (head,) = heads(tool)
            assert head["title"] == "API design"

            stub.say(shell(tool, f'cortext slash stop "{SUMMARY}"'), "All of it is saved.")
            told = send(terminal, stub, "workspace.stop-conversation")
            assert f"{head['conversation_id']}/brainstorm.md" in told
            terminal.shows("All of it is saved.")
            (head,) = heads(tool)
            assert (head["status"], head["context_summary"]) == ("paused", SUMMARY)

        with opened(tool) as terminal:
            stub.say("Which of them?")
            told = send(terminal, stub, "workspace.resume")
            assert "1. [brainstorm] API design" in told
            assert f"Summary: {SUMMARY}" in told
            keep(f"{name}-{version}-list", terminal.shows("Which of them?"))

            stub.say('[Resuming "API design"] REST is settled.')
            told = send(terminal, stub, "workspace.resume", "api design")
            assert "[RESUMED CONVERSATION]" in told
            assert "What is fixed about it?" in told
            keep(f"{name}-{version}-resumed", terminal.shows("REST is settled."))
            assert heads(tool)[0]["status"] == "active"


@pytest.mark.parametrize(("name", "version"), PINNED)
def test_hostile_words_pasted_on_screen_reach_model_and_run_nothing(
    name: str, version: str, tmp_path: Path
) -> None:
    """Pasted after a command they are words: nothing runs, and the model is told them."""
    with Stub(["Well."] * 40) as stub:
        tool = set_up(name, tmp_path / "root", stub.url, version)
        cortext(tool, "new", "plan", "Something to find")
        for words in HOSTILE:
            with opened(tool) as terminal:
                told = send(terminal, stub, "workspace.resume", words)
                assert words.split()[0] in told, told
                terminal.shows("Well.")
                assert pwned(tool) == [], words


def test_opencode_sessions_after_new_are_captured_separately(tmp_path: Path) -> None:
    """OpenCode after `/new`: what is said there is kept, and nothing of the session before; what
    was not stopped is resumed with all of it."""
    with Stub() as stub:
        tool = set_up("opencode", tmp_path / "root", stub.url)
        with opened(tool) as terminal:
            say(terminal, stub, "Hello there", "First answer.")
            new_session(terminal)
            stub.say("What is fixed about it?")
            send(terminal, stub, "workspace.brainstorm", "API design")
            terminal.shows("What is fixed about it?")
            say(terminal, stub, "More of it please", "Second answer.")
            stub.say(shell(tool, f'cortext slash stop "{SUMMARY}"'), "All of it is saved.")
            send(terminal, stub, "workspace.stop-conversation")
            terminal.shows("All of it is saved.")
            (head,) = heads(tool)
            assert (head["status"], len(head["native"])) == ("paused", 1)
            assert head["native"][0]["session_id"] in tool.sessions()
            told = kept(tool)
            assert told[:4] == [
                "/workspace.brainstorm API design",
                "What is fixed about it?",
                "More of it please",
                "Second answer.",
            ]

            new_session(terminal)
            stub.say("Which one?")
            send(terminal, stub, "workspace.resume", "api design")
            terminal.shows("Which one?")
            say(terminal, stub, "Once more", "Third answer.")
            new_session(terminal)
            stub.say("It goes on.")
            told = send(terminal, stub, "workspace.resume", "api design")
            assert "Third answer." in told
            assert "First answer." not in told


def kept(tool: Tool) -> list[str]:
    """What the only conversation has, in order."""
    (path,) = tool.project.glob("conversations/*/*/.session/messages.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["content"] for line in lines]
