"""The format of one line in the picker's list of conversations."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from cortext.catalog.row import ConversationRow
from cortext.cli.views.list_view import age, short, short_id
from cortext.clock import ago
from cortext.model.safe_text import clean

MARKS = {"active": "●", "completed": "✓"}
_AGE, _SIGN, _TOOL = 3, 3, 8
_FOLDER, _FOLDERS = 8, 16
"""The least and the most columns of a folder's name."""
_LEAST = 18
"""The least columns of a title in a line that shows more than the age."""
_ROOMY = 60
"""A line with at least this many columns has room for the full names of tools."""


def laid_out(
    row: ConversationRow, room: int, now: float, *, with_folder: bool
) -> tuple[str, str, str]:
    """Return a line of `room` columns in three parts: the title, the tags, and the right end.

    The right end has the tool, the age, and with `with_folder` the folder. Tags that do not fit are
    left out.
    """
    right = age(row.last_active, now).rjust(_AGE)
    if room - _AGE - _SIGN - 2 >= _LEAST:
        tool = set_cell_size(_tool(row), _TOOL) if room >= _ROOMY else sign(row)
        right = f"{tool} {right}"
    title = row.title or "(no title)"
    free = room - cell_len(right) - 1
    if with_folder and free - _FOLDER - 1 >= _LEAST:
        name = where(row)
        wide = min(max(free - cell_len(title) - 1, _FOLDER), _FOLDERS, cell_len(name))
        right = f"{cut(name, wide)} {right}"
        free -= wide + 1
    shown = cut(title, min(cell_len(title), free))
    left = max(free - cell_len(shown), 0)
    return shown, filled(_tags(row, left), left), f" {right}"


def sign(row: ConversationRow) -> str:
    """Return the first letters of the tool's name, with a + if there are several tools."""
    tools = row.tool_names
    shown = f"{tools[0][: _SIGN - 1]}+" if len(tools) > 1 else "".join(tools)[:_SIGN]
    return shown.ljust(_SIGN)


def _tool(row: ConversationRow) -> str:
    tools = row.tool_names
    return f"{tools[0]}+" if len(tools) > 1 else "".join(tools)


def _tags(row: ConversationRow, room: int) -> str:
    """Return as many whole tags as fit into `room` columns."""
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


def facts(row: ConversationRow, now: float) -> str:
    """Return the facts about a conversation on one line, from its type to its id.

    Between them are the status, age, tools, messages, tags and folder.
    """
    found = [row.kind or "chat", row.status or "no session", ago(row.last_active, now)]
    found += row.tool_names
    if not row.tool or row.is_standalone:
        count = row.messages
        found.append("1 message" if count == 1 else f"{count} messages")
    found += [f"#{tag}" for tag in row.tags]
    found += [short(row.folder) or "no folder known", short_id(row)]
    return clean(" · ".join(found), lines=False)
