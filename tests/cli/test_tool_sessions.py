"""The sessions of AI tools on the command line, as the real tools wrote them."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.fake_tools import install
from tests.command import begin, cortext, ok
from tests.homes import Homes, lay_out, move_project, said, sessions
from tests.loaded_modules import loaded_by

TOOLS = ("claude", "codex", "gemini", "opencode")
COUNT = sum(len(sessions(tool)) for tool in TOOLS)


class Place:
    """A workspace in which all four tools were used."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "space"
        (self.root / ".workspace").mkdir(parents=True)
        self.homes: Homes = lay_out(folder)
        move_project(self.homes, self.root)
        self.env: Mapping[str, str] = {
            **self.homes.environment,
            "XDG_CONFIG_HOME": str(folder / "config"),
            # Nothing goes on after a command; `sync` is asked for where it is meant.
            "CI": "true",
        }

    def ok(self, *args: str) -> str:
        return ok(self.root, *args, env=self.env)

    def refused(self, code: int, *args: str) -> str:
        done = cortext(self.root, *args, env=self.env)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done.stderr


@pytest.fixture
def four_tools_place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_list_shows_sessions_of_all_tools_and_filters_by_tool(four_tools_place: Place) -> None:
    """Beside the conversations of the workspace, with the tool's name; `--tool` chooses."""
    begin_id = _begin(four_tools_place)
    table = four_tools_place.ok("list")
    assert table.splitlines()[0].split()[-2:] == ["TOOL", "TITLE"]
    choice = four_tools_place.ok("resume", "--list")
    for tool in TOOLS:
        id = said(tool)[0]
        assert id in table
        assert f"   {id} | " in choice
        assert f"Status: paused | Tool: {tool}\n" in choice
        rows = json.loads(four_tools_place.ok("list", "--tool", tool, "--json"))
        assert {row["id"] for row in rows} == set(sessions(tool))
        assert all(row["tool"] == tool and row["workspace"] is None for row in rows)
        assert all(row["cwd"] == str(four_tools_place.root) for row in rows)
    assert begin_id in table
    assert len(json.loads(four_tools_place.ok("list", "--json"))) == COUNT + 1
    assert len(json.loads(four_tools_place.ok("list", "--json", "--type", "chat"))) == COUNT


def _begin(place: Place) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place.env.items():
            patch.setenv(name, value)
        return begin(place.root, "plan", "a plan", "hello")


@pytest.mark.parametrize("tool", TOOLS)
def test_show_and_export_contain_all_messages_of_tool_session(
    four_tools_place: Place, tool: str
) -> None:
    """All that was said; tool calls short or in full."""
    id, words = said(tool)
    shown = four_tools_place.ok("show", id, "--stubs")
    exported = four_tools_place.ok("export", id[:12], "--format", "json")
    messages = json.loads(exported)["messages"]
    spoken = [m for m in messages if m["role"] in ("user", "assistant") and m["content"]]
    assert [[m["role"], m["content"]] for m in spoken] == words
    assert all(text in shown for _, text in words if "\n" not in text)
    facts = json.loads(four_tools_place.ok("show", id, "--json"))
    assert (facts["tool"], facts["status"]) == (tool, "paused")
    assert facts["transcript"] in shown
    assert "--message" in shown
    assert "--message" not in four_tools_place.ok("show", id, "--full")


def test_show_finds_tool_session_by_message_words_but_rename_does_not(
    four_tools_place: Place,
) -> None:
    """A session is found by them; where several are, they are named and the exit code is 4."""
    said_so = cortext(four_tools_place.root, "show", "emptied every hour", env=four_tools_place.env)
    assert said_so.returncode == 4
    assert said_so.stderr.startswith(
        "No title matches; found in the text of these conversations:\n"
    )
    for tool in TOOLS:
        assert said(tool)[0] in said_so.stderr
    # What changes something does not go by what was said.
    assert "not found" in four_tools_place.refused(3, "rename", "emptied every hour", "x")


@pytest.mark.parametrize("tool", TOOLS)
def test_rename_and_tag_turn_tool_session_into_single_conversation(
    four_tools_place: Place, tool: str
) -> None:
    """Once, with all that was said, and says so; what the tool keeps stays as it is."""
    id, words = said(tool)
    path = four_tools_place.homes.transcript(tool)
    before = path.read_bytes()
    assert "must not be empty" in four_tools_place.refused(1, "rename", id, " ")
    assert four_tools_place.ok("tag", id) == ""
    assert sorted(path.name for path in four_tools_place.root.iterdir()) == [".workspace"]
    done = cortext(
        four_tools_place.root, "rename", id, "Quick", "reading", env=four_tools_place.env
    )
    kept = json.loads(four_tools_place.ok("show", "Quick reading", "--json"))
    assert done.stdout == f'Renamed {kept["id"]} to "Quick reading".\n'
    assert f"Saved {id} as the conversation {kept['id']}.\n" in done.stderr
    spoken = [m for m in kept["messages"] if m["role"] in ("user", "assistant") and m["content"]]
    assert [[m["role"], m["content"]] for m in spoken] == words
    again = cortext(four_tools_place.root, "tag", id, "x", env=four_tools_place.env)
    assert (again.stdout, again.stderr) == ("x\n", f"Tags of {kept['id']}:\n")
    assert [
        row["id"] for row in json.loads(four_tools_place.ok("list", "--json", "--tag", "x"))
    ] == [kept["id"]]
    assert path.read_bytes() == before


