"""The picker's list: what is in it, what typing does to it, and the page beside it."""

from pathlib import Path

import pytest
from msgspec import structs

from cortext import Session, open_session_store
from cortext.cli.picker.input_and_list_widgets import Rows
from cortext.cli.picker.scrolling_preview import Preview
from tests.cli.picker.picker_workspace import make_workspace, play, screen, shows, titles, until
from tests.command import begin, ok, say

HOSTILE = "[red]x[/red] \x1b[31m\x1b]0;pwned\x07 \u202egnp \\[b] {x} $(touch x)"


@pytest.fixture
def listed_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    begin(folder, "plan", "Faster parser", "How fast is it?", "It reads **forty** lines.")
    begin(folder, "brainstorm", "日本語の設計", "設計はどうする?", "小さく始める。")
    begin(folder, "plan", "Release notes", "What is new?", "The zanzibar cache is gone.")
    return folder


def test_list_shows_newest_first_and_preview_shows_last_messages(listed_workspace: Path) -> None:
    """The list has this project's conversations; the page what was said in the one chosen."""

    async def story(pilot, picker) -> None:
        assert titles(picker) == ["Release notes", "日本語の設計", "Faster parser"]
        await shows(pilot, "The zanzibar cache is gone.", "3 project")
        await pilot.press("down", "down")
        await shows(pilot, "It reads forty lines.")
        assert picker.chosen.title == "Faster parser"

    play(story)


def test_preview_truncates_facts_that_do_not_fit(listed_workspace: Path) -> None:
    """On three lines, with one space between one and the next."""
    ok(listed_workspace, "tag", "003", "infrastructure", "documentation")

    async def story(pilot, picker) -> None:
        await shows(pilot, "#documen…", "The zanzibar cache is gone.")
        assert "\N{MIDDLE DOT}  " not in screen(pilot.app)

    play(story, size=(80, 24))


def test_typing_filters_by_title_then_by_message_text(listed_workspace: Path) -> None:
    """A word of a title at once; a word that was said below it, and the page shows it marked."""

    async def story(pilot, picker) -> None:
        await pilot.press(*"PARS")
        assert titles(picker) == ["Faster parser"]
        await pilot.press("escape")
        assert len(titles(picker)) == 3
        await pilot.press('"')
        assert len(titles(picker)) == 3
        await pilot.press(*"Faster par")
        assert titles(picker) == ["Faster parser"]
        await pilot.press("escape")
        await pilot.press(*"zanz")
        await until(pilot, lambda: titles(picker) == ["Release notes"])
        assert picker.chosen.title == "Release notes"
        await shows(pilot, "zanzibar", "1 of 3")
        marks = [
            segment.text
            for strip in picker.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.reverse and "zan" in segment.text
        ]
        assert "zanzibar" in "".join(marks) or marks == ["zanz"]

    play(story)


def test_preview_shows_end_of_long_conversation_and_scrolls_back(listed_workspace: Path) -> None:
    """Only the last messages are laid out, with how many come before; the page can be turned."""
    id = begin(listed_workspace, "plan", "Long", *(f"message {n}" for n in range(1, 201)))
    assert id

    async def story(pilot, picker) -> None:
        await shows(pilot, "message 200")
        assert "message 180" not in screen(picker)
        picker.query_one(Preview).styles.max_height = 8
        await until(pilot, lambda: picker.query_one(Preview).size.height == 8)
        await shows(pilot, "message 200")
        await pilot.press(*["shift+up"] * 60)
        await shows(pilot, "176 earlier messages", "message 177")

    play(story)


def test_filter_matches_part_of_japanese_title_and_keeps_width(listed_workspace: Path) -> None:
    """A part of a title is enough, and wide characters stay in their columns."""

    async def story(pilot, picker) -> None:
        picker.type("設計")
        await pilot.pause()
        assert titles(picker)[0] == "日本語の設計"
        await shows(pilot, "小さく始める。")
        widths = {strip.cell_length for strip in picker.screen._compositor.render_strips()}
        assert widths == {80}

    play(story, size=(80, 24))


def test_filter_accepts_any_punctuation_without_error(listed_workspace: Path) -> None:
    """Odd signs find nothing, or something, and the list comes back."""

    async def story(pilot, picker) -> None:
        for text in ('"', "*", "c++", "it's", "foo-bar NOT", "\\", "[b]", "a" * 3000, "(", "?x"):
            picker.type(text)
            await pilot.pause(0.2)
        picker.type("")
        await pilot.pause()
        assert len(titles(picker)) == 3

    play(story)


