"""The comparison as text: tables in Markdown, which a terminal shows as well, what is missing in
them and why, and who is ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.peer_reasons import EXCHANGED, REASONS, UNDECIDED
from bench.peer_rows import (
    ENOUGH,
    KEYS,
    NO_LISTING,
    PLACES,
    Exchange,
    Found,
    Row,
    Verdict,
    exchanges,
    figure,
    noise,
    of_place,
    rows,
    shown_name,
    told,
    verdicts,
)

_EVERYWHERE = {
    NO_LISTING: "They have no listing",
    "it has no search": "They have no search",
}
_FIRST = ("append", "append at long", "append at longer", "last", "load", "list", "search")


def tables(found: Found) -> str:
    """Two for each place: times, and the rest."""
    parts: list[str] = []
    for place, title in PLACES.items():
        there = of_place(found, place)
        if not there:
            continue
        parts.append(f"### {title}")
        every = rows(found)
        parts.append(_table(there, [row for row in every if row.key in _FIRST], "times in ms"))
        parts.append(_table(there, [row for row in every if row.key not in _FIRST], ""))
    return "\n\n".join(parts)


def _table(there: Sequence[Found], columns: Sequence[Row], corner: str) -> str:
    columns = [row for row in columns if any(row.key in one["cells"] for one in there)]
    heads = [_head(row) for row in columns]
    lines = [[corner, *heads]]
    for one in there:
        unsynced = "" if one["syncs"] else " (does not sync)"
        lines.append([shown_name(one) + unsynced, *(told(row, one) for row in columns)])
    widths = [max(len(line[at]) for line in lines) for at in range(len(heads) + 1)]
    text = [_line(line, widths) for line in lines]
    rule = "|" + "|".join("-" * (w + 1) + (":" if n else "-") for n, w in enumerate(widths)) + "|"
    return "\n".join([text[0], rule, *text[1:]])


def _head(row: Row) -> str:
    return row.title if row.key in _FIRST or not row.unit else f"{row.title}, {row.unit}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "| " + " | ".join([first, *rest]) + " |"


def notes(found: Found) -> str:
    """Why a cell is empty, or has an asterisk."""
    lines: list[str] = []
    for one in found["contestants"].values():
        reasons: dict[str, list[str]] = {}
        for row in rows(found):
            why = one["why"].get(row.key)
            if why and why not in _EVERYWHERE:
                reasons.setdefault(why, []).append(row.title)
        lines += [f"- {one['name']}, {'; '.join(at)}: {why}." for why, at in reasons.items()]
        lines += [f"- {one['name']}, {error}." for error in one["errors"]]
        if error := one["torn"]["error"]:
            lines.append(f"- {one['name']}, torn tail: {' '.join(error.split())}.")
    for why, told_as in _EVERYWHERE.items():
        those = [one["name"] for one in found["contestants"].values() if why in one["why"].values()]
        if those:
            lines.append(f"- {told_as}: {', '.join(those)}.")
    return "\n".join(lines)


def replaced(found: Found) -> str:
    """Each adapter of ours beside what a program had before it changed one import, with the rows in
    which it lost by that, and why."""
    return "\n\n".join(_exchange(each) for each in exchanges(found))


def _exchange(each: Exchange) -> str:
    lines = [f"### {each.ours['name']}, for {each.theirs['name']}", ""]
    lines += ["| | ours | what it replaces | |", "|---|---|---|---|"]
    for row in rows_of(each):
        verdict = next((one for one in each.verdicts if one.row == row), None)
        ours = _shown(row, each.ours)
        if verdict:
            lines.append(
                f"| {row.title} | {ours} | {_shown(row, each.theirs)} | {_standing(verdict)} |"
            )
        else:
            why = each.theirs["why"].get(row.key) or "it could not be measured"
            lines.append(f"| {row.title} | {ours} | {why} | only ours |")
    lost = [one for one in each.verdicts if not one.holds]
    lines += [""] + [f"- **{one.row.title}**: {exchanged(each.key, one)}" for one in lost]
    return "\n".join(lines).rstrip()


def rows_of(each: Exchange) -> list[Row]:
    """In the order of the page."""
    order = [*(one.row for one in each.verdicts), *each.only_ours]
    return sorted(order, key=lambda row: KEYS.index(row.key))


def exchanged(key: str, verdict: Verdict) -> str:
    """Why an adapter is behind what it replaces; "" if nobody has said."""
    if not verdict.decided:
        return UNDECIDED
    row = verdict.row.key
    return EXCHANGED.get((row, key)) or EXCHANGED.get((row, "")) or ""


def ahead(found: Found) -> str:
    """A line for each row and place: ours beside the best of the others."""
    lines = ["| | ours | the best of the others | |", "|---|---|---|---|"]
    lines += [_verdict(verdict) for verdict in verdicts(found)]
    return "\n".join(lines)


def _verdict(verdict: Verdict) -> str:
    row, place = verdict.row, PLACES[verdict.place].partition(",")[0]
    return (
        f"| {row.title}, {place} | {_who(row, verdict.ours)} | {_who(row, verdict.theirs)} "
        f"| {_standing(verdict)} |"
    )


def _who(row: Row, one: Found) -> str:
    return f"{one['name']}: {_shown(row, one)}"


def _shown(row: Row, one: Found) -> str:
    unit = f" {row.unit}" if row.unit else ""
    value = one["cells"][row.key]
    shown = told(row, one) if isinstance(value, list) else figure(row, value) + unit
    beside = f" ({one['floors'][row.key]:.2f} x raw)" if row.key in one["floors"] else ""
    return f"{shown}{beside}"


def _standing(verdict: Verdict) -> str:
    factor = verdict.factor
    if not verdict.row.unit:
        return "ahead" if factor > 1 else "level" if factor == 1 else "**behind**"
    if not verdict.decided:
        return "**not decided**"
    if factor >= ENOUGH:
        return f"ahead, {factor:.1f} x"
    return "level" if verdict.holds else f"**behind, {1 / factor:.1f} x**"


def behind(found: Found) -> str:
    """Each row in which we are not ahead, and why."""
    lines = [
        f"- **{verdict.row.title}, {PLACES[verdict.place].partition(',')[0]}**: "
        f"{verdict.ours['name']} is {'behind' if verdict.decided else 'not surely ahead of'} "
        f"{verdict.theirs['name']}. {reason(verdict)}"
        for verdict in verdicts(found)
        if not verdict.holds
    ]
    return "\n".join(lines) or "In this run there is none."


def reason(verdict: Verdict) -> str:
    if not verdict.decided:
        return UNDECIDED
    return REASONS.get((verdict.row.key, verdict.place), "")


def machine(found: Found) -> str:
    """The machine, the run and its noise, in words."""
    about = found["machine"]
    middle, lowest, highest = noise(found)
    return (
        f"Measured on {found['when']} in {found['minutes']:.0f} minutes: {about['cpu']}, "
        f"{about['cores']} cores, {about['memory']} GB, {about['system']}, {about['disk']}, "
        f"Python {about['python']}, SQLite {about['sqlite']}, {about['redis']}, "
        f"{about['postgres']}.\n\n"
        f"**Noise:** a raw append with `fdatasync` was measured {len(found['floors'])} times "
        f"through the run: median {middle:.2f} ms, lowest {lowest:+.0f} %, highest "
        f"{highest:+.0f} %. A difference that is smaller than that means nothing."
    )


def told_on_terminal(found: Found) -> Iterator[str]:
    yield tables(found)
    yield notes(found)
    yield replaced(found)
    yield ahead(found)
    yield machine(found).replace("**", "")
