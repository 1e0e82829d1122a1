"""Which conversation a number, a folder, a title means, whatever else is there."""

import json
import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.claude_person import Person
from tests.cli.list_terminal import terminal
from tests.command import begin, cortext, folder_of, git, ok

LONG = "Should we use redis or memcached for the session cache of the shop, or none at all?"


@pytest.fixture
def claude_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    found = Person(tmp_path)
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("CI", "true")
    return found


def rows(cwd: Path, *args: str) -> list[dict[str, object]]:
    return json.loads(ok(cwd, *args, "--json"))


def test_search_result_number_opens_that_conversation(claude_person: Person) -> None:
    """Also what was had in another folder, where ids and dates here begin with that digit."""
    space, shop = claude_person.project("space"), claude_person.project("shop")
    ok(space, "init")
    for topic in ("one redis", "two", "three"):
        begin(space, "plan", topic, "Nothing.")
    id = claude_person.say(shop, ["Why redis in the shop?", "It is fast."], hours=5)
    shown = terminal(space, ["search", "redis"], ["show", "2"], ["resume", "2", "--context"])
    assert shown.code == 0, shown.text
    assert shown.text.count("It is fast.") == 2
    asked = terminal(space, ["search", "redis"], ["delete", "2"], answers=["n"])
    assert (id[:8] in asked.text.rpartition("to the trash")[2], asked.code) == (True, 1)


@pytest.mark.parametrize("words", [["delete", "2", "--yes"], ["rename", "20", "x"], ["show", "3"]])
def test_bare_number_without_list_matches_no_id_date_or_title(
    claude_person: Person, words: Sequence[str]
) -> None:
    """Without a list that had it, nothing is meant: neither a date, nor an id, nor a title."""
    space = claude_person.project("space")
    ok(space, "init")
    begin(space, "plan", "the 20 of 3", "What is 3?")
    done = cortext(space, *words)
    assert (done.returncode, "a number refers to the last list" in done.stderr) == (3, True)


def test_imported_and_stopped_sessions_stay_listed_in_their_folder(claude_person: Person) -> None:
    """A session that was imported or stopped outside a workspace is found where it was had, and
    in no other folder's list."""
    proj, other = claude_person.project("proj"), claude_person.project("other")
    first = claude_person.say(proj, ["Why kafka?", "Because."])
    second = claude_person.say(proj, ["And kafka again?", "Yes."], hours=2)
    ok(proj, "import", first)
    ok(other, "stop", second)
    for command in (["list"], ["search", "kafka", "--in", "."]):
        found = rows(proj, *command)
        assert {row["title"] for row in found} == {"Why kafka?", "And kafka again?"}
        assert {row["cwd"] for row in found} == {str(proj)}
    nothing = cortext(other, "list")
    assert (nothing.stdout, "other folders have 2" in nothing.stderr) == ("", True)


def test_stop_from_elsewhere_saves_into_workspace_of_session(claude_person: Person) -> None:
    """Not into the workspace that somebody happens to be in."""
    here, there = claude_person.project("here"), claude_person.project("there")
    ok(here, "init")
    ok(there, "init")
    id = claude_person.say(there, ["Why kafka?", "Because."])
    ok(here, "stop", id)
    assert [*here.glob("conversations/*/*")] == []
    assert folder_of(there, "001-chat-why-kafka")


def test_list_puts_personal_conversations_without_folder_last(claude_person: Person) -> None:
    """Those that begin outside a workspace belong to the folder that they begin in."""
    proj, other = claude_person.project("proj"), claude_person.project("other")
    ok(proj, "new", "plan", "placed")
    ok(proj, "new", "plan", "unplaced")
    personal = Path(os.environ["XDG_DATA_HOME"]) / "cortext/personal"
    head = folder_of(personal, "002-plan-unplaced") / ".session/session.json"
    facts = json.loads(head.read_text(encoding="utf-8"))
    head.write_text(json.dumps({**facts, "working_dir": str(personal)}), encoding="utf-8")
    claude_person.say(other, ["Hello?", "Yes."], hours=9)
    assert [row["title"] for row in rows(proj, "list")] == ["placed", "unplaced"]
    assert [row["title"] for row in rows(other, "list")] == ["Hello?", "unplaced"]