def test_tab_toggles_between_project_and_all_conversations(
    listed_workspace: Path, tmp_path: Path
) -> None:
    """What was had in another project comes in, with its folder; what was chosen stays chosen."""
    other = make_workspace(tmp_path / "other")
    begin(other, "plan", "Elsewhere", "Where?", "There.")
    ok(other, "list")

    async def story(pilot, picker) -> None:
        await pilot.press("down")
        chosen = picker.chosen.title
        await pilot.press("tab")
        assert titles(picker)[0] == "Elsewhere"
        assert picker.chosen.title == chosen
        await shows(pilot, "4 everywhere")
        await pilot.press("tab")
        assert len(titles(picker)) == 3

    play(story, size=(160, 30))


def test_picker_shows_hostile_titles_and_messages_as_plain_text(listed_workspace: Path) -> None:
    """No escape, no markup, no turning around: they are shown as what they are."""
    id = begin(listed_workspace, "plan", "Harmless", "x")
    ok(listed_workspace, "rename", id, HOSTILE)
    say(listed_workspace, id, HOSTILE, f"# {HOSTILE}\n\n```\n{HOSTILE}\n```")

    async def story(pilot, picker) -> None:
        await shows(pilot, "[red]x[/red]", "agent")
        shown = screen(picker)
        assert not any(sign in shown for sign in "\x1b\x07\u202e\r")
        await pilot.press("ctrl+x")
        await shows(pilot, "to the trash?", "[red]x[/red]")

    play(story)


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5), (220, 60)])
def test_picker_shows_list_at_any_terminal_size(
    listed_workspace: Path, size: tuple[int, int]
) -> None:
    """The list is there; a page beside it where there is room, and the help fits in 80x24."""

    async def story(pilot, picker) -> None:
        assert "Release" in screen(picker)
        if size == (80, 24):
            await shows(pilot, "zanzibar")
            await pilot.press("question_mark")
            await shows(pilot, "Enter", "clear the typed text")

    play(story, size=size)


def test_list_draws_only_visible_rows_of_ten_thousand(listed_workspace: Path) -> None:
    """However long the list is, only the lines in sight are made, also at its end."""
    drawn: list[int] = []

    class Counting(Rows):
        def render_line(self, y: int):
            drawn.append(y)
            return super().render_line(y)

    async def story(pilot, picker) -> None:
        row = picker.rows.items[0]
        picker.rows.__class__ = Counting
        many = [structs.replace(row, path=f"{row.path}{n}", key=f"{n}") for n in range(10_000)]
        last = structs.replace(many[-1], title=row.title.replace("Release notes", "The very last"))
        picker.rows.put([*many[:-1], last])
        await pilot.press("ctrl+end")
        await pilot.pause()
        assert picker.rows.cursor == 9_999
        assert picker.chosen.path.endswith("9999")
        assert "The very last" in screen(picker)
        assert 0 < len(drawn) < 400

    play(story)


def test_picker_uses_no_colour_with_no_color_set(
    listed_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NO_COLOR no colour is used, and what is chosen can be told all the same."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(pilot, picker) -> None:
        await shows(pilot, "▌", "zanzibar")
        filters = [type(one).__name__ for one in picker._filters if one.enabled]
        assert filters == ["NoColor"]

    play(story)


def test_preview_reports_session_that_was_removed(listed_workspace: Path) -> None:
    """A conversation whose session went away while the list is shown."""
    (folder,) = listed_workspace.glob("conversations/*/*release-notes*")

    async def story(pilot, picker) -> None:
        (folder / ".session/messages.jsonl").unlink()
        (folder / ".session/session.json").unlink()
        await pilot.press("down", "up")
        await shows(pilot, "not found")
        await pilot.press("down")
        await shows(pilot, "小さく始める。")

    play(story)


def test_titles_get_half_of_80_columns_when_all_tools_and_folders_are_the_same(
    listed_workspace: Path,
) -> None:
    title = "A title that has more than forty characters in its one line"
    begin(listed_workspace, "plan", title, "Hello.")

    async def story(pilot, picker) -> None:
        await shows(pilot, title[:40])
        await pilot.press("tab")
        await shows(pilot, "everywhere", title[:40])

    play(story, size=(80, 24))


def test_list_names_tools_if_they_differ(listed_workspace: Path) -> None:
    binding = {"tool": "codex", "session_id": "1", "at": "2026-11-16T00:00:00Z"}
    session = Session("009-plan-x", title="Other", kind="plan", native=[binding])
    open_session_store(f"workspace:{listed_workspace}").save(session)

    async def story(pilot, picker) -> None:
        await shows(pilot, " cod ")

    play(story, size=(80, 24))


def test_preview_of_long_conversation_shows_first_request_and_count(listed_workspace: Path) -> None:
    texts = ["Move the parser to Rust", *(f"message {n}" for n in range(2, 121))]
    begin(listed_workspace, "plan", "Long", *texts)

    async def story(pilot, picker) -> None:
        await shows(pilot, "❯ Move the parser to Rust", "120 messages", "message 120")

    play(story, size=(110, 30))
