"""The format of one line in the picker's list of conversations."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from cortext.catalog.row import ConversationRow
from cortext.cli.views.list_view import age, short, short_id
from cortext.clock import ago
from cortext.model.safe_text import clean

MARKS = {"active": "●", "completed": "✓"}
_AGE_WIDTH, _SIGN_WIDTH, _TOOL_WIDTH = 3, 3, 8
_MIN_FOLDER, _MAX_FOLDER = 8, 16
"""The minimum and maximum width of a folder's name, in columns."""
_MIN_TITLE = 18
"""The minimum width of a title. In a narrower list, the tool and the folder are left out."""
_WIDE = 60
"""A line with at least this many columns has room for the full names of tools."""


def layout_row(
    row: ConversationRow,
    room: int,
    now: float,
    *,
    with_folder: bool,
    folder: str = "",
    with_tool: bool = True,
) -> tuple[str, str, str]:
    """Return the line of a conversation in three parts: the title, the tags, and the right end.

    Together the parts fill `room` columns. The right end has the age of the conversation. If there
    is room, it also has the tool (if `with_tool` is True) and the name of the folder (if
    `with_folder` is True). `folder` is the name of the folder to show. If it is "", show the name
    of the row's own folder. Tags that do not fit are left out. `now` is the current time in
    seconds.
    """
    right = age(row.last_active, now).rjust(_AGE_WIDTH)
    if with_tool and room - _AGE_WIDTH - _SIGN_WIDTH - 2 >= _MIN_TITLE:
        tool = set_cell_size(_tool_label(row), _TOOL_WIDTH) if room >= _WIDE else sign(row)
        right = f"{tool} {right}"
    title = row.title or "(no title)"
    free = room - cell_len(right) - 1
    if with_folder and free - _MIN_FOLDER - 1 >= _MIN_TITLE:
        name = folder or where(row)
        width = min(max(free - cell_len(title) - 1, _MIN_FOLDER), _MAX_FOLDER, cell_len(name))
        right = f"{cut(name, width)} {right}"
        free -= width + 1
    shown = cut(title, min(cell_len(title), free))
    left = max(free - cell_len(shown), 0)
    return shown, filled(_fitting_tags(row, left), left), f" {right}"


def sign(row: ConversationRow) -> str:
    """Return the first letters of the tool's name. A `+` follows if there are several tools."""
    tools = row.tool_names
    shown = f"{tools[0][: _SIGN_WIDTH - 1]}+" if len(tools) > 1 else "".join(tools)[:_SIGN_WIDTH]
    return shown.ljust(_SIGN_WIDTH)


def _tool_label(row: ConversationRow) -> str:
    tools = row.tool_names
    return f"{tools[0]}+" if len(tools) > 1 else "".join(tools)


def _fitting_tags(row: ConversationRow, room: int) -> str:
    """Return the tags as text, without the tags that do not fit into `room` columns."""
    shown = ""
    for tag in row.tags:
        if cell_len(f"{shown} #{tag}") > room:
            break
        shown += f" #{tag}"
    return shown


def cut(text: str, width: int) -> str:
    """Return a text in exactly `width` columns, padded with spaces or cut with `…`."""
    if cell_len(text) <= width:
        return filled(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def where(row: ConversationRow) -> str:
    """Return the name of the folder in which a conversation took place, without its path."""
    return clean(row.folder.rstrip("/").rpartition("/")[2], lines=False)


def name_of(row: ConversationRow) -> str:
    """Return the title of a conversation in quotes, cut to 40 characters, for use in a sentence."""
    title = row.title or row.key
    return f'"{title if len(title) <= 40 else title[:39] + "…"}"'


def facts(row: ConversationRow, now: float, count: int | None = None) -> str:
    """Return one line with facts about a conversation.

    These are its type, status, age, tools, number of messages, git branch, tags, folder and id.
    `count` is the number of messages. If it is None, use the number in the row, if the row has one.
    """
    parts = [row.kind or "chat", row.status or "no session", ago(row.last_active, now)]
    parts += row.tool_names
    if count is None and (not row.tool or row.is_standalone or row.messages):
        count = row.messages
    if count is not None:
        parts.append("1 message" if count == 1 else f"{count} messages")
    parts += [row.branch] if row.branch else []
    parts += [f"#{tag}" for tag in row.tags]
    parts += [short(row.folder) or "unknown folder", short_id(row)]
    return clean(" · ".join(parts), lines=False)
