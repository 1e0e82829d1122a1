"""Eight at once in one home, one killed every second: all that was promised is there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import ROOT

_VERBS = {"append", "delete", "index", "list", "restore", "search", "serve", "sync", "title"}


def _soak(ground: Path, seconds: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.soak", str(ground), str(seconds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("seconds", [4, pytest.param(180, marks=pytest.mark.faults)])
def test_soak(ground: Path, seconds: int, record_property: Any) -> None:
    """Random verbs over all stores, the archive and the lists; doctor has nothing to say then."""
    soaked = _soak(ground, seconds)
    record_property("soak", (seconds, soaked["promised"], soaked["kills"], soaked["verbs"]))
    assert soaked["violations"] == []
    assert soaked["kills"] >= seconds - 2
    assert soaked["promised"] > 10 * seconds
    assert set(soaked["verbs"]) >= _VERBS - {"delete", "title"}
