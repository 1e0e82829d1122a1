"""The SQL clauses for filtering and sorting session documents.

Values are always passed as parameters. Column names come from a fixed table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortext.catalog.database import folded, plain

_ORDERS = {
    "updated_at": True,
    "created_at": True,
    "message_count": True,
    "total_tokens": True,
    "title": False,
    "id": False,
}
"""The columns that a list can be sorted by, and whether the greatest value comes first."""


def order(sort_by: str, descending: bool | None) -> str:
    if sort_by not in _ORDERS:
        raise ValueError(f"sort_by is one of {', '.join(_ORDERS)}, not {sort_by!r}")
    down = _ORDERS[sort_by] if descending is None else descending
    return f"ORDER BY {sort_by} {'DESC' if down else 'ASC'}, id"


def conditions(
    tags: Sequence[str] | None, search: str | None, working_dir: str | None, owner: str | None
) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for tag in tags or ():
        parts.append("id IN (SELECT id FROM tags WHERE tag = ?)")
        values.append(plain(tag))
    if search:
        parts.append("instr(title, ?) > 0")
        values.append(folded(search))
    for column, value in (("working_dir", working_dir), ("owner", owner)):
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(plain(value))
    return ("WHERE " + " AND ".join(parts) if parts else ""), values
