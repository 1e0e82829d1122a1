"""`fault sweep: N cases, M violations`, added up over all tests and workers."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    totals = {"fault cases": 0, "fault violations": 0}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, value in report.user_properties:
                    totals[name] = totals.get(name, 0) + value
    if totals["fault cases"]:
        terminalreporter.write_line(
            f"fault sweep: {totals['fault cases']} cases, {totals['fault violations']} violations"
        )
