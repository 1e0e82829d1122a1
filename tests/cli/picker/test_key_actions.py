"""What the picker's keys do to the conversation that is chosen, on real files."""

import json
from pathlib import Path

import pytest

from cortext.cli.picker.key_bindings import KEYS, hints
from cortext.cli.picker.picker_items import Chosen
from tests.cli.picker.picker_workspace import make_workspace, play, screen, shows, titles, until
from tests.command import begin, folder_of, head_of, ok


@pytest.fixture
def workspace_with_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:/usr/bin:/bin")
    for name in ("claude", "codex"):
        program = tmp_path / "programs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    return folder


@pytest.fixture
def id(workspace_with_tools: Path) -> str:
    return begin(workspace_with_tools, "plan", "Faster parser", "How fast is it?", "Forty lines.")


@pytest.mark.usefixtures("id")
@pytest.mark.parametrize(
    ("keys", "tool", "fork"),
    [(["enter"], "", False), (["ctrl+f"], "", True), (["ctrl+t", "o"], "codex", False)],
)
def test_picker_returns_chosen_row_with_tool_and_fork(
    keys: list[str], tool: str, fork: bool
) -> None:
    """It leaves with what is to be opened: as it was, in a copy, or in another tool."""

    async def story(pilot, picker) -> None:
        await pilot.press(*keys)

    chosen = play(story).return_value
    assert isinstance(chosen, Chosen)
    assert (chosen.row.title, chosen.tool, chosen.fork) == ("Faster parser", tool, fork)


def test_rename_key_changes_title_in_list_and_file(workspace_with_tools: Path, id: str) -> None:
    """The line has the title that it has; the list has the new one, and so has its file."""

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+r")
        await shows(pilot, "Title")
        await pilot.press(*" now", "enter")
        await shows(pilot, 'Renamed to "Faster parser now"')
        assert titles(picker) == ["Faster parser now"]

    play(story)
    assert head_of(workspace_with_tools, id)["title"] == "Faster parser now"


def test_rename_key_refuses_empty_title(workspace_with_tools: Path, id: str) -> None:
    """With the sentence of the command, and nothing is changed."""

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+r", "ctrl+u", "enter")
        await shows(pilot, "the title must not be empty")

    play(story)
    assert head_of(workspace_with_tools, id)["title"] == "Faster parser"


def test_tag_key_replaces_tags_of_conversation(workspace_with_tools: Path, id: str) -> None:
    """What stands in the line are the tags, and no others."""

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+g", *"speed #io", "enter")
        await shows(pilot, "Tags: #speed #io")
        await pilot.press("ctrl+g", *["backspace"] * 3, "enter")
        await until(pilot, lambda: "Tags: #speed " in f"{screen(picker)} ".replace("\n", " "))

    play(story)
    assert head_of(workspace_with_tools, id)["tags"] == ["speed"]


def test_export_key_picks_format_by_ending_and_never_overwrites(
    workspace_with_tools: Path, id: str
) -> None:
    """By the ending of the name; a file that is there is not written over. What can be done about
    it can be done here: there are no options."""

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+e", "ctrl+u", *"out.json", "enter")
        await shows(pilot, "Exported to out.json")
        await pilot.press("ctrl+e", "ctrl+u", *"out.json", "enter")
        await shows(pilot, "out.json already exists; choose another name")
        await pilot.press("ctrl+e", "ctrl+u", *"out.docx", "enter")
        await shows(pilot, ".md")

    play(story, size=(160, 30))
    assert json.loads((workspace_with_tools / "out.json").read_text(encoding="utf-8"))["title"]
    assert id in (workspace_with_tools / "out.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("key", "status"), [("ctrl+s", "paused"), ("ctrl+d", "completed")])
def test_stop_and_complete_keys_save_status_and_summary(
    workspace_with_tools: Path, id: str, key: str, status: str
) -> None:
    """It is saved with a summary, and the list says how it is."""

    async def story(pilot, picker) -> None:
        await pilot.press(key)
        await shows(pilot, f'"Faster parser" is now {status}')

    play(story)
    head = head_of(workspace_with_tools, id)
    assert (head["status"], bool(head["context_summary"])) == (status, True)


def test_delete_key_asks_first_and_undo_key_restores_conversation(
    workspace_with_tools: Path, id: str
) -> None:
    """Into the trash only when that is said; one key brings it back as it was."""
    folder = folder_of(workspace_with_tools, id)
    before = (folder / ".session/messages.jsonl").read_bytes()

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+x", "n")
        await pilot.pause()
        assert folder.exists()
        await pilot.press("ctrl+x", "y")
        await shows(pilot, "to the trash; ^Z restores it")
        assert titles(picker) == []
        assert not folder.exists()
        await pilot.press("ctrl+z")
        await shows(pilot, "Restored: ", "Faster parser")
        await pilot.press("ctrl+z")
        await shows(pilot, "Nothing to restore.")

    play(story)
    assert (folder / ".session/messages.jsonl").read_bytes() == before


def test_escape_closes_prompt_then_clears_filter_then_quits_picker(id: str) -> None:
    """One thing at a time; what was asked for is left as it is."""

    async def story(pilot, picker) -> None:
        await pilot.press(*"parser", "ctrl+r", "escape")
        await pilot.pause()
        assert len(picker.screen_stack) == 1
        assert "❯ parser" in screen(picker)
        await pilot.press("escape")
        assert "type to filter" in screen(picker)
        assert picker.is_running
        await pilot.press("escape")

    assert play(story).return_value is None


@pytest.mark.usefixtures("id")
@pytest.mark.parametrize("asked", ["f1", "ctrl+r", "ctrl+t", "ctrl+x"])
def test_ctrl_c_quits_picker_while_prompt_is_open(asked: str) -> None:
    """Also while something is asked; nothing is done."""

    async def story(pilot, picker) -> None:
        await pilot.press(asked)
        await until(pilot, lambda: len(picker.screen_stack) == 2)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not picker.is_running)

    assert play(story).return_value is None


