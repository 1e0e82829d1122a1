"""Documents of programs in the picker."""

import os
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage
from cortext.cli.picker.picker_items import Chosen
from tests.cli.picker.picker_workspace import make_workspace, play, shows, titles


@pytest.fixture
def current_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = make_workspace(tmp_path / "space")
    monkeypatch.chdir(folder)
    return folder


def keep(folder: Path, id: str, said: str) -> None:
    session = Session(id, title=f"A program's {id}", working_dir=str(folder))
    session.messages = [SessionMessage("user", said), SessionMessage("assistant", "It is not.")]
    SessionStorage().save(session)


def test_picker_lists_finds_and_exports_document_but_never_deletes(
    current_workspace: Path, tmp_path: Path
) -> None:
    """It is shown, found by what was said, exported and opened; its file is the program's."""
    keep(current_workspace, "first", "Is it xylophonic?")
    keep(tmp_path / "elsewhere", "second", "Is it other?")
    file = tmp_path / "out.md"

    async def story(pilot, picker) -> None:
        await shows(pilot, "A program's first", "It is not.", "document")
        assert titles(picker) == ["A program's first"]
        await pilot.press(*"xylo")
        await shows(pilot, "❯ xylo", "Is it xylophonic?")
        await pilot.press("ctrl+x")
        await shows(pilot, "belongs to a program and was not deleted")
        await pilot.press("ctrl+e", "ctrl+u", *str(file), "enter")
        await shows(pilot, "Exported to ")
        await pilot.press("escape", "enter")

    chosen = play(story, size=(150, 30)).return_value
    assert isinstance(chosen, Chosen)
    assert (chosen.row.key, chosen.row.tool) == ("first", "document")
    assert "Is it xylophonic?" in file.read_text(encoding="utf-8")
    assert SessionStorage().exists("first")


def test_completing_document_creates_workspace_conversation(current_workspace: Path) -> None:
    """Of the workspace that it was had in, and the only one in the list."""
    keep(current_workspace, "first", "Is it xylophonic?")
    before = os.stat(SessionStorage().get_path("first"))

    async def story(pilot, picker) -> None:
        await shows(pilot, "A program's first")
        await pilot.press("ctrl+d")
        await shows(pilot, "is now completed")
        assert [(row.tool, row.status) for row in picker.shelf.rows] == [("", "completed")]
        await pilot.press("escape")

    play(story, size=(150, 30))
    assert os.stat(SessionStorage().get_path("first")) == before


def test_renaming_document_makes_conversation_and_keeps_source_title(
    current_workspace: Path,
) -> None:
    """It is made of the program's session, which keeps its own title."""
    keep(current_workspace, "first", "Is it xylophonic?")

    async def story(pilot, picker) -> None:
        await pilot.press("ctrl+r")
        await shows(pilot, "cortext imports this session first.")
        await pilot.press("ctrl+u", *"Sounds", "enter")
        await shows(pilot, 'Renamed to "Sounds"')
        assert [(row.tool, row.title) for row in picker.shelf.rows] == [("", "Sounds")]

    play(story)
    assert SessionStorage().load("first").title == "A program's first"
