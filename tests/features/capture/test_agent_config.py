"""The model and the MCP servers of an agent, in `agent_config` as soon as they are known."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortext.features.capture.bindings import bind
from cortext.features.capture.hook_events import hook
from cortext.features.errors_log import last_errors
from cortext.features.resume.agent_temp_files import MODELS, folder_of
from cortext.tools.mcp_server_names import merge_tools, record_tools
from tests.command import head_of, ok
from tests.features.capture_bench import Bench

SESSION = "5e0c9d1e-aaaa-4bbb-8ccc-0123456789ab"
MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture
def config_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench("claude", tmp_path, monkeypatch)
    monkeypatch.chdir(made.workspace.root)
    return made


def configure(bench: Bench, *servers: str) -> None:
    """Give all four tools these MCP servers."""
    root, entries = Path(bench.workspace.root), {name: {"command": "x"} for name in servers}
    for name, key in (
        (".mcp.json", "mcpServers"),
        (".gemini/settings.json", "mcpServers"),
        ("opencode.json", "mcp"),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(json.dumps({key: entries}), encoding="utf-8")
    tables = [f'[mcp_servers."{name}"]\ncommand = "x"\n' for name in servers]
    (bench.home / ".codex").mkdir(exist_ok=True)
    (bench.home / ".codex/config.toml").write_text("".join(tables), encoding="utf-8")


def call(event: str, bench: Bench, id: str = SESSION, **more: str) -> None:
    hook("claude", event, {"session_id": id, "cwd": bench.workspace.root, **more})


def begin_in_claude(bench: Bench, *command: str) -> dict[str, Any]:
    """Run a command inside a session of Claude Code; the `agent_config` that it makes."""
    inside = {"CLAUDE_CODE_SESSION_ID": SESSION}
    ok(Path(bench.workspace.root), *command, "brainstorm", "Topic", env=inside)
    return head_of(Path(bench.workspace.root), "002-brainstorm-topic")["agent_config"]


@pytest.mark.parametrize("command", [["slash", "new"], ["new"]])
def test_new_conversation_records_model_of_hook_and_mcp_servers(
    config_bench: Bench, command: list[str]
) -> None:
    configure(config_bench, "github", "notes")
    call("SessionStart", config_bench, model=MODEL)
    found = begin_in_claude(config_bench, *command)
    assert (found["agent"], found["model"]) == ("claude", MODEL)
    assert found["tools"] == ["mcp__github", "mcp__notes"]


@pytest.mark.parametrize("command", [["slash", "new"], ["new"]])
def test_unknown_model_and_tools_stay_null(config_bench: Bench, command: list[str]) -> None:
    call("SessionStart", config_bench, model=MODEL)
    call("SessionEnd", config_bench)
    found = begin_in_claude(config_bench, *command)
    assert (found["model"], found["tools"]) == (None, None)


def test_binding_records_model_of_transcript(config_bench: Bench) -> None:
    bind(config_bench.begin("Other"), "claude", config_bench.session, str(config_bench.transcript))
    head = head_of(Path(config_bench.workspace.root), "002-brainstorm-other")
    assert head["agent_config"]["model"].startswith("claude-")


@pytest.mark.parametrize("tool", ["claude", "opencode", "gemini", "codex"])
def test_binding_records_the_servers_of_each_tool(config_bench: Bench, tool: str) -> None:
    configure(config_bench, "github")
    bind(config_bench.bound, tool, SESSION)
    found = config_bench.head()["agent_config"]
    assert (found["agent"], found["model"], found["tools"]) == (tool, None, ["mcp__github"])


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_hook_writes_the_model_into_a_bound_conversation(config_bench: Bench, event: str) -> None:
    bind(config_bench.bound, "claude", SESSION)
    configure(config_bench, "github")
    call(event, config_bench, model=MODEL)
    found = config_bench.head()["agent_config"]
    assert (found["model"], found["tools"]) == (MODEL, ["mcp__github"])


def test_hook_captures_when_model_cannot_be_stored(config_bench: Bench) -> None:
    config_bench.bind()
    models = Path(folder_of(MODELS))
    models.parent.mkdir(parents=True, exist_ok=True)
    models.write_text("in the way", encoding="utf-8")
    call("Stop", config_bench, id=config_bench.session, model=MODEL)
    assert config_bench.said() == config_bench.expected
    assert "saving the model of a session: " in "\n".join(last_errors())


def test_capture_records_model_and_tools_of_transcript_before_stop(config_bench: Bench) -> None:
    first = next(n for n, line in enumerate(config_bench.lines) if b'"type":"assistant"' in line)
    config_bench.write(config_bench.lines[:first])
    configure(config_bench, "github")
    call("SessionStart", config_bench, id=config_bench.session, model="opus")
    config_bench.bind()
    config_bench.capture()
    assert config_bench.head()["agent_config"]["model"] == "opus"
    config_bench.write(config_bench.lines)
    config_bench.capture()
    found = config_bench.head()["agent_config"]
    assert found["model"].startswith("claude-")
    assert {"mcp__github", "Read"} <= set(found["tools"])


def test_merge_tools_replaces_server_with_its_called_tools() -> None:
    assert merge_tools(["mcp__a", "mcp__b"], ["mcp__a__find", "Bash"]) == [
        "mcp__b",
        "mcp__a__find",
        "Bash",
    ]
    assert merge_tools(["mcp__web"], ["web_fetch"]) == ["mcp__web", "web_fetch"]


def test_tools_of_opencode_are_recorded_with_their_server() -> None:
    called = ["tracker_find", "bash", "my_box_read_all"]
    assert record_tools("opencode", called, ["tracker", "my-box", "idle"]) == [
        "bash",
        "mcp__my-box__read_all",
        "mcp__tracker__find",
        "mcp__idle",
    ]
    assert record_tools("gemini", ["web_fetch"], ["web"]) == ["web_fetch", "mcp__web"]
