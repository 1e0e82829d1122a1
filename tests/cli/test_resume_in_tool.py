"""Going on with a conversation that was had in a tool: what changes, and what does not."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.fake_tools import install
from tests.cli.list_terminal import terminal
from tests.cli.tool_workspace import ID, TURNS, Place
from tests.command import begin, change_head, cortext, folder_of, head_of, ok
from tests.homes import move_project, said


@pytest.fixture
def tool_place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_resume_print_keeps_status_time_and_last_used_tool(tool_place: Place) -> None:
    """Nor is the tool of a command line that nobody started the last one used."""
    before = tool_place.head()
    line = tool_place.ok("resume", tool_place.key, "--tool", "codex", "--print", "--write")
    assert " && codex resume " in line
    after = tool_place.head()
    assert [after[name] for name in ("status", "last_active")] == [
        before[name] for name in ("status", "last_active")
    ]
    assert f"claude --resume {ID}" in tool_place.ok("resume", tool_place.key, "--print", "--write")


def test_resume_picks_last_used_tool_without_its_transcripts(
    tool_place: Place, tmp_path: Path
) -> None:
    """As on another machine: one that it was only made ready for is not that tool."""
    tool_place.ok("resume", tool_place.key, "--tool", "codex", "--print", "--write")
    assert [entry["tool"] for entry in tool_place.head()["native"]] == ["claude", "codex"]
    other = {
        **tool_place.env,
        "HOME": str(tmp_path / "other"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    line = ok(tool_place.root, "resume", tool_place.key, "--print", "--write", env=other)
    assert " && claude --resume " in line


def test_resume_print_creates_paused_conversation_from_tool_session(tool_place: Place) -> None:
    """The conversation that it becomes rests, since when the session did."""
    id, _ = said("gemini")
    tool_place.ok("resume", id, "--tool", "codex", "--print", "--write")
    rows = json.loads(tool_place.ok("list", "--json"))
    (row,) = [row for row in rows if row["id"].startswith("002-chat")]
    assert (row["status"], row["last_active"][:4]) == ("paused", "2026")
    assert "is active" not in cortext(tool_place.root, "stop", env=tool_place.env).stdout
    assert head_of(tool_place.root, row["id"])["status"] == "paused"


def test_resume_print_json_has_command_folder_and_session(tool_place: Place) -> None:
    """For programs: the words, the folder, and the session."""
    plan = json.loads(tool_place.ok("resume", tool_place.key, "--print", "--write", "--json"))
    assert plan["command"][:3] == ["claude", "--resume", ID]
    assert (plan["way"], plan["session"], plan["conversation"]) == ("native", ID, tool_place.key)
    assert plan["cwd"] == str(tool_place.root)


def test_resume_refuses_conversation_open_in_another_tool(tool_place: Place) -> None:
    """It is not opened a second time without a word, and what is refused changes nothing."""
    change_head(tool_place.root, tool_place.key, status="paused")
    before = (folder_of(tool_place.root, tool_place.key) / ".session/session.json").read_bytes()
    words = [tool_place.programs / "claude", "--resume", ID]
    env = {**os.environ, **tool_place.env}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=env) as live:
        done = cortext(
            tool_place.root,
            "resume",
            tool_place.key,
            "--tool",
            "codex",
            "--print",
            "--write",
            env=tool_place.env,
        )
        live.kill()
    assert (done.returncode, done.stdout) == (1, "")
    assert "this conversation is open in claude" in done.stderr
    assert (
        folder_of(tool_place.root, tool_place.key) / ".session/session.json"
    ).read_bytes() == before


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_resume_fork_creates_conversation_bound_to_copy(tool_place: Place, tool: str) -> None:
    """Bound to the copy, and said; the other stays as it is."""
    before, original = tool_place.head(), folder_of(tool_place.root, tool_place.key)
    done = cortext(
        tool_place.root,
        "resume",
        tool_place.key,
        "--fork",
        "--tool",
        tool,
        "--print",
        "--write",
        env=tool_place.env,
    )
    assert done.returncode == 0, done.stderr
    (folder,) = set(tool_place.root.glob("conversations/20*/*")) - {original}
    head = json.loads((folder / ".session/session.json").read_text(encoding="utf-8"))
    assert re.search(rf"The copy is (\S+/)?{folder.name}\.\n", done.stderr)
    assert head["parent_id"] == tool_place.key
    assert [entry["tool"] for entry in head["native"]] == [tool]
    assert head["native"][0]["session_id"] in done.stdout
    assert json.loads((original / ".session/session.json").read_text(encoding="utf-8")) == before
    texts = [text for _, text in TURNS]
    shown = json.loads(tool_place.ok("show", f"{folder.parent.name}/{folder.name}", "--json"))[
        "messages"
    ]
    assert [m["content"] for m in shown if m["content"] in texts] == texts


@pytest.mark.parametrize(
    "words", [["show"], ["export"], ["resume", "--context"], ["resume", "--json"]]
)
def test_commands_show_tool_messages_added_without_hook(
    tool_place: Place, words: list[str]
) -> None:
    """What was said in the tool since, without a hook."""
    tool_place.say_more("And what of the night shift?")
    assert "And what of the night shift?" in tool_place.ok(*words, tool_place.key)


def test_resume_warns_about_changed_agent_instructions(tool_place: Place) -> None:
    """As in a briefing."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in tool_place.env.items():
            patch.setenv(name, value)
        id = begin(tool_place.root, "plan", "Speed", "How fast?", "Very.")
    path = tool_place.root / ".workspace/commands/plan.md"
    path.write_text(path.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    done = cortext(
        tool_place.root, "resume", id, "--tool", "codex", "--print", "--write", env=tool_place.env
    )
    assert "the agent's instructions have changed" in done.stderr


def test_resume_opens_empty_conversation_in_codex_with_instructions(tool_place: Place) -> None:
    """Which has no command of ours: what is written for it says what it is to do."""
    key = Path(tool_place.ok("new", "brainstorm", "Speed").strip()).parent.name
    line = tool_place.ok("resume", key, "--tool", "codex", "--print", "--write")
    folder = Path(tool_place.env["HOME"], ".codex/sessions")
    (path,) = folder.rglob(f"*{line.split()[-1]}.jsonl")
    written = path.read_text(encoding="utf-8")
    assert ("# Brainstorm" in written, "[RESUMED CONVERSATION]" in written) == (True, True)
    assert tool_place.ok("resume", key, "--tool", "codex", "--print", "--write") == line


@pytest.mark.parametrize("tool", ["claude", "gemini", "opencode"])
def test_resume_opens_empty_conversation_in_tool_without_setup(
    tool_place: Place, tool: str
) -> None:
    key = Path(tool_place.ok("new", "brainstorm", "Nothing said").strip()).parent.name
    install(tool_place.programs, tool)
    words = ("resume", "nothing said", "--tool", tool, "--print")
    done = cortext(tool_place.root, *words, "--write", env=tool_place.env)
    assert (done.returncode, "Could not write" in done.stderr) == (0, False), done.stderr
    assert f" {tool}" in done.stdout
    asks_agent = f"cortext slash briefing {key}" in done.stdout
    assert asks_agent == (tool != "opencode")
    plain = cortext(tool_place.root, *words, env=tool_place.env)
    assert plain.stdout == (done.stdout if asks_agent else "")
    assert ("--print --write" in plain.stderr) != asks_agent


def test_resume_refuses_completed_conversation_with_single_message(tool_place: Place) -> None:
    """In one sentence, without a terminal."""
    change_head(tool_place.root, tool_place.key, status="completed")
    done = cortext(tool_place.root, "resume", tool_place.key, env=tool_place.env)
    assert done.returncode == 1
    assert done.stderr.count("marked complete") == 1


def test_list_keeps_personal_conversations_after_init_in_their_folder(tmp_path: Path) -> None:
    """A folder that becomes a workspace keeps listing them."""
    person = Place(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    move_project(person.homes, person.root)
    for path in person.homes.home.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8").replace(str(person.root), str(plain))
        path.write_text(text, encoding="utf-8")
    id, _ = said("codex")
    ok(plain, "resume", id, "--tool", "claude", "--print", "--write", env=person.env)
    (before,) = [
        row["id"]
        for row in json.loads(ok(plain, "list", "--json", env=person.env))
        if "codex" in row["tools"] and row["workspace"]
    ]
    ok(plain, "init", env=person.env)
    assert before in ok(plain, "list", env=person.env)
    assert before in ok(plain, "show", before, env=person.env)
    other = tmp_path / "plain and more"
    other.mkdir()
    ok(other, "init", env=person.env)
    assert before not in ok(other, "list", env=person.env)


def test_resume_marks_conversation_active_only_when_tool_starts(
    tool_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike one that is only printed; and a "no" to a copy changes nothing."""
    for name, value in tool_place.env.items():
        monkeypatch.setenv(name, value)
    words = [tool_place.programs / "claude", "--resume", ID]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as live:
        shown = terminal(
            tool_place.root, ["resume", tool_place.key, "--tool", "codex"], answers=["n"]
        )
        live.kill()
    assert "continue in a copy?" in shown.text
    assert (shown.code, tool_place.head()["status"]) == (1, "paused"), shown.text
    terminal(tool_place.root, ["resume", tool_place.key, "--tool", "codex"], answers=["bye"])
    assert tool_place.head()["status"] == "active"


def test_import_json_marks_conversation_as_new_only_once(tool_place: Place) -> None:
    """What is here now, and whether it is new."""
    id, _ = said("gemini")
    (new,) = json.loads(tool_place.ok("import", id, "--json"))
    assert new["new"]
    assert json.loads(tool_place.ok("import", id, "--json")) == [{**new, "new": False}]


def files_below(root: Path) -> dict[str, bytes]:
    folder = root / "conversations"
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_resume_print_of_native_session_changes_no_file(tool_place: Place) -> None:
    before = files_below(tool_place.root)
    line = tool_place.ok("resume", tool_place.key, "--print")
    assert f"claude --resume {ID}" in line
    assert files_below(tool_place.root) == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--tool", "codex"], "Codex cannot resume this conversation yet"),
        (["--fork"], "the copy of this conversation does not exist yet"),
    ],
)
def test_resume_print_refuses_to_write_session_and_names_write_option(
    tool_place: Place, options: list[str], reason: str
) -> None:
    before = files_below(tool_place.root)
    words = ("resume", tool_place.key, *options, "--print")
    done = cortext(tool_place.root, *words, env=tool_place.env)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: {reason}\nhint: `--print --write` creates " in done.stderr
    assert files_below(tool_place.root) == before
    assert tool_place.ok(*words, "--write")


def test_resume_print_makes_no_conversation_of_other_tools_session(tool_place: Place) -> None:
    before = files_below(tool_place.root)
    id, _ = said("gemini")
    words = ("resume", id, "--tool", "codex", "--print")
    assert cortext(tool_place.root, *words, env=tool_place.env).returncode == 1
    assert files_below(tool_place.root) == before


def test_resume_refuses_write_without_print(tool_place: Place) -> None:
    done = cortext(tool_place.root, "resume", tool_place.key, "--write", env=tool_place.env)
    assert (done.returncode, "--write is only for --print" in done.stderr) == (2, True)
