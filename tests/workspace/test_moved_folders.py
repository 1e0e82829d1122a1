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


def test_move_counts_only_for_sessions_that_began_before_it() -> None:
    declare_move("/a", "/b", since=1000)
    follow = moved_folders().follow
    assert [follow("/a/x", began) for began in (999, 1000, 1001)] == ["/b/x", "/a/x", "/a/x"]
    assert follow("/a/x") == follow("/a/x", 0) == "/b/x"


def test_move_without_time_counts_for_all_sessions() -> None:
    declare_move("/a", "/b")
    assert moved_folders().follow("/a/x", 10**16) == "/b/x"


def test_later_sessions_of_inner_folder_move_with_outer_folder() -> None:
    declare_move("/a/inner", "/c", since=1000)
    declare_move("/a", "/b", since=2000)
    follow = moved_folders().follow
    found = [follow("/a/inner", began) for began in (1, 1500, 2500)]
    assert found == ["/c", "/b/inner", "/a/inner"]


def test_second_move_keeps_time_of_first_move() -> None:
    declare_move("/a", "/b", since=1000)
    declare_move("/b", "/c", since=2000)
    follow = moved_folders().follow
    assert [follow("/a", began) for began in (999, 1500)] == ["/c", "/a"]
    assert [follow("/b", began) for began in (1999, 2000)] == ["/c", "/b"]


@pytest.mark.parametrize("time", ["", "soon", "9999-12-31T23:59:59-23:59"])
def test_move_with_unreadable_time_counts_for_all_sessions(time: str) -> None:
    declare_move("/z", "/y")
    Path(paths.moved_folders()).write_text(f"/a\t/b\t{time}\n", encoding="utf-8")
    assert moved_folders().follow("/a/x", 1000) == "/b/x"


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