@pytest.mark.parametrize("words", [["tag", "{}", "x"], ["fork", "{}"]], ids=["tag", "fork"])
def test_tag_and_fork_create_conversation_in_workspace_of_session(
    four_tools_place: Place, words: list[str]
) -> None:
    """In the workspace that it was had in, whose folder is named then."""
    id, _ = said("claude")
    away = four_tools_place.root.parent / "away"
    away.mkdir()
    done = cortext(away, *(word.format(id) for word in words), env=four_tools_place.env)
    assert done.returncode == 0, done.stderr
    kept = json.loads(four_tools_place.ok("show", id, "--json"))["id"]
    assert f"Saved {id} as the conversation {kept} in {four_tools_place.root}.\n" in done.stderr
    assert (four_tools_place.root / "conversations").is_dir()


def test_archived_sessions_stay_listed_after_tools_delete_transcripts(
    four_tools_place: Place,
) -> None:
    """After sync, when tools and catalog are gone: listed, found, shown as before."""
    before = {row["id"]: row for row in json.loads(four_tools_place.ok("list", "--json"))}
    shown = {tool: four_tools_place.ok("show", said(tool)[0], "--json") for tool in TOOLS}
    four_tools_place.ok("sync")
    for path in four_tools_place.homes.own.values():
        shutil.rmtree(path)
    for path in (four_tools_place.homes.data / "cortext").glob("catalog*"):
        path.unlink()
    after = {row["id"]: row for row in json.loads(four_tools_place.ok("list", "--json"))}
    assert set(before) == set(after)
    for id, row in after.items():
        assert {**row, "transcript": ""} == {**before[id], "transcript": ""}
    for tool in TOOLS:
        now = json.loads(four_tools_place.ok("show", said(tool)[0], "--json"))
        assert now["messages"] == json.loads(shown[tool])["messages"]
        assert "/archive/" in now["transcript"]


@pytest.mark.parametrize("tool", TOOLS)
def test_delete_trashes_archive_copy_and_names_remaining_transcript(
    four_tools_place: Place, tool: str
) -> None:
    """Our copy goes to the trash, and it is said where the tool's own remains."""
    id, _ = said(tool)
    four_tools_place.ok("sync")
    path = four_tools_place.homes.transcript(tool)
    done = four_tools_place.ok("delete", id, "--yes")
    assert str(path) in done
    assert path.exists()
    assert id in four_tools_place.ok("trash")


def test_show_lists_sub_agents_and_full_option_prints_their_messages(
    four_tools_place: Place,
) -> None:
    """They are named after the conversation, and told in full only where all is."""
    id, _ = said("claude")
    path = four_tools_place.homes.transcript("claude")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    side = [{**line, "isSidechain": True, "agentId": "a1"} for line in lines if "uuid" in line]
    folder = path.parent / id / "subagents"
    folder.mkdir(parents=True)
    text = "".join(f"{json.dumps(line)}\n" for line in side)
    (folder / "agent-a1.jsonl").write_text(text, encoding="utf-8")
    short, full = (four_tools_place.ok("show", id, how) for how in ("--stubs", "--full"))
    assert f"sub-agent · {id}.agent-a1" in short
    assert short.count("Decided: the cache is emptied every hour.") == 1
    assert full.count("Decided: the cache is emptied every hour.") == 2
    assert len(json.loads(four_tools_place.ok("show", id, "--json"))["sub_agents"]) == 1
    exported = cortext(four_tools_place.root, "export", id, env=four_tools_place.env)
    assert "The messages of 1 sub-agent are not included." in exported.stderr


def test_show_names_damaged_transcript_line_and_exits_5(four_tools_place: Place) -> None:
    """What cannot be read of a transcript is named, the rest is shown, and the exit code is 5."""
    id, words = said("claude")
    path = four_tools_place.homes.transcript("claude")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], b"{broken}\n", lines[-1]]))
    done = cortext(four_tools_place.root, "show", id, env=four_tools_place.env)
    assert done.returncode == 5
    assert f"{path}, line {len(lines)}" in done.stderr
    assert words[-1][1] in done.stdout


