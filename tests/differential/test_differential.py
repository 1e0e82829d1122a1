"""The current tree does what the last release does: JSON, files and exit codes, not prose."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.differential.compare import Outcome, run_scenario
from tests.differential.scenarios import SCENARIOS

pytestmark = pytest.mark.long


def run_at(folder: Path, name: str, bin: Path) -> Outcome:
    """Run at the same path each time: paths are in JSON and in files."""
    try:
        return run_scenario(SCENARIOS[name], folder, bin)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_ends_as_in_release(name: str, release: Path, tmp_path: Path) -> None:
    expected = run_at(tmp_path / "person", name, release)
    actual = run_at(tmp_path / "person", name, Path(sys.executable).parent)
    for step, expected_step in zip(actual.steps, expected.steps, strict=True):
        assert step == expected_step
    assert sorted(actual.files) == sorted(expected.files)
    for path, content in expected.files.items():
        assert actual.files[path] == content, path
