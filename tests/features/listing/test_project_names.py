"""The short names of folders in lists."""

import os

from cortext.features.listing.project_names import project_names


def test_folder_name_alone_is_shown_if_no_other_folder_has_it() -> None:
    assert project_names(["/srv/cli", "/srv/api"]) == {"/srv/cli": "cli", "/srv/api": "api"}


def test_folders_that_end_alike_get_as_many_parents_as_needed() -> None:
    folders = ["/srv/a/work/cli", "/srv/b/work/cli", "/srv/old/cli", "/srv/api"]
    assert list(map(project_names(folders).get, folders)) == [
        "a/work/cli",
        "b/work/cli",
        "old/cli",
        "api",
    ]


def test_folder_that_is_the_end_of_another_is_shown_whole() -> None:
    assert project_names(["/cli", "/srv/cli"]) == {"/cli": "/cli", "/srv/cli": "srv/cli"}


def test_home_root_and_unknown_folder_have_names() -> None:
    home = os.path.expanduser("~")
    assert project_names([home, "/", ""]) == {home: "~", "/": "/", "": ""}
    assert project_names([f"{home}/cli", "/srv/x/cli"])[f"{home}/cli"] == "~/cli"


def test_names_contain_no_terminal_codes() -> None:
    assert "\x1b" not in project_names(["/srv/\x1b[31mred"])["/srv/\x1b[31mred"]
