"""A conversation on one line, in as many columns as there are."""

import pytest
from rich.cells import cell_len

from cortext.catalog.row import BoundSession, ConversationRow
from cortext.cli.picker.row_format import laid_out

TITLE = "Why does the theme swallow the footnotes of translated pages?"


def row(title: str = TITLE, folder: str = "/home/me/blog", *tags: str) -> ConversationRow:
    return ConversationRow(
        tool="claude",
        path="/t.jsonl",
        key="1",
        status="paused",
        last_active=0,
        kind="chat",
        title=title,
        tags=tags,
        working_dir=folder,
    )


def line(one: ConversationRow, room: int, *, with_folder: bool = False) -> str:
    found = "".join(laid_out(one, room, 7200.0, with_folder=with_folder))
    assert cell_len(found) == room
    return found


def test_in_a_terminal_of_80_columns() -> None:
    """The title has most of it, then a sign of the tool, and where all are listed the project."""
    assert line(row(), 41) == "Why does the theme swallow the f… cla  2h"
    assert line(row(), 41, with_folder=True) == "Why does the theme swallow … blog cla  2h"


def test_a_long_name_of_a_folder_gives_way_to_the_title() -> None:
    """Where the title is short, the name is whole."""
    folder = "/home/me/infrastructure"
    assert line(row(folder=folder), 41, with_folder=True) == (
        "Why does the theme swal… infrast… cla  2h"
    )
    assert line(row("Speed", folder), 41, with_folder=True) == (
        "Speed              infrastructure cla  2h"
    )


@pytest.mark.parametrize("room", [*range(5, 30), 55, 59, 60, 61, 100, 200])
@pytest.mark.parametrize("title", [TITLE, "", "日本語のエラーメッセージを書き直す", "x"])
def test_any_width(room: int, title: str) -> None:
    """Every line is as wide as the list, and begins with the title."""
    for with_folder in (False, True):
        shown = line(row(title, "/home/me/日本語", "tag"), room, with_folder=with_folder)
        assert shown[0] == (title or "(")[0] or room < 7
    assert ("claude" in shown) is (room >= 60)


def test_several_tools() -> None:
    """A plus stands for the others."""
    one = ConversationRow(
        workspace="/home/me/blog",
        path="conversations/2026-11-16/001-chat-x",
        key="x",
        status="paused",
        last_active=0,
        title="Speed",
        bindings=(BoundSession("codex", "1"), BoundSession("gemini", "2")),
    )
    assert line(one, 41).endswith(" co+  2h")
    assert line(one, 80).endswith(" codex+    2h")
