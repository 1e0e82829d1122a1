"""Eight at once in one home, one killed every second: all that was promised is there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionCorruptedError, SessionLockedError
from tests.faults.conftest import ROOT
from tests.faults.home import Home
from tests.faults.soak import Promises
from tests.faults.stored_texts import Kept
from tests.faults.worker import Worker

pytestmark = pytest.mark.long

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
def test_eight_workers_with_kills_keep_every_promise(
    ground: Path, seconds: int, record_property: Any
) -> None:
    """Random verbs over all stores, the archive and the lists; doctor has nothing to say then."""
    soaked = _soak(ground, seconds)
    record_property("soak", (seconds, soaked["promised"], soaked["kills"], soaked["verbs"]))
    assert soaked["violations"] == []
    assert soaked["kills"] >= seconds - 2
    assert soaked["promised"] > 10 * seconds
    assert set(soaked["verbs"]) >= _VERBS


def test_promises_report_deleted_session_that_comes_back(tmp_path: Path) -> None:
    """One that was deleted is not there again; one whose deletion was only begun may be."""
    promises = Promises()
    for word, name in (("begin", "document/a"), ("ack", "document/a"), ("begin", "document/b")):
        promises.take(json.dumps([word, "delete", name, ""]))
    kept = Kept({"document/a": ["x"], "document/b": ["y"]}, [])
    assert [*promises.broken(Home(tmp_path), kept)] == ["document/a was deleted, and is back"]


def test_worker_reports_damaged_session_and_tolerates_lock(tmp_path: Path) -> None:
    """An error of ours is no excuse: whoever finds a session damaged says so."""
    told = os.pipe()
    worker = Worker(Home(tmp_path), 1, told[1])

    def finds_damage() -> None:
        raise SessionCorruptedError("a.json", "line 3 is no JSON")

    def waits() -> None:
        raise SessionLockedError("a.json", holder="another", waited=5)

    worker._do(finds_damage)
    worker._do(waits)
    os.close(told[1])
    with os.fdopen(told[0]) as lines:
        said = [json.loads(line) for line in lines]
    assert [line[0] for line in said] == ["bad", "ack"]
    assert "SessionCorruptedError" in said[0][1]
