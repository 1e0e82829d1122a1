"""The short table of docs/explanation/bench.md: the stores that use files, and the rows that a
reader asks for first."""

from __future__ import annotations

from bench.peer_rows import NO_LISTING, Found, Row, rows, shown_name, told

_OURS = ("log", "document", "in-openai-agents", "in-google-adk", "in-langgraph")
_SHOWN = (*_OURS, "openai-agents", "agno", "strands", "google-adk", "langgraph", "llm")
_ASKED = ("append", "append at long", "last", "load", "list", "writers")
_PRESENT = "present"


def short(found: Found) -> str:
    """When and where it was measured, and a table."""
    asked = [row for row in rows(found) if row.key in _ASKED]
    heads = [_PRESENT if row.key == "writers" else row.title for row in asked]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for key in _SHOWN:
        if one := found["contestants"].get(key):
            cells = " | ".join(_cell(row, one) for row in asked)
            lines.append(f"| {shown_name(one)} | {cells} |")
    has_asterisk = any("* |" in line for line in lines)
    partly = " An asterisk: measured with fewer than the column says." if has_asterisk else ""
    return "\n".join([_about(found) + partly, "", *lines])


def _about(found: Found) -> str:
    bounds, machine = found["bounds"], found["machine"]
    appends = bounds["writers"] * bounds["each"]
    trial = ", only a trial" if found["quick"] else ""
    return (
        f"One run of {found['when']} on a machine with {machine['cores']} cores{trial}. Times are "
        f"in milliseconds: less is better. `{_PRESENT}`: of {appends:,} appends by "
        f"{bounds['writers']} processes to one conversation, how many it held afterwards."
    )


def _cell(row: Row, one: Found) -> str:
    if row.key == "writers":
        if row.key not in one["cells"]:
            return "-"
        _, present, errors = one["cells"][row.key]
        return f"{present:,}" + (f", {errors:,} refused" if errors else "")
    if row.key == "list" and one["why"].get(row.key) == NO_LISTING:
        return "cannot list"
    unsynced = ", not synced" if row.key == "append" and not one["syncs"] else ""
    return told(row, one) + unsynced
