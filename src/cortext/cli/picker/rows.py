"""A conversation on one line of the picker."""

from __future__ import annotations

from cortext.index.listed import Listed
from cortext.model.text import clean

MARKS = {"active": "●", "completed": "✓"}
_STEPS = ((60, "m"), (24, "h"), (7, "d"), (52, "w"))


def age(micros: int, now: float) -> str:
    """How long ago, in at most three characters or so."""
    count = max(int(now - micros / 1_000_000) // 60, 0)
    if not count:
        return "now"
    for size, name in _STEPS:
        if count < size:
            return f"{count}{name}"
        count //= size
    return f"{count}y"


def where(row: Listed) -> str:
    """The name of the folder that it was had in."""
    folder = row.had_in or row.cwd
    return clean(folder.rstrip("/").rpartition("/")[2], lines=False)


def facts(row: Listed, now: float) -> str:
    """What there is to say about it beside its title, on one line."""
    from cortext.cli.lists import short, short_id
    from cortext.clock import ago

    found = [row.kind or "chat", row.status or "no session", ago(row.last_active, now)]
    found += sorted(row.tools)
    if not row.tool or row.is_apart:
        count = row.messages
        found.append("1 message" if count == 1 else f"{count} messages")
    found += [f"#{tag}" for tag in row.tags]
    found += [short_id(row), short(row.had_in or row.cwd) or "no folder known"]
    return clean(" · ".join(found), lines=False)
