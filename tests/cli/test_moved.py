"""`cortext moved`: conversations follow a project that was moved."""

import json
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.command import cortext, ok
from tests.homes import lay_out, move_project, said

ID, _ = said("claude")
TOOL = "#!/bin/sh\nread line\n"


class MovedProject:
    """A project with sessions of all tools, which was moved to another folder."""

    def __init__(self, folder: Path) -> None:
        self.homes = lay_out(folder / "person")
        self.old, self.new = folder / "before/cli", folder / "after/cli"
        self.old.mkdir(parents=True)
        self.new.parent.mkdir()
        move_project(self.homes, self.old)
        programs = folder / "programs"
        programs.mkdir()
        (programs / "claude").write_text(TOOL, encoding="utf-8")
        (programs / "claude").chmod(0o755)
        self.env: Mapping[str, str] = {
            **self.homes.environment,
            "PATH": f"{programs}:/usr/bin:/bin",
            "CI": "true",
        }
        shutil.move(self.old, self.new)

    def ok(self, *words: str) -> str:
        return ok(self.new, *words, env=self.env)

    def refused(self, *words: str) -> tuple[int, str]:
        done = cortext(self.new, *words, env=self.env)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    def declare(self) -> None:
        self.ok("moved", str(self.old), str(self.new))

    def begin_in_old_folder(self) -> str:
        """Make the old folder again, with a session that begins there now; return its id."""
        id = "00000000-1111-4222-8333-444444444444"
        self.old.mkdir()
        path = self.homes.transcript("claude")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        for line in lines:
            line.update({"sessionId": id} | ({"timestamp": now} if "timestamp" in line else {}))
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        path.with_name(f"{id}.jsonl").write_text(text, encoding="utf-8")
        return id

    def from_home(self, folder: Path) -> str:
        """The path of a folder as a person types it, with `~`."""
        return f"~/{os.path.relpath(folder, self.homes.home)}"

    def rows(self, *options: str) -> list[dict[str, Any]]:
        return json.loads(self.ok("list", *options, "--json"))


@pytest.fixture
def moved_project(tmp_path: Path) -> MovedProject:
    return MovedProject(tmp_path)


def test_list_in_new_folder_has_sessions_of_old_folder(moved_project: MovedProject) -> None:
    assert moved_project.rows() == []
    moved_project.declare()
    rows = moved_project.rows()
    assert ID in {row["id"] for row in rows}
    assert {row["cwd"] for row in rows} == {str(moved_project.new)}


def test_in_finds_moved_sessions_by_new_and_old_folder(moved_project: MovedProject) -> None:
    moved_project.declare()
    for folder in (moved_project.new, moved_project.old):
        assert ID in {row["id"] for row in moved_project.rows("--in", str(folder))}


def test_in_finds_moved_sessions_by_relative_path_and_home_path(
    moved_project: MovedProject,
) -> None:
    moved_project.declare()
    for folder in ("../../before/cli", moved_project.from_home(moved_project.old)):
        assert ID in {row["id"] for row in moved_project.rows(f"--in={folder}")}, folder


def test_in_finds_sessions_of_deleted_folder_below_home(moved_project: MovedProject) -> None:
    folder = moved_project.from_home(moved_project.old)
    assert ID in {row["id"] for row in moved_project.rows(f"--in={folder}")}


