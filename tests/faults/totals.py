"""What the faults came to, added up over all tests and workers: a table, and one line."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

_OUTCOMES = ("injected", "said so", "killed", "did it", "lost")


def write_fault_totals(terminalreporter: Any) -> None:
    totals = {"fault cases": 0, "fault violations": 0}
    table: Counter[tuple[str, str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for name, value in report.user_properties:
                if name == "fault":
                    scene, kind, outcome = value
                    table.update([(scene, kind, outcome), (scene, kind, "injected")])
                elif name == "soak":
                    terminalreporter.write_line(_soaked(*value))
                elif name in totals:
                    totals[name] += value
    for line in _lines(table):
        terminalreporter.write_line(line)
    if totals["fault cases"]:
        terminalreporter.write_line(
            f"fault sweep: {totals['fault cases']} cases, {totals['fault violations']} violations"
        )


def _lines(table: Counter[tuple[str, str, str]]) -> list[str]:
    """A row for each command and kind. Whatever was not lost was there afterwards, and what had
    failed or been killed was done by the same command when the disk was well again."""
    pairs = sorted({(scene, kind) for scene, kind, _ in table})
    if not pairs:
        return []
    counts = [[table[*pair, outcome] for outcome in _OUTCOMES] for pair in pairs]
    rows = [_row(*pair, count) for pair, count in zip(pairs, counts, strict=True)]
    sums = [sum(column) for column in zip(*counts, strict=True)]
    return [_row("command", "fault", _OUTCOMES), *rows, _row("all", "", sums)]


def _soaked(seconds: int, promised: int, kills: int, verbs: dict[str, int]) -> str:
    done = ", ".join(f"{count} {verb}" for verb, count in sorted(verbs.items()))
    return f"soak of {seconds} s: {promised} messages promised, {kills} kills; {done}"


def _row(scene: str, kind: str, cells: Iterable[object]) -> str:
    return f"{scene:18}{kind:14}" + "".join(f"{cell:>10}" for cell in cells)
