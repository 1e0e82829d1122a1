"""Whose a conversation is, as the program says that keeps it: lists and searches choose by that."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, SessionStorage
from cortext.adapters.session_log import SessionLog
from tests.cli.shell_completion import offered
from tests.command import begin, change_head, cortext, ok

WORD = "quagga"


@pytest.fixture
def owned_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with conversations of every kind: of Anna a log, a document and a folder, of Ben
    a log, and of nobody one of each."""
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("CI", "true")
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.chdir(root)
    ok(root, "init", "--tools", "claude")
    for id, owner in (("log-anna", "anna"), ("log-ben", "ben"), ("log-none", "")):
        keep(None, id, owner=owner)
    for id, owner in (("doc-anna", "anna"), ("doc-none", "")):
        said = [SessionMessage("user", f"Is the {WORD} {id}?")]
        SessionStorage().save(Session(id, owner=owner, working_dir=str(root), messages=said))
    change_head(root, begin(root, "plan", "Of Anna", f"Is the {WORD} hers?"), owner="anna")
    begin(root, "plan", "Of nobody", f"Is the {WORD} free?")
    return root


def keep(where: str | None, id: str, **head: Any) -> None:
    """A session of one message, by an adapter."""
    kept = SessionLog(where, "tests")
    said = [SessionMessage("user", f"Is the {WORD} {id}?")]
    kept.append(id, said, lambda: kept.new_session(id, **head))
    kept.close()


def owners(place: Path, *command: str) -> dict[str, str | None]:
    return {row["id"]: row["owner"] for row in json.loads(ok(place, *command, "--json"))}


ANNAS = {"log-anna": "anna", "doc-anna": "anna", "001-plan-of-anna": "anna"}
OTHERS = {"log-ben": "ben", "log-none": None, "doc-none": None, "002-plan-of-nobody": None}


@pytest.mark.parametrize("command", [["list"], ["search", WORD], ["resume", "--list"]])
def test_owner_option_selects_only_conversations_of_that_owner(
    command: list[str], owned_place: Path
) -> None:
    """All kinds are among them; what is another's, or nobody's, is not, nor is half a name."""
    assert owners(owned_place, *command) == {**ANNAS, **OTHERS}
    assert owners(owned_place, *command, "--owner", "anna") == ANNAS
    assert owners(owned_place, *command, "--owner", "ben") == {"log-ben": "ben"}
    for nobody in ("ann", "Anna", "carl"):
        done = cortext(owned_place, *command, "--owner", nobody)
        assert "search" not in command or f"matches --owner {nobody}" in done.stderr
        assert (done.stdout, "Traceback" in done.stderr) == ("", False), done.stderr


def test_list_search_and_show_display_owner(owned_place: Path) -> None:
    """In a list, which has no column for it where nobody owns anything, a search and a page."""
    lines = ok(owned_place, "list").splitlines()
    assert "OWNER" in lines[0]
    (line,) = [line for line in lines if line.startswith("log-anna")]
    assert line.split("document", 1)[1].split()[0] == "anna"
    assert "OWNER" not in ok(owned_place, "list", "--type", "plan", "--search", "nobody")
    assert "owner anna" in ok(owned_place, "search", WORD, "log-anna")
    assert "owner anna" in ok(owned_place, "show", "log-anna").splitlines()[1]
    assert json.loads(ok(owned_place, "show", "log-anna", "--json"))["owner"] == "anna"


def test_list_shows_changed_owner(owned_place: Path) -> None:
    """The next list knows it."""
    assert owners(owned_place, "list", "--owner", "anna") == ANNAS
    SessionLog(None, "tests").amend("log-anna", owner="ben")
    change_head(owned_place, "001-plan-of-anna", owner="ben")
    session = SessionStorage().load("doc-anna")
    session.owner = "ben"
    SessionStorage().save(session)
    assert owners(owned_place, "list", "--owner", "anna") == {}
    assert owners(owned_place, "list", "--owner", "ben").keys() == {*ANNAS, "log-ben"}


@pytest.mark.parametrize("owner", ["anna@example.com", "a\tb\nc", "\x1b[31mred", "Ä ö", "x:y/z"])
def test_owner_option_accepts_any_characters_in_name(owner: str, owned_place: Path) -> None:
    """A name of any signs finds what is its own, and does no harm to the row of it."""
    keep(None, "log-odd", owner=owner, agent="bot", tags=["one", "two"])
    (row,) = json.loads(ok(owned_place, "list", "--json", "--owner", owner))
    assert (row["id"], row["agent"], row["tags"]) == ("log-odd", "bot", ["one", "two"])
    assert "\x1b" not in ok(owned_place, "list")


@pytest.mark.parametrize("kind", ["document", "log"])
def test_owner_option_filters_sessions_of_store(
    kind: str, owned_place: Path, tmp_path: Path
) -> None:
    """`--store` with `--owner` has one owner's of that store."""
    store = f"{kind}:{tmp_path / 'store'}"
    keep(store, "one", owner="anna")
    keep(store, "two", owner="ben")
    assert owners(owned_place, "list", "--store", store, "--owner", "anna") == {"one": "anna"}


def test_completion_offers_existing_owners(owned_place: Path) -> None:
    """Those that there are."""
    assert offered(owned_place, "cortext list --owner ") == ["anna", "ben"]
    assert offered(owned_place, "cortext search --owner b") == ["ben"]


def test_catalog_of_older_version_is_rebuilt_with_owners(owned_place: Path) -> None:
    """Rows that were stored without owners do not stay."""
    import sqlite3

    assert owners(owned_place, "list", "--owner", "anna") == ANNAS
    (path,) = owned_place.parent.glob("cache/**/catalog*.sqlite3")
    with sqlite3.connect(path) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        changed = db.execute("UPDATE rows SET row = replace(row, 'anna', 'nobody')").rowcount
        db.execute(f"PRAGMA user_version = {version - 1}")
    db.close()
    assert changed
    assert owners(owned_place, "list", "--owner", "anna") == ANNAS
