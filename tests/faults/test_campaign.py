"""Faults of every kind in every command that writes: nothing kept is lost, nothing is silent."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cortext.durability.gzip_members import pack
from tests.faults.campaign import SCENES
from tests.faults.cases import belongs_there, not_kept, points
from tests.faults.conftest import ROOT
from tests.faults.gate import can_hold
from tests.faults.home import SECRET, Home
from tests.faults.kinds import KINDS
from tests.faults.scenes import TALK, Said, secret_in

pytestmark = pytest.mark.long

MOST = 4
"""Faults of each kind, once and lasting, in one command; twice as many kills."""
LEAST = 50
"""So many of them happen in each command: 2,000 in all."""
SOME = (
    *("new", "rename", "sync", "delete", "adapter append", "import", "service append", "config"),
    "import of agents",
)
"""As many as there are kinds."""


@pytest.fixture(autouse=True)
def _needs_a_gate() -> None:
    if why := can_hold():
        pytest.skip(f"kernel: no call can be held: {why}")


def _campaign(ground: Path, most: str, *scenes: str, of: str = "campaign") -> list[dict[str, Any]]:
    """The cases of a campaign, in a process of its own: it forks, and threads would not survive."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{of}", str(ground), most, *scenes],
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


def test_no_fault_kind_loses_data_or_stays_silent(ground: Path, record_property: Any) -> None:
    """Each kind of fault once, in as many commands: done, or said that it is not."""
    cases = _campaign(ground, "one", *SOME)
    assert {case["scene"] for case in cases} == {*SOME}
    assert {case["fault"]["kind"] for case in cases} == {*KINDS}
    _report(cases, record_property)


def test_campaign_contains_at_least_2000_faults() -> None:
    """In as many commands as there are, with the least that happen in each."""
    assert len(SCENES) * LEAST >= 2000


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 500])
def test_fault_points_include_first_and_last_call(count: int) -> None:
    """The last call is often the one that makes things durable: it is always among them."""
    found = points(random.Random(1), count, 7)
    assert found == sorted({*found})
    assert len(found) == min(count, 7)
    assert {*found} >= ({1, count} if count else set())
    assert {*found} <= {*range(1, count + 1)}


def test_secret_check_searches_all_cortext_files_and_no_tool_files(tmp_path: Path) -> None:
    """In what is derived, compressed and half-written; not in what a tool keeps."""
    home = Home(tmp_path)
    for name in ("cache/cortext/words.sqlite3", "work/conversations/.cortext/.x.tmp", ".claude/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(f"it is {SECRET}\n".encode())
    (tmp_path / "a.jsonl.gz").write_bytes(pack(SECRET.encode()))
    (told,) = secret_in(home)
    assert all(name in told for name in ("a.jsonl.gz", "words.sqlite3", ".x.tmp"))
    assert ".claude" not in told


@pytest.mark.parametrize(
    ("name", "belongs"),
    [
        ("work/conversations/2026-01-01/x/.session/messages.jsonl", True),
        ("data/cortext/trash/1/0", True),
        ("work/conversations/.cortext/locks/x.lock", True),
        ("work/conversations/.cortext/.x.tmp", False),
        ("data/cortext/half", False),
        (".claude/settings.json.old", False),
        ("cache/cortext/catalog.sqlite3-journal", False),
    ],
)
def test_leftover_check_recognises_files_that_do_not_belong(name: str, belongs: bool) -> None:
    """More than what is called a temp file is, wherever it is."""
    assert belongs_there(name) is belongs


@pytest.mark.parametrize("code", [0, 1, -9])
@pytest.mark.parametrize("name", ["service append", "adapter append"])
def test_acknowledged_message_check_ignores_exit_code(name: str, code: int) -> None:
    """A program that fails at its second message, or is killed there, has said of the first."""
    scene, told = SCENES[name], Said(code, "first\nsecond\n")
    lost = not_kept(scene, told, {scene.acknowledged: ["first"]})
    assert list(lost) == ["acknowledged, and not kept: second"]
    assert list(not_kept(scene, told, {scene.acknowledged: ["first", "second"]})) == []


@pytest.mark.faults
@pytest.mark.parametrize("scene", SCENES)
def test_faults_throughout_command_lose_no_data(
    scene: str, ground: Path, record_property: Any
) -> None:
    """Faults of all kinds, from its first call to its last, once and for good."""
    cases = _campaign(ground, str(MOST), scene)
    assert Counter(case["fired"] for case in cases)[True] >= LEAST
    _report(cases, record_property)


@pytest.mark.faults
def test_faults_during_doctor_repair_lose_no_data(ground: Path, record_property: Any) -> None:
    """Whatever doctor is broken off in, nothing that could be read is lost, and it mends all the
    next time."""
    cases = _campaign(ground, str(MOST), of="doctor_faults")
    assert Counter(case["fired"] for case in cases)[True] >= 20
    _report(cases, record_property)


@pytest.mark.parametrize(
    ("scene", "told"),
    [("rename", "after it: workspace/"), ("delete", f"after it: lost: workspace/{TALK}")],
)
def test_campaign_detects_careless_writer(scene: str, told: str, ground: Path) -> None:
    """A writer whose old file is gone before the new one is there is caught, and so is a trash that
    holds what it does not give back."""
    found = _violations(_campaign(ground, "careless", scene))
    assert any(told in text for text in found), found
