"""Which session an id means of which a conversation was made, and the ids that programs gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortext import SessionMessage
from cortext.adapters.session_log import SessionLog
from cortext.model.framework_key_ids import id_of
from tests.cli.fake_tools import install
from tests.command import begin, cortext, ok


class Program:
    """A program that keeps sessions by an adapter, and a folder that is no workspace."""

    def __init__(self, place: Path, sessions: Path) -> None:
        self.place, self.sessions = place, sessions

    def say(self, text: str, *key: str, **head: Any) -> str:
        """Add to the session of a key; its id in lists."""
        kept, id = SessionLog(self.sessions, "tests"), id_of(*key)
        head = {"metadata": {"session_id": key[-1]}, **head}
        kept.append(
            id,
            [SessionMessage("user", text)],
            lambda: kept.new_session(id, **head),
        )
        kept.close()
        return id

    def ok(self, *args: str) -> str:
        return ok(self.place, *args)

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in json.loads(self.ok("list", "--all", "--json"))}

    def shown(self, name: str) -> str:
        """The id of what `show` shows."""
        return json.loads(self.ok("show", name, "--json"))["id"]

    def refused(self, *args: str) -> str:
        done = cortext(self.place, *args)
        assert (done.returncode != 0, "Traceback" in done.stderr) == (True, False), done.stderr
        return done.stderr

    def converted(self, name: str) -> tuple[str, str]:
        """Made ready for Claude Code: the conversation, and what was said about it."""
        done = cortext(
            self.place, "resume", name, "--tool", "claude", "--print", "--write", "--json"
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["conversation"], done.stderr


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "aurora"))
    monkeypatch.setenv("CI", "true")
    programs, place = tmp_path / "bin", tmp_path / "place"
    for folder in (programs, place, tmp_path / "home"):
        folder.mkdir()
    install(programs, "claude")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return Program(place, tmp_path / "data/cortext/programs")


@pytest.mark.parametrize("where", ["", "/", "place"])
def test_exact_id_selects_program_session_not_imported_conversation(
    program: Program, where: str
) -> None:
    """Not the conversation that was made of it, for whatever command; both are listed once the
    program has gone on. Of the two, lists here may have the conversation alone."""
    folder = str(program.place) if where == "place" else where
    program.say("Where is my order?", "repro-1", working_dir=folder)
    made, _ = program.converted("repro-1")
    assert made != "repro-1"
    assert set(program.rows()) == {made}
    program.say("And my invoice?", "repro-1")
    assert set(program.rows()) == {made, "repro-1"}
    assert program.shown("repro-1") == "repro-1"
    assert program.shown(made) == made
    assert "And my invoice?" in program.ok("export", "repro-1")
    assert "to the trash: repro-1" in cortext(program.place, "delete", "repro-1", "--yes").stderr
    assert set(program.rows()) == {made}


def test_rename_by_session_id_updates_and_renames_conversation(program: Program) -> None:
    """Also where there are both: what the program said since comes into the one that was made."""
    program.say("Where is my order?", "repro-1", working_dir="")
    made, _ = program.converted("repro-1")
    program.say("And my invoice?", "repro-1")
    program.ok("rename", "repro-1", "Orders")
    assert set(program.rows()) == {made}
    assert program.rows()[made]["title"] == "Orders"
    assert "And my invoice?" in program.ok("export", made)


def test_search_hit_id_opens_session_that_matched(program: Program) -> None:
    """Where the words are in the session alone, its id is that of the session."""
    program.say("Where is my order?", "repro-1", working_dir="")
    program.converted("repro-1")
    program.say("And the quagga?", "repro-1")
    (hit,) = json.loads(program.ok("search", "quagga", "--all", "--json"))
    assert program.shown(hit["id"]) == "repro-1"


def test_exact_id_elsewhere_wins_over_title_words_here(program: Program) -> None:
    """A title here that has the id in it is not what is meant."""
    (program.place / ".workspace").mkdir()
    begin(program.place, "plan", "Mend repro-1", "Why?")
    program.say("Where is my order?", "repro-1")
    assert program.shown("repro-1") == "repro-1"


def test_delete_by_session_id_refuses_to_delete_its_conversation(program: Program) -> None:
    """Both are on the disk, though lists show the conversation alone: its own id is asked for."""
    program.say("Where is my order?", "repro-1")
    made, _ = program.converted("repro-1")
    assert program.shown("repro-1") == made
    told = program.refused("delete", "repro-1", "--yes")
    assert f"`cortext delete {made}`" in told
    assert set(program.rows()) == {made}
    program.ok("delete", made, "--yes")
    rows = program.rows()
    assert ("repro-1" in rows, made in rows) == (True, False)


def test_imported_conversation_keeps_owner_and_accepts_later_import(program: Program) -> None:
    """Going on in a tool says where the program writes, and another import takes that over."""
    program.say("Where is my order?", "repro-1", owner="ada")
    made, told = program.converted("repro-1")
    assert f"Saved as {made} in your personal workspace." in told
    assert "If your program still runs, it continues to write to repro-1." in told
    assert "`cortext import repro-1`" in told
    assert program.rows()[made]["owner"] == "ada"
    program.say("And my invoice?", "repro-1")
    assert program.ok("import", "repro-1") == f"updated: {made} (1 new message)\n"
    assert program.ok("import", "repro-1") == f"already here: {made}\n"
    assert "And my invoice?" in program.ok("export", made)
    assert set(program.rows()) == {made}


@pytest.mark.parametrize(
    ("key", "metadata"),
    [
        (("bob/7",), {"session_id": "bob/7"}),
        (("thread 7",), {"thread_id": "thread 7"}),
        (("shop", "gia", "g1"), {"app_name": "shop", "user_id": "gia", "session_id": "g1"}),
        (("notes/é",), {"conversation_id": "notes/é"}),
        (
            ("-home-ada", "5d3c1c4e-5d0e-4e0b-9f43-0a6f7f5a9d11"),
            {"project_key": "-home-ada", "session_id": "5d3c1c4e-5d0e-4e0b-9f43-0a6f7f5a9d11"},
        ),
    ],
)
def test_commands_accept_original_id_given_by_program(
    program: Program, key: tuple[str, ...], metadata: dict[str, str]
) -> None:
    """It is good for commands, also when a conversation was made of the session."""
    id = program.say("Where is my order?", *key, metadata=metadata, working_dir="")
    program.say("Another matter", "other")
    assert id != key[-1]
    assert program.shown(key[-1]) == id
    made, told = program.converted(key[-1])
    assert f"continues to write to {id}" in told
    assert program.shown(key[-1]) == made
    assert f"`cortext delete {made}`" in program.refused("delete", key[-1], "--yes")
    program.say("And my invoice?", *key)
    assert program.shown(key[-1]) == id
    program.ok("delete", key[-1], "--yes")
    assert set(program.rows()) == {made, "other"}


def test_original_id_shared_by_two_users_is_ambiguous(program: Program) -> None:
    """Neither is taken for the other; an id of lists comes before one that a program gave."""
    ids = {
        program.say("Where is my order?", "shop", user, "g1", metadata={"session_id": "g1"})
        for user in ("gia", "bob")
    }
    told = program.refused("delete", "g1", "--yes")
    assert "2 conversations match g1" in told
    assert all(id in told for id in ids)
    program.say("Another matter", "g1")
    assert program.shown("g1") == "g1"


def test_numeric_original_id_selects_session_of_program(program: Program) -> None:
    """Of a program whose ids are numbers of one user each, the session is found."""
    id = program.say("Where is my order?", "shop", "gia", "7", metadata={"session_id": "7"})
    assert program.shown("7") == id


def test_import_accepts_original_id_that_looks_like_path(program: Program) -> None:
    """Though it looks like a path; what is neither is a file that is not there."""
    program.say("Where is my order?", "bob/7")
    assert program.ok("import", "bob/7").startswith("imported: ")
    assert "bob/8" in program.refused("import", "bob/8")
