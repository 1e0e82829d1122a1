"""Conversations had in the real tools are captured word for word, by `stop` and by hooks alone."""

import json
import time
from pathlib import Path

import pytest

from cortext.features.capture.bindings import bind
from tests.command import SCRIPT, ok
from tests.tools.real.captured_person import Person
from tests.tools.real.four_tools import FOUR
from tests.tools.real.install import PACKAGES
from tests.tools.real.launch import Tool
from tests.tools.real.record import READ, TURNS, Said, converse, repository, say
from tests.tools.real.shell_calls import SHELL
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]

HOOKED = [(name, v) for name, it in PACKAGES.items() if name != "opencode" for v in it.versions]


def install_hooks(tool: Tool) -> None:
    """As a person's settings have them; OpenCode has none."""
    call = f"{SCRIPT} hook {tool.name}"
    tool.configure(tool.project)
    if tool.name == "claude":
        events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact")
        hooks = {e: [{"hooks": [{"type": "command", "command": f"{call} {e}"}]}] for e in events}
        path = tool.home / ".claude/settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    elif tool.name == "gemini":
        path = tool.home / ".gemini/settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        events = ("SessionStart", "AfterAgent")
        settings["hooks"] = {
            e: [{"hooks": [{"type": "command", "command": f"{call} {e}"}]}] for e in events
        }
        path.write_text(json.dumps(settings), encoding="utf-8")
    elif tool.name == "codex":
        path = tool.home / ".codex/config.toml"
        # Codex does not wait for it, and the harness ends all that is left of its group.
        notify = json.dumps(["setsid", SCRIPT, "hook", "codex", "agent-turn-complete"])
        path.write_text(f"notify = {notify}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def check_whole(person: Person, said: Said) -> None:
    """All that was said, the tool call and what it read, in the order of time, none twice."""
    assert person.said == said
    messages = person.messages
    calls = [call for m in messages for call in m.get("tool_calls") or ()]
    assert [call["name"] for call in calls] == [READ[person.tool.name].name]
    results = [m for m in messages if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in results] == [call["id"] for call in calls]
    assert "The cache is never emptied." in results[0]["content"]
    assert len({m["id"] for m in messages}) == len(messages)
    assert [m["timestamp"] for m in messages] == sorted(m["timestamp"] for m in messages)


@pytest.mark.parametrize("name", FOUR)
def test_stop_captures_tool_session_word_for_word(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """Word for word, with model, tools and tokens; stopped again, not a byte changes."""
    with Stub() as stub:
        person = Person(name, tmp_path, stub, monkeypatch)
        said = converse(person.tool, stub)
        person.bind(after="")
        ok(person.tool.project, "stop", person.id)
        check_whole(person, said)
        agent = person.head["agent_config"]
        assert agent["tools"] == [READ[name].name]
        assert agent["model"]
        assert person.head["token_count_from"] == "tool"
        before = person.bytes()
        ok(person.tool.project, "stop", person.id)
        assert person.bytes() == before


@pytest.mark.parametrize(("name", "version"), HOOKED)
def test_hooks_capture_every_turn_without_stop(
    name: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """Nobody calls stop: after each turn it is there, and the log of errors is empty."""
    with Stub() as stub:
        person = Person(name, tmp_path, stub, monkeypatch, version)
        install_hooks(person.tool)
        repository(person.tool.project)
        stub.say("Hello.")
        assert person.tool.run("Hi.").code == 0
        session = person.bind(after="")
        said: Said = [("user", "Hi."), ("assistant", "Hello.")]
        for prompt, answer in TURNS:
            say(person.tool, stub, prompt, [answer], session)
            said += [("user", prompt), ("assistant", answer)]
            person.await_said(said)
        log = tmp_path / "home/.local/share/cortext/errors.log"
        assert not log.exists() or log.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("name", [name for name in FOUR if name != "gemini"])
def test_capture_of_session_and_fork_stores_shared_messages_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """A session and its fork, both of one conversation: what they share is taken once."""
    with Stub() as stub:
        person = Person(name, tmp_path, stub, monkeypatch)
        tool = person.tool
        repository(tool.project)
        call = READ[name]
        given = {key: value.format(project=tool.project) for key, value in call.input.items()}
        say(tool, stub, "First?", [Call(call.name, given), "One."], "")
        session = person.bind(after="")
        stub.say("Two.")
        if name == "codex":
            arguments = ["exec", "--skip-git-repo-check", "fork", session, "Second?"]
            assert tool.start(arguments).code == 0
        else:
            option = "--fork-session" if name == "claude" else "--fork"
            assert tool.run("Second?", resume=session, options=[option]).code == 0
        (fork,) = set(tool.sessions()) - {session}
        ok(tool.project, "stop", person.id)
        assert person.said == [("user", "First?"), ("assistant", "One.")]
        bind(person.bound, name, fork, after="")
        ok(tool.project, "stop", person.id)
        said = [("user", "First?"), ("assistant", "One."), ("user", "Second?")]
        assert person.said == [*said, ("assistant", "Two.")]
        assert [m["role"] for m in person.messages].count("tool") == 1


@pytest.mark.parametrize("name", FOUR)
def test_stop_run_by_agent_captures_current_session(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """The agent runs `cortext stop`: the session's conversation is captured, up to that call."""
    with Stub() as stub:
        person = Person(name, tmp_path, stub, monkeypatch)
        tool = person.tool
        say(tool, stub, "First?", ["One."], "")
        session = person.bind(after="")
        shell, key, options = SHELL[name]
        stub.say(Call(shell, {key: f"{SCRIPT} stop", "description": "Stop"}), "Stopped.")
        if name == "codex":
            arguments, prompt = tool.turn("Save it.", session)
            done = tool.start([arguments[0], *options, *arguments[1:]], given=prompt)
        else:
            done = tool.run("Save it.", resume=session, options=options)
        assert done.code == 0, done
        assert (person.head["status"], person.head["stop_reason"]) == ("paused", "user")
        assert person.said == [("user", "First?"), ("assistant", "One."), ("user", "Save it.")]
        assert [entry["session_id"] for entry in person.head["native"]] == [session]


def test_hooks_capture_each_message_once_across_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """Claude Code sums up and goes on: all that people and agents said is there, and once."""
    with Stub() as stub:
        person = Person("claude", tmp_path, stub, monkeypatch)
        install_hooks(person.tool)
        say(person.tool, stub, "First?", ["One."], "")
        session = person.bind(after="")
        say(person.tool, stub, "Second?", ["Two."], session)
        stub.say("<summary>One and two.</summary>")
        assert person.tool.run("/compact", resume=session).code == 0
        say(person.tool, stub, "Third?", ["Three."], session)
        texts = [text for _, text in person.said if not text.startswith("/compact")]
        assert texts == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]
        before = person.bytes()[0]
        ok(person.tool.project, "stop", person.id)
        assert person.bytes()[0] == before


def test_closing_phrase_pauses_conversation_before_claude_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """The conversation is saved before the agent answers, and the agent is told to confirm."""
    with Stub() as stub:
        person = Person("claude", tmp_path, stub, monkeypatch)
        install_hooks(person.tool)
        repository(person.tool.project)
        say(person.tool, stub, "First?", ["One."], "")
        session = person.bind(after="")
        say(person.tool, stub, "That's enough for now, thanks!", ["Saved."], session)
        assert "Confirm this in one line" in json.dumps(stub.asked[-1])
        assert person.head["status"] == "paused"
        assert person.said == [("user", "First?"), ("assistant", "One.")]
        say(person.tool, stub, "Back again.", ["Welcome."], session)
        assert person.head["status"] == "active"
        assert [text for _, text in person.said] == [
            "First?", "One.", "That's enough for now, thanks!", "Saved.", "Back again.", "Welcome.",
        ]  # fmt: skip


@pytest.mark.parametrize("name", ["gemini", "codex"])
def test_closing_phrase_pauses_conversation_after_gemini_or_codex_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """The agent answers as it likes; then all of it is saved and paused."""
    with Stub() as stub:
        person = Person(name, tmp_path, stub, monkeypatch)
        install_hooks(person.tool)
        say(person.tool, stub, "First?", ["One."], "")
        session = person.bind(after="")
        say(person.tool, stub, "Let's continue tomorrow.", ["Until tomorrow."], session)
        said = [("user", "First?"), ("assistant", "One.")]
        said += [("user", "Let's continue tomorrow."), ("assistant", "Until tomorrow.")]
        person.await_said(said)
        deadline = time.monotonic() + 20
        while person.head["status"] != "paused" and time.monotonic() < deadline:
            time.sleep(0.02)
        assert person.head["status"] == "paused"