def test_list_and_search_include_later_messages_of_imported_session(claude_person: Person) -> None:
    """The next list and the next search have it, without a hook, and once."""
    proj = claude_person.project("proj")
    id = claude_person.say(proj, ["Why kafka?", "Because."], hours=50)
    ok(proj, "stop", id)
    assert rows(proj, "list")[0]["messages"] == 2
    claude_person.say(proj, ["Is pulsar better?"], hours=2, session=id)
    (hit,) = rows(proj, "search", "pulsar")
    assert (hit["id"], hit["message"]) == ("001-chat-why-kafka", 3)
    claude_person.say(proj, ["And pigeons?"], session=id)
    (row,) = rows(proj, "list")
    assert (row["id"], row["messages"]) == ("001-chat-why-kafka", 4)


def test_title_is_complete_first_line_and_id_is_truncated(claude_person: Person) -> None:
    """Lists are searched in all of it, and an id is cut where ids are."""
    proj = claude_person.project("proj")
    id = claude_person.say(proj, [f"{LONG}\nMore.", "Redis."])
    (row,) = rows(proj, "list", "--search", "none at all")
    assert (row["id"], row["title"]) == (id, LONG)
    missed = cortext(proj, "list", "--search", "penguins")
    assert "cortext search" in missed.stderr
    name = ok(proj, "import", id).split()[-1]
    assert len(name) == len("001-chat-") + 60


def test_empty_list_and_search_name_doctor_which_names_folders(claude_person: Person) -> None:
    proj = claude_person.project("proj")
    for command in (["list"], ["search", "redis"]):
        assert "`cortext doctor` shows the folders" in cortext(proj, *command).stderr
    done = cortext(proj, "doctor", env={"CODEX_HOME": "/elsewhere"})
    said = done.stdout + done.stderr
    assert "~/.claude/projects" in said
    assert "/elsewhere/sessions" in said
    assert "CLAUDE_CONFIG_DIR is not set" in said


def test_show_offers_closest_conversation_for_misspelt_word(claude_person: Person) -> None:
    proj = claude_person.project("proj")
    claude_person.say(proj, ["What about the cache?", "Redis, for the lists."])
    claude_person.say(proj, ["Redo the sunset", "Orange."])
    done = cortext(proj, "show", "redsi")
    assert (done.returncode, 'Showing results for "redis".' in done.stderr) == (3, True)
    assert "What about the cache?" in done.stderr
    assert "sunset" not in done.stderr


def test_resume_finds_a_title_elsewhere_by_a_misspelt_word(claude_person: Person) -> None:
    demo, shop = claude_person.project("demo"), claude_person.project("shop")
    claude_person.say(demo, ["Design the retry logic for uploads", "With a budget."])
    claude_person.say(shop, ["Add a retry budget to the checkout service", "Done."])
    done = cortext(shop, "resume", "rety", "uploads", "--context")
    assert done.returncode == 0
    assert "No title matches; using the most similar title, " in done.stderr
    assert "Conversation: chat / Design the retry logic for uploads\n" in done.stdout


def test_narrow_list_shortens_ids_to_unique_prefixes(claude_person: Person) -> None:
    """In a narrow terminal a conversation's number is its id; where several have it, some more."""
    space = claude_person.project("space")
    ok(space, "init")
    for topic in ("a long topic of mine", "another long topic"):
        begin(space, "plan", topic, "Hello.")
    shown = terminal(space, ["list"], columns=80).text
    assert [line.split()[1] for line in shown.splitlines()[1:3]] == ["002", "001"]
    folder = folder_of(space, "001-plan-a-long-topic-of-mine")
    shutil.copytree(folder, folder.parent.with_name("2020-01-01") / folder.name)
    again = terminal(space, ["list"], columns=80).text
    assert "2020-01-01/001 " in again
    assert all("…" not in line[:40] for line in again.splitlines())


def test_resume_choice_lists_titles_before_long_ids(claude_person: Person) -> None:
    """However long ids are."""
    space = claude_person.project("space")
    ok(space, "init")
    for word in ("first", "second"):
        begin(space, "plan", f"{word} of the topics that have rather many words", "Hello.")
    asked = terminal(space, ["resume", "topics", "--context"], answers=["q"], columns=80)
    assert "  1. second of the topics" in asked.text
    assert "  2. first of the topics" in asked.text


@pytest.mark.parametrize("answer", ["n", "No", "q"])
def test_no_at_the_choice_changes_nothing(claude_person: Person, answer: str) -> None:
    """Also if the letters of the answer are in the title of one conversation only."""
    space = claude_person.project("space")
    ok(space, "init")
    for topic in ("now", "list"):
        begin(space, "plan", f"pick {topic}", "Hello.")
    asked = terminal(space, ["done", "pick"], answers=[answer])
    assert (asked.code, "Nothing was changed." in asked.text) == (1, True)
    assert "completed" not in [row["status"] for row in rows(space, "list")]


