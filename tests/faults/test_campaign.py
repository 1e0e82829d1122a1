"""Faults of every kind in every command that writes: nothing kept is lost, nothing is silent."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import ROOT
from tests.faults.gate import can_hold
from tests.faults.kinds import KINDS
from tests.faults.scenes import SCENES

MOST = 7
"""Faults of each kind, once and lasting, in one command; twice as many kills."""


@pytest.fixture(autouse=True)
def _needs_a_gate() -> None:
    if why := can_hold():
        pytest.skip(f"kernel: no call can be held: {why}")


def _campaign(ground: Path, most: str, *scenes: str) -> list[dict[str, Any]]:
    """The cases of a campaign, in a process of its own: it forks, and threads would not survive."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.campaign", str(ground), most, *scenes],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _violations(cases: list[dict[str, Any]]) -> list[str]:
    return [
        f"{case['scene']}, {case['fault']} at {case['where']}: {text}"
        for case in cases
        for text in case["violations"]
    ]


def _report(cases: list[dict[str, Any]], record_property: Any) -> None:
    fired = [case for case in cases if case["fired"]]
    record_property("fault cases", len(fired))
    record_property("fault violations", len(_violations(cases)))
    for case in fired:
        lost = "lost" if case["violations"] else case["outcome"]
        record_property("fault", (case["scene"], case["fault"]["kind"], lost))
    assert _violations(cases) == []


def test_one_fault_in_each_command(ground: Path, record_property: Any) -> None:
    """Each command takes one fault, each kind comes up: done, or said that it is not."""
    cases = _campaign(ground, "one")
    assert {case["scene"] for case in cases} == {*SCENES}
    assert {case["fault"]["kind"] for case in cases} == {*KINDS}
    _report(cases, record_property)


@pytest.mark.faults
@pytest.mark.parametrize("scene", SCENES)
def test_faults_all_over_a_command(scene: str, ground: Path, record_property: Any) -> None:
    """Faults of all kinds, from its first call to its last, once and for good."""
    cases = _campaign(ground, str(MOST), scene)
    assert Counter(case["fired"] for case in cases)[True] >= 5 * MOST
    _report(cases, record_property)


def test_campaign_finds_a_careless_writer(ground: Path) -> None:
    """A writer whose old file is gone before the new one is there is caught."""
    found = _violations(_campaign(ground, "careless", "rename"))
    assert any("after it: workspace/" in text for text in found), found
