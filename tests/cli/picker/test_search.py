"""What is found by what was said, the places it was said in, and what is said where it was not."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual import events

from cortext import Session, SessionMessage, open_session_store
from cortext.cli.picker import picker_search
from cortext.cli.picker.picker_app import SEARCHING, Picker
from cortext.cli.picker.picker_items import Chosen
from cortext.cli.picker.picker_search import TextFinder
from tests.cli.picker.picker_workspace import make_workspace, play, screen, shows, titles, until
from tests.command import begin, folder_of, ok


@pytest.fixture
def searched_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    begin(folder, "plan", "Beta", "What about the queue?", "kafka, as the quokkas said.")
    begin(folder, "plan", "Alpha", *(f"kafka topic {n}" for n in range(80)))
    begin(folder, "plan", "Gamma", "Nothing of that kind.")
    return folder


def in_one_burst(picker: Picker, *keys: str) -> None:
    """As a terminal sends what was typed before anything was read."""
    for key in keys:
        picker.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.usefixtures("searched_workspace")
def test_picker_indexes_new_messages_when_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed = Event()
    refresh = picker_search.Finder.refresh

    def note(self: picker_search.Finder, **options: Any) -> Any:
        done = refresh(self, **options)
        refreshed.set()
        return done

    monkeypatch.setattr(picker_search.Finder, "refresh", note)

    async def story(pilot, picker) -> None:
        await until(pilot, refreshed.is_set)
        assert titles(picker) == ["Gamma", "Alpha", "Beta"]

    play(story)


@pytest.mark.usefixtures("searched_workspace")
def test_search_lists_every_conversation_containing_word() -> None:
    """Also the one that said it once, before another said it eighty times."""

    async def story(pilot, picker) -> None:
        await pilot.press(*"kafka")
        await until(pilot, lambda: titles(picker) == ["Alpha", "Beta"])
        await shows(pilot, "2 of 3 ")

    play(story)


@pytest.mark.usefixtures("searched_workspace")
def test_search_shows_plus_when_hits_exceed_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plus stands for those that are not in the list."""
    monkeypatch.setattr(picker_search, "_MAX_RESULTS", 1)

    async def story(pilot, picker) -> None:
        await pilot.press(*"kafka")
        await shows(pilot, "1+ of 3 ", "Alpha")

    play(story)


@pytest.mark.usefixtures("searched_workspace")
@pytest.mark.parametrize(("typed", "title"), [("quokka", "Beta"), ("gam", "Gamma")])
def test_enter_typed_with_word_opens_matching_conversation(typed: str, title: str) -> None:
    """Said or called so: never what was chosen before the word."""

    async def story(pilot, picker) -> None:
        assert picker.chosen.title == "Gamma"
        in_one_burst(picker, *typed, "enter")
        await until(pilot, lambda: not picker.is_running or picker.return_value is not None)

    chosen = play(story).return_value
    assert isinstance(chosen, Chosen)
    assert chosen.row.title == title


@pytest.mark.usefixtures("searched_workspace")
@pytest.mark.parametrize("key", ["enter", "ctrl+x", "ctrl+r", "ctrl+f"])
def test_keys_do_nothing_when_typed_word_has_no_match(key: str) -> None:
    """Whatever was to be done is not done to what was chosen before."""

    async def story(pilot, picker) -> None:
        in_one_burst(picker, *"qqqq", key)
        await shows(pilot, "No conversation contains these words")
        assert (len(picker.screen_stack), picker.return_value) == (1, None)

    play(story)