def test_help_lists_every_key_and_hint_line_fits_width(id: str) -> None:
    """And the last line never grows beyond the screen."""

    async def story(pilot, picker) -> None:
        await pilot.press("question_mark")
        await shows(pilot, *(key.said for key in KEYS if key.said))
        await pilot.press("q")
        await pilot.pause()
        assert len(picker.screen_stack) == 1

    play(story)
    for width in range(10, 200):
        for help in ("?", "F1"):
            line = "  ".join(f"{key} {what}" for key, what in hints(width, help))
            assert len(line) <= max(width - 2, 0), width
    assert hints(120)[-1] == ("?", "help")


def test_hint_line_shows_f1_instead_of_question_mark_while_typing(id: str) -> None:
    """Where something is typed, `?` is a letter of it."""

    async def story(pilot, picker) -> None:
        await shows(pilot, "? help")
        await pilot.press("p")
        await shows(pilot, "F1 help")
        await pilot.press("question_mark", "f1")
        await shows(pilot, *(key.said for key in KEYS if key.said))
        await pilot.press("q", "escape")
        await shows(pilot, "? help")
        assert len(picker.screen_stack) == 1

    play(story)


@pytest.mark.parametrize(("key", "typed"), [("ctrl+r", "Speed"), ("ctrl+g", "speed")])
def test_rename_or_tag_turns_tool_session_into_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, typed: str
) -> None:
    """To have a title or tags; that is said before. Its transcript is left as it is."""
    from tests.homes import lay_out, move_project, said

    homes = lay_out(tmp_path / "person")
    project = make_workspace(tmp_path / "project")
    move_project(homes, project)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project)
    session, turns = said("claude")

    async def story(pilot, picker) -> None:
        picker.type(session[:13])
        await pilot.pause()
        assert picker.chosen.key == session
        await pilot.press("ctrl+e", "ctrl+u", *"said.md", "enter")
        await shows(pilot, "Exported to said.md")
        if key == "ctrl+r":
            await pilot.press(key, "ctrl+u", "space", "enter")
            await shows(pilot, "the title must not be empty")
            assert not (project / "conversations").exists()
        await pilot.press(key)
        await shows(pilot, "cortext imports this session first.")
        await pilot.press("escape", key, "ctrl+u", *typed, "enter")
        await until(pilot, lambda: typed in screen(picker) and "…" not in screen(picker)[-20:])
        await pilot.press("escape")
        await until(pilot, lambda: any(row.session_ids == [session] for row in picker.shelf.rows))
        (made,) = [row for row in picker.shelf.rows if session in (row.key, *row.session_ids)]
        assert typed in (made.title, *made.tags)

    transcript = homes.transcript("claude")
    before = transcript.read_bytes()
    play(story, size=(80, 24))
    assert transcript.read_bytes() == before
    assert turns[0][1] in (project / "said.md").read_text(encoding="utf-8")
    ok(project, "list")


def test_delete_message_for_tool_session_fits_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 80x24: what became of a tool's session, and how to restore it."""
    from tests.homes import lay_out, move_project, said

    homes = lay_out(tmp_path / "person")
    project = make_workspace(tmp_path / "project")
    move_project(homes, project)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project)
    ok(project, "sync")

    async def story(pilot, picker) -> None:
        picker.type(said("claude")[0][:13])
        await pilot.pause()
        await pilot.press("ctrl+x", "y")
        await shows(pilot, "cortext's copy of", "Claude Code still has its own; ^Z restores it")
        await pilot.press("ctrl+z")
        await shows(pilot, "Restored: ")

    play(story, size=(80, 24))


def test_picker_lists_finds_deletes_and_restores_spawn_session(workspace_with_tools: Path) -> None:
    """It is shown, found by what was said, deleted and had back; what only tools do is refused."""
    from cortext import Session, SessionMessage, paths
    from cortext.formats.log import encode

    said = [SessionMessage("user", "Is it xylophonic?"), SessionMessage("assistant", "It is not.")]
    session = Session(
        "default-20261116-101010-0001",
        title="A talk with an agent",
        kind="spawn",
        agent="default",
        status="completed",
        working_dir=str(workspace_with_tools),
        messages=said,
    )
    file = Path(paths.spawn_sessions(), f"{session.id}.jsonl")
    file.parent.mkdir(parents=True)
    file.write_bytes(encode(session))

    async def story(pilot, picker) -> None:
        await shows(pilot, "A talk with an agent", "It is not.")
        await pilot.press(*"xylo")
        await shows(pilot, "❯ xylo", "Is it xylophonic?")
        await pilot.press("ctrl+f")
        await shows(pilot, "A `cortext spawn` session cannot be forked.")
        await pilot.press("ctrl+s")
        await shows(pilot, "is a session of `cortext spawn`")
        await pilot.press("escape", "ctrl+x", "y")
        await shows(pilot, "to the trash")
        assert titles(picker) == []
        await pilot.press("ctrl+z")
        await shows(pilot, "Restored: ", "A talk with an agent")
        await pilot.press("enter")

    chosen = play(story, size=(150, 30)).return_value
    assert isinstance(chosen, Chosen)
    assert (chosen.row.key, file.exists()) == (session.id, True)