def test_copied_workspace_conversations_are_listed_once_until_changed(
    claude_person: Person,
) -> None:
    """What is in two checkouts is found once, by the id; of what has gone on in one the longer is
    found, beside that of the checkout where one is, by names that work."""
    space = claude_person.project("space")
    ok(space, "init")
    id = begin(space, "plan", "cache", "Why the zebu?")
    copy = claude_person.folder / "copy"
    shutil.copytree(space, copy)
    assert [row["id"] for row in rows(copy, "list")] == [id]
    for cwd in (space, copy, claude_person.folder):
        (hit,) = rows(cwd, "search", "zebu")
        assert hit["id"] == id
        assert len(rows(cwd, "list", "--all")) == 1
        assert "Why the zebu?" in ok(cwd, "show", id)
    (here,) = rows(copy, "search", "zebu", "--in", ".")
    assert here["workspace"] == str(copy)
    ok(copy, "rename", id, "other")
    begin(copy, "plan", "more", "Hello.")
    folder = folder_of(copy, id)
    lines = folder / ".session/messages.jsonl"
    lines.write_bytes(lines.read_bytes() + lines.read_bytes().replace(b"zebu", b"yak"))
    assert {hit["id"] for hit in rows(claude_person.folder, "search", "zebu")} == {str(folder)}
    assert {hit["id"] for hit in rows(copy, "search", "zebu")} == {str(folder)}
    both = {str(folder_of(space, id)), str(folder)}
    assert {hit["id"] for hit in rows(space, "search", "zebu")} == both
    assert "yak" in ok(claude_person.folder, "show", id)
    assert "yak" in ok(claude_person.folder, "show", str(folder))


@pytest.mark.usefixtures("git_identity")
def test_git_worktree_conversation_is_listed_once(claude_person: Person) -> None:
    """Two checkouts of one repository are no two conversations."""
    space = claude_person.project("space")
    git(space, "init", "-q")
    ok(space, "init")
    id = begin(space, "plan", "cache", "Why the zebu?")
    git(space, "add", "-f", "-A")
    git(space, "commit", "-q", "-m", "x")
    tree = claude_person.folder / "tree"
    git(space, "worktree", "add", "-q", str(tree))
    ok(tree, "list")
    assert [row["id"] for row in rows(space, "list", "--all")] == [id]


def test_search_in_option_follows_symlink(claude_person: Person) -> None:
    """`--in` follows a link."""
    proj = claude_person.project("proj")
    claude_person.say(proj, ["Why kafka?", "Because."])
    (claude_person.folder / "link").symlink_to(proj)
    assert len(rows(claude_person.folder, "search", "kafka", "--in", "link")) == 1


def test_import_says_if_conversation_goes_to_personal_workspace(claude_person: Person) -> None:
    """A workspace and a store are where the user expects the conversation."""
    proj, space = claude_person.project("proj"), claude_person.project("space")
    ok(space, "init")
    claude_person.say(proj, ["Why kafka?", "Because."])
    claude_person.say(space, ["Why redis?", "It is fast."])
    note = "There is no workspace here; the conversation is in your personal workspace.\n"
    done = cortext(proj, "import", "why", "kafka")
    assert (done.stdout[:10], done.stderr) == ("imported: ", note)
    again = cortext(proj, "import", done.stdout.split()[1])
    assert (again.stdout[:14], again.stderr) == ("already here: ", "")
    assert cortext(space, "import", "why", "redis").stderr == ""


def test_import_refuses_empty_or_too_short_id_prefix(claude_person: Person) -> None:
    """A number, and a name that a script left empty, are no beginning of the ids of sessions that
    were imported before."""
    proj = claude_person.project("proj")
    id = claude_person.say(proj, ["Why kafka?", "Because."], session=f"2{str(uuid.uuid4())[1:]}")
    ok(proj, "import", id)
    for name, code in (("", 2), ("2", 3), (id[:3], 3)):
        done = cortext(proj, "import", name)
        assert (done.returncode, done.stdout) == (code, "")
    assert ok(proj, "import", id[:4]).startswith("already here: ")


def test_ambiguous_query_hint_says_that_beginning_of_id_is_enough(claude_person: Person) -> None:
    proj = claude_person.project("proj")
    ids = [claude_person.say(proj, [f"Fix the pond {n}", "Yes."]) for n in (1, 2)]
    done = cortext(proj, "resume", "pond")
    assert (done.returncode, "hint: type more of an id, for example `" in done.stderr) == (4, True)
    assert ok(proj, "show", ids[0][:8]).startswith("Fix the pond 1\n")
