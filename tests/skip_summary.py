"""The end of a test run: how many tests did not run, and why."""

from collections import Counter
from typing import Any

ELSEWHERE = {
    "not slow": "the tests with the real AI tools: `make test-all` runs them",
    "not faults": "the long fault tests: `make faults` runs them",
}
"""What `make test` leaves out by its marker expression."""


def write_skip_summary(reporter: Any) -> None:
    """Write a line for each reason that tests were skipped for, the most frequent first."""
    reasons = Counter(_reason(report) for report in reporter.stats.get("skipped", []))
    expression = reporter.config.option.markexpr
    elsewhere = [text for part, text in ELSEWHERE.items() if part in expression]
    if not (reasons or elsewhere):
        return
    reporter.section("not run")
    for reason, count in reasons.most_common():
        reporter.write_line(f"{count:6} {'test' if count == 1 else 'tests'}: {reason}")
    for text in elsewhere:
        reporter.write_line(f"       {text}")


def _reason(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