def test_list_and_doctor_explain_unreadable_file_without_errno(four_tools_place: Place) -> None:
    """Lists and doctor say which file it is and why, without a number of the system."""
    (four_tools_place.homes.archive("claude").parent / ".forgotten").mkdir(parents=True)
    settings = four_tools_place.homes.own["claude"] / "settings.json"
    settings.mkdir()
    listed = cortext(four_tools_place.root, "list", env=four_tools_place.env)
    found = cortext(four_tools_place.root, "doctor", env=four_tools_place.env)
    assert "/.forgotten cannot be read: " in listed.stderr
    assert f"{settings} cannot be read: " in found.stdout
    assert "[Errno" not in listed.stderr + found.stdout + found.stderr


@pytest.mark.parametrize("command", [["list"], ["resume", "--list"]])
def test_unchanged_list_loads_no_transcript_reader(
    four_tools_place: Place, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A copy made in the background would be a change.
    monkeypatch.setenv("CORTEXT_ARCHIVE_ENABLED", "off")
    # What was written just now is read again.
    for path in [*four_tools_place.homes.home.rglob("*"), *four_tools_place.homes.data.rglob("*")]:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    four_tools_place.ok("list")
    names = ("XDG_CACHE_HOME", "CORTEXT_ARCHIVE_ENABLED")
    places = {**four_tools_place.env, **{name: os.environ[name] for name in names}}
    variables = "; ".join(f"os.environ[{name!r}] = {value!r}" for name, value in places.items())
    loaded = loaded_by(
        f"import os; {variables}; os.chdir({str(four_tools_place.root)!r});"
        f" sys.argv = ['cortext', *{command!r}]; from cortext.cli.main import main;"
        " out, sys.stdout = sys.stdout, open(os.devnull, 'w'); main(); sys.stdout = out"
    )
    assert "cortext.tools.transcript_folders" in loaded
    assert loaded & {"rich", "rapidfuzz", "cortext.tools.claude.reader"} == set()


def test_stop_outside_workspace_names_personal_workspace_and_copy_command(
    four_tools_place: Place,
) -> None:
    """It is said where it is kept; lists name the folder that it was had in; and an import in a
    workspace that came later says that it is elsewhere, with the command that copies it."""
    (four_tools_place.root / ".workspace").rmdir()
    id, _ = said("claude")
    stopped = cortext(four_tools_place.root, "stop", id, env=four_tools_place.env)
    assert "Saved in your personal workspace" in stopped.stderr
    assert "`cortext init`" in stopped.stderr
    [row] = [row for row in json.loads(four_tools_place.ok("list", "--json")) if row["workspace"]]
    [line] = [
        line for line in four_tools_place.ok("list", "--all").splitlines() if row["id"] in line
    ]
    assert line.split()[1] == four_tools_place.root.name
    assert "personal" not in line
    again = cortext(four_tools_place.root, "stop", row["id"], env=four_tools_place.env)
    assert "personal" not in again.stderr
    (four_tools_place.root / ".workspace").mkdir()
    again = cortext(four_tools_place.root, "stop", row["id"], env=four_tools_place.env)
    assert "personal workspace, " in again.stderr
    assert f"`cortext export {row['id']} | cortext import -`" in again.stderr
    found = cortext(four_tools_place.root, "import", id, env=four_tools_place.env)
    assert found.stdout == f"already in {row['workspace']}: {row['id']}\n"
    path = f"{row['workspace']}/conversations/{row['created_at'][:10]}/{row['id']}"
    assert f"`cortext export {path} | cortext import -`" in found.stderr
    copy = four_tools_place.ok("export", path)
    (four_tools_place.root / "it.md").write_text(copy, encoding="utf-8")
    assert four_tools_place.ok("import", "it.md") == f"imported: {row['id']}\n"
    four_tools_place.ok("rename", row["id"], "Another of that id")
    assert four_tools_place.ok("export", row["id"]).startswith("# Another of that id\n")
    assert four_tools_place.ok("export", path) == copy


def test_resume_without_terminal_explains_why_tool_is_not_started(four_tools_place: Place) -> None:
    """Without a terminal the briefing is printed; who asked for a tool is told why, and how on."""
    id, _ = said("claude")
    programs = four_tools_place.root.parent / "programs"
    programs.mkdir()
    install(programs, "codex")
    env = {**four_tools_place.env, "PATH": f"{programs}:/usr/bin:/bin"}
    told = cortext(four_tools_place.root, "resume", id, "--tool", "codex", env=env)
    assert told.stdout.startswith("The ID of this conversation")
    assert "codex was not started: this is not a terminal.\n" in told.stderr
    assert "--print" in told.stderr
    for read in (["--context"], ["--json"]):
        assert (
            "started"
            not in cortext(
                four_tools_place.root, "resume", id, *read, env=four_tools_place.env
            ).stderr
        )
