"""The folders that a user declared as moved."""

from pathlib import Path

import pytest

from cortext import paths
from cortext.workspace.moved_folders import declare_move, forget_move, moved_folders


def test_folder_and_everything_below_it_moves() -> None:
    declare_move("/old/cli", "/new/cli")
    follow = moved_folders().follow
    assert follow("/old/cli") == "/new/cli"
    assert follow("/old/cli/src") == "/new/cli/src"
    assert follow("/old/client") == "/old/client"
    assert follow("") == ""


def test_folder_that_was_moved_twice_is_at_its_last_place() -> None:
    declare_move("/a", "/b")
    declare_move("/b", "/c")
    assert moved_folders().follow("/a/x") == "/c/x"
    assert moved_folders().follow("/b/x") == "/c/x"


def test_folder_that_was_moved_back_is_where_it_was() -> None:
    declare_move("/a", "/b")
    declare_move("/b", "/a")
    assert moved_folders().follow("/a/x") == "/a/x"
    assert moved_folders().follow("/b/x") == "/a/x"


def test_move_to_path_of_folder_that_was_moved_away_keeps_both_moves() -> None:
    declare_move("/app", "/app-v1")
    declare_move("/app-next", "/app")
    assert moved_folders().follow("/app/x") == "/app-v1/x"
    assert moved_folders().follow("/app-next/x") == "/app/x"


def test_folder_that_was_moved_into_itself_is_followed_once() -> None:
    declare_move("/p", "/p/sub")
    follow = moved_folders().follow
    assert follow("/p/x") == "/p/sub/x"
    assert follow(follow("/p/x")) == "/p/sub/x"
    assert follow("/p/subway") == "/p/sub/subway"


def test_folder_that_was_moved_up_replaces_its_parent() -> None:
    declare_move("/p/sub", "/p")
    assert moved_folders().follow("/p/sub/x") == "/p/x"


def test_root_folder_moves_with_one_slash() -> None:
    declare_move("/", "/n")
    assert moved_folders().follow("/a/b") == "/n/a/b"
    assert moved_folders().follow("") == ""
    forget_move("/")
    declare_move("/n", "/")
    assert moved_folders().follow("/n/a") == "/a"
    assert moved_folders().follow("/n") == "/"


def test_move_of_inner_folder_wins_over_move_of_outer_folder() -> None:
    declare_move("/a", "/b")
    declare_move("/a/inner", "/c")
    assert moved_folders().follow("/a/inner/x") == "/c/x"
    assert moved_folders().follow("/a/x") == "/b/x"


def test_forgotten_move_has_no_effect() -> None:
    declare_move("/a", "/b")
    assert forget_move("/a")
    assert not forget_move("/a")
    assert moved_folders().follow("/a") == "/a"


@pytest.mark.parametrize("name", ["tab\there", "line\nbreak", "100%", "%09", "b\udcffad"])
def test_path_with_any_character_is_stored(name: str) -> None:
    declare_move(f"/a/{name}", f"/b/{name}")
    assert moved_folders().follow(f"/a/{name}") == f"/b/{name}"


def test_damaged_line_is_ignored() -> None:
    declare_move("/a", "/b")
    with Path(paths.moved_folders()).open("ab") as file:
        file.write(b"\xff nothing\n\n")
    assert moved_folders().follow("/a") == "/b"