@pytest.mark.usefixtures("searched_workspace")
def test_enter_waits_for_running_search_to_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is said meanwhile; another letter takes it back, and the next Enter waits again."""
    found, find = Event(), TextFinder.find

    def slow(self: TextFinder, asked: picker_search.PickerQuery) -> picker_search.FinderResult:
        assert found.wait(20)
        return find(self, asked)

    monkeypatch.setattr(TextFinder, "find", slow)

    async def story(pilot, picker) -> None:
        await pilot.press(*"quokk", "enter")
        assert screen(picker).count(SEARCHING) == 2
        await pilot.press("a")
        assert screen(picker).count(SEARCHING) == 1
        assert picker._waiting_action == ""
        await pilot.press("enter")
        assert picker.return_value is None
        found.set()
        await until(pilot, lambda: picker.return_value is not None)

    chosen = play(story).return_value
    assert isinstance(chosen, Chosen)
    assert chosen.row.title == "Beta"


def test_ctrl_n_cycles_through_all_matches_of_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all messages that have it, the last one first, in parts of the conversation that were
    not shown before; in a long one also what stands further below."""
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    texts = [f"message {n}" for n in range(1, 61)]
    texts[21] = "\n\n".join(["kubernetes first", *["and so on"] * 40, "kubernetes at its end"])
    texts[41] = "kubernetes last"
    begin(folder, "plan", "Long", *texts)

    async def story(pilot, picker) -> None:
        await pilot.press(*"kubernetes")
        await shows(pilot, "kubernetes last", "match 1 of 2")
        await pilot.press("ctrl+n")
        await shows(pilot, "kubernetes first", "match 2 of 2")
        await pilot.press("ctrl+n")
        await shows(pilot, "kubernetes at its end", "match 2 of 2")
        await pilot.press("ctrl+n")
        await shows(pilot, "kubernetes last", "match 1 of 2")

    play(story, size=(80, 24))


def test_preview_shows_document_when_only_document_matches(searched_workspace: Path) -> None:
    """The page is the document then."""
    id = begin(searched_workspace, "plan", "Delta", "Write it down.")
    path = folder_of(searched_workspace, id) / "plan.md"
    path.write_text(f"{path.read_text(encoding='utf-8')}\nWe keep xylophones.\n", encoding="utf-8")

    async def story(pilot, picker) -> None:
        await pilot.press(*"xyloph")
        await shows(pilot, "We keep xylophones.")

    play(story)


def test_search_counts_matches_in_other_folders_shown_by_tab(
    searched_workspace: Path, tmp_path: Path
) -> None:
    """How many there are, said or called so, and the key that shows them."""
    other = make_workspace(tmp_path / "other")
    begin(other, "plan", "Speed", "Is it xylophonic?")
    begin(other, "plan", "Xylophonic", "Is it?")
    ok(other, "list")

    async def story(pilot, picker) -> None:
        await pilot.press(*"xylo")
        await shows(pilot, "No match in this project.", "In other projects: 2. Press Tab.")
        await pilot.press("tab")
        await until(pilot, lambda: titles(picker) == ["Xylophonic", "Speed"])

    play(story, size=(80, 24))


@pytest.mark.usefixtures("searched_workspace")
def test_search_corrects_misspelled_word_and_says_so() -> None:

    async def story(pilot, picker) -> None:
        await pilot.press(*"quokkkas")
        await shows(pilot, "no exact match; closest results", 'showing results for "quokkas"')
        assert picker.chosen.title == "Beta"

    play(story, size=(45, 12))


def test_search_suggests_similar_title_only_once(searched_workspace: Path) -> None:
    """A title that is like what was typed, once, however many have it."""
    for _ in range(2):
        begin(searched_workspace, "plan", "Marmalade engine", "Is it?")

    async def story(pilot, picker) -> None:
        await pilot.press(*"marmalaydengine")
        await shows(
            pilot, "No conversation contains these words", 'Did you mean "Marmalade engine"?'
        )
        assert screen(picker).count("Did you mean") == 1

    play(story)


def test_search_lists_partial_matches_with_missing_words(searched_workspace: Path) -> None:
    """Where nothing has all of the words: below a line that says so, with the words that are
    missing; Enter before anybody saw it opens none of them."""
    begin(searched_workspace, "plan", "Delta", "The marmots sleep.", "Of badgers nobody spoke.")

    async def story(pilot, picker) -> None:
        in_one_burst(picker, *"zebras or what, marmots badgers", "enter")
        await until(pilot, lambda: titles(picker)[0:1] == ["-- no exact match; closest results"])
        assert titles(picker) == [
            "-- no exact match; closest results",
            "-- missing: zebras",
            "Delta",
        ]
        await shows(pilot, "1 of 4 ", "The marmots sleep.")
        assert (picker.chosen.title, picker.return_value) == ("Delta", None)
        await pilot.press("enter")
        await until(pilot, lambda: picker.return_value is not None)

    chosen = play(story).return_value
    assert isinstance(chosen, Chosen)
    assert chosen.row.title == "Delta"


