"""A conversation on one line, in as many columns as there are."""

import msgspec
import pytest
from rich.cells import cell_len

from cortext.catalog.row import BoundSession, ConversationRow
from cortext.cli.picker.row_format import facts, layout_row

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
    found = "".join(layout_row(one, room, 7200.0, with_folder=with_folder))
    assert cell_len(found) == room
    return found


def test_row_gives_title_most_room_in_80_column_terminal() -> None:
    """The title has most of it, then a sign of the tool, and where all are listed the project."""
    assert line(row(), 41) == "Why does the theme swallow the f… cla  2h"
    assert line(row(), 41, with_folder=True) == "Why does the theme swallow … blog cla  2h"


def test_row_without_tool_gives_its_room_to_title() -> None:
    found = "".join(layout_row(row(), 45, 7200.0, with_folder=False, with_tool=False))
    assert found == "Why does the theme swallow the footnotes…  2h"


def test_row_shortens_long_folder_name_before_long_title() -> None:
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
def test_row_fills_any_width_and_starts_with_title(room: int, title: str) -> None:
    """Every line is as wide as the list, and begins with the title."""
    for with_folder in (False, True):
        shown = line(row(title, "/home/me/日本語", "tag"), room, with_folder=with_folder)
        assert shown[0] == (title or "(")[0] or room < 7
    assert ("claude" in shown) is (room >= 60)


def test_row_marks_several_tools_with_plus() -> None:
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


def test_row_shows_given_name_of_folder_instead_of_its_last_part() -> None:
    found = "".join(layout_row(row("Speed"), 41, 7200.0, with_folder=True, folder="me/blog"))
    assert "me/blog" in found


def test_facts_have_branch_and_message_count_of_tool_session() -> None:
    one = msgspec.structs.replace(row(), branch="fix/login", messages=3)
    assert " · 3 messages · fix/login · " in facts(one, 7200.0)
    assert "message" not in facts(row(), 7200.0)


def test_facts_have_message_count_of_tool_session_once_it_is_read() -> None:
    assert "messages" not in facts(row(), 7200.0)
    assert " · 120 messages · " in facts(row(), 7200.0, 120)