def test_move_typed_through_symbolic_link_counts_for_real_folder(
    moved_project: MovedProject, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(moved_project.old.parent)
    typed = str(tmp_path / "link/cli")
    moved_project.ok("moved", typed, str(moved_project.new))
    assert ID in {row["id"] for row in moved_project.rows()}
    moved_project.ok("moved", typed, "--undo")
    assert moved_project.rows() == []
    assert json.loads(moved_project.ok("moved", "--json")) == []


def test_old_folder_that_is_now_a_link_to_new_folder_moves(moved_project: MovedProject) -> None:
    moved_project.old.symlink_to(moved_project.new)
    moved_project.declare()
    moves = json.loads(moved_project.ok("moved", "--json"))
    old, new = str(moved_project.old), str(moved_project.new)
    assert moves == [{"old": old, "new": new, "since": None}]


def test_moved_quotes_path_with_spaces_in_its_hint(
    moved_project: MovedProject, tmp_path: Path
) -> None:
    new = tmp_path / "my project"
    new.mkdir()
    done = cortext(new, "moved", str(moved_project.old), str(new), env=moved_project.env)
    assert f"`cortext list --in '{new}'`" in done.stderr + done.stdout


def test_search_in_new_folder_finds_moved_sessions(moved_project: MovedProject) -> None:
    search = ("search", "parser", "--in", str(moved_project.new), "--json")
    assert moved_project.refused(*search)[0] == 1
    moved_project.declare()
    assert json.loads(moved_project.ok(*search))


def test_resume_opens_moved_session_in_new_folder(moved_project: MovedProject) -> None:
    moved_project.declare()
    elsewhere = moved_project.new.parent
    line = ok(elsewhere, "resume", ID, "--print", "--write", env=moved_project.env)
    assert line.startswith(f"cd {moved_project.new} && claude ")


def test_moved_conversation_of_workspace_is_listed_without_warning(tmp_path: Path) -> None:
    old, new, other = tmp_path / "old", tmp_path / "new", tmp_path / "other"
    old.mkdir()
    other.mkdir()
    ok(old, "init")
    ok(old, "new", "plan", "a plan")
    old.rename(new)
    ok(other, "moved", str(old), str(new))
    listed = cortext(other, "list", "--all")
    assert "a plan" in listed.stdout
    assert "does not exist" not in listed.stderr


def test_sessions_that_begin_in_old_folder_after_move_stay_there(
    moved_project: MovedProject,
) -> None:
    moved_project.declare()
    new_id = moved_project.begin_in_old_folder()
    assert new_id not in {row["id"] for row in moved_project.rows()}
    everything = {row["id"]: row["cwd"] for row in moved_project.rows("--all")}
    assert (everything[ID], everything[new_id]) == (str(moved_project.new), str(moved_project.old))
    in_old = {row["id"] for row in moved_project.rows("--in", str(moved_project.old))}
    assert {ID, new_id} <= in_old
    line = moved_project.ok("resume", new_id, "--print")
    assert line == f"cd {moved_project.old} && claude --resume {new_id}\n"


def test_since_says_when_the_folder_was_moved(moved_project: MovedProject) -> None:
    new_id = moved_project.begin_in_old_folder()
    for since, is_moved in (("1 year", False), ("2099-01-01", True)):
        moved_project.ok("moved", str(moved_project.old), str(moved_project.new), "--since", since)
        assert (new_id in {row["id"] for row in moved_project.rows()}) == is_moved


def test_move_declared_without_time_counts_for_all_sessions(moved_project: MovedProject) -> None:
    moved_project.declare()
    new_id = moved_project.begin_in_old_folder()
    path = moved_project.homes.data / "cortext/moved-folders"
    path.write_text(f"{moved_project.old}\t{moved_project.new}\n", encoding="utf-8")
    assert {ID, new_id} <= {row["id"] for row in moved_project.rows()}


def test_moved_lists_and_undoes_moves(moved_project: MovedProject) -> None:
    old, new = str(moved_project.old), str(moved_project.new)
    moved_project.ok("moved", old, new, "--since", "2026-01-31")
    when = datetime(2026, 1, 31).astimezone(UTC).isoformat()
    [move] = json.loads(moved_project.ok("moved", "--json"))
    assert move == {"old": old, "new": new, "since": when}
    assert moved_project.ok("moved") == f"{old} -> {new} (since 2026-01-31 00:00)\n"
    moved_project.ok("moved", old, "--undo")
    assert json.loads(moved_project.ok("moved", "--json")) == []
    assert moved_project.rows() == []


def test_moved_refuses_bad_input_with_one_sentence(moved_project: MovedProject) -> None:
    old, new = str(moved_project.old), str(moved_project.new)
    for words, sentence in (
        ((old,), "give both folders: cortext moved OLD NEW"),
        ((new, new), "OLD and NEW are the same folder"),
        ((new, f"{new}/nowhere"), "there is no folder"),
        ((old, "--undo", "--since", "7d"), "--since needs both folders"),
        (("--since", "7d"), "--since needs both folders"),
        ((old, new, "--since", "soon"), "'soon' is not a valid time"),
        ((old, new, "--undo"), "--undo needs the folder OLD, and does not take NEW"),
    ):
        code, message = moved_project.refused("moved", *words)
        assert (code, sentence in message) == (2, True), message
    code, message = moved_project.refused("moved", old, "--undo")
    assert (code, "was not declared as moved" in message) == (1, True), message