def test_search_counts_matches_without_punctuation(searched_workspace: Path) -> None:
    begin(searched_workspace, "plan", "Delta", "written in c++")
    begin(searched_workspace, "plan", "Vitamins", "vitamin c")

    async def story(pilot, picker) -> None:
        await pilot.press(*"c++")
        expected = ["-- 1 only without the punctuation", "Delta", "Vitamins"]
        await until(pilot, lambda: titles(picker) == expected)
        await shows(pilot, "2 of 5 ")

    play(story)


def test_preview_expands_matching_tool_output(searched_workspace: Path) -> None:
    """Is unfolded on the page, and marked."""
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "make it"}}
    printed = "\n".join(["begin", "an ibex", *(f"line {n}" for n in range(30))])
    session = Session("009-debug-x", title="Busy", kind="debug")
    session.messages = [
        SessionMessage("user", "Where is it?"),
        SessionMessage("assistant", "I look.", tool_calls=[call]),
        SessionMessage("tool", printed, tool_call_id="c1"),
        *(SessionMessage("assistant", f"There {n}.") for n in range(40)),
    ]
    open_session_store(f"workspace:{searched_workspace}").save(session)

    async def story(pilot, picker) -> None:
        await pilot.press(*"ibex")
        await shows(pilot, "Busy", "an ibex", "$ make it")

    play(story)


def test_ranking_replaces_title_matches_and_moves_cursor_to_best(searched_workspace: Path) -> None:
    begin(searched_workspace, "plan", "Heron nests", *["heron heron heron"] * 5)
    begin(searched_workspace, "plan", "Herons", "Nothing of that kind.")
    begin(searched_workspace, "plan", "Sherona", "Nothing of that kind.")

    async def story(pilot, picker) -> None:
        in_one_burst(picker, *"heron")
        await until(pilot, lambda: titles(picker)[:3] == ["Sherona", "Herons", "Heron nests"])
        assert picker.chosen.title == "Sherona"
        ranked = ["Heron nests", "Herons", "-- other titles, tags and ids", "Sherona"]
        await until(pilot, lambda: titles(picker) == ranked)
        assert picker.chosen.title == "Heron nests"

    play(story)


def test_cursor_that_user_moved_stays_when_ranking_arrives(
    searched_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(searched_workspace, "plan", "Heron nests", *["heron heron heron"] * 5)
    begin(searched_workspace, "plan", "Herons", "Nothing of that kind.")
    begin(searched_workspace, "plan", "Sherona", "Nothing of that kind.")
    found, find = Event(), TextFinder.find

    def slow(self: TextFinder, asked: picker_search.PickerQuery) -> picker_search.FinderResult:
        assert found.wait(20)
        return find(self, asked)

    monkeypatch.setattr(TextFinder, "find", slow)

    async def story(pilot, picker) -> None:
        await pilot.press(*"heron", "down")
        assert picker.chosen.title == "Herons"
        found.set()
        await until(pilot, lambda: titles(picker)[0] == "Heron nests")
        assert picker.chosen.title == "Herons"

    play(story)


def test_partial_matches_say_that_other_projects_have_all_words(
    searched_workspace: Path, tmp_path: Path
) -> None:
    other = make_workspace(tmp_path / "other")
    begin(other, "plan", "Speed", "kafka is xylophonic")
    ok(other, "list")

    async def story(pilot, picker) -> None:
        await pilot.press(*"kafka xylophonic")
        await shows(pilot, "missing: xylophonic", "all words in other projects: 1; press")
        await pilot.press("tab")
        await until(pilot, lambda: titles(picker)[0] == "Speed")

    play(story, size=(130, 24))
