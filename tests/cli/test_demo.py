"""`cortext demo --keep`: what it says at its end."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from cortext import clock
from tests.command import cortext


def test_demo_keep_prints_commands_that_work(tmp_path: Path) -> None:
    """Its commands are run as they are printed; Codex's conversation began when it was had."""
    kept = cortext(tmp_path, "demo", "--keep", env={"TMPDIR": str(tmp_path)})
    (made,) = tmp_path.iterdir()
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    said = [line.strip() for line in kept.stdout.partition("Commands to try:")[2].splitlines()]
    commands = [line for line in said if line and not line.startswith("#")]
    (listing,) = [line for line in commands if line.endswith(" list --all")]
    assert [line for line in commands if line.endswith(" web")] == [listing[:-11] + " web"]

    def run(command: str) -> str:
        env = {**os.environ, "PATH": path}
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout

    listed = run(listing)
    # No process archives in the background: it would make the folder again after the `rm`.
    assert list(made.glob("home/.local/share/cortext/archive/.started")) == []
    assert "Design the retry logic for uploads." in listed
    assert "Why does the parser get slower with every file?" in listed
    (rollout,) = made.glob("home/.codex/sessions/*/*/*/*.jsonl")
    times = [json.loads(line)["timestamp"] for line in rollout.read_text("utf-8").splitlines()]
    assert times == sorted(times)
    began = datetime.fromisoformat(times[0]).astimezone()
    assert rollout.name.startswith(f"rollout-{began:%Y-%m-%dT%H-%M-%S}-")
    assert json.loads(rollout.read_text("utf-8").split("\n")[0])["payload"]["timestamp"] == times[0]
    assert (clock.now() - datetime.fromisoformat(times[-1])).total_seconds() > 3600
    run(commands[-1])
    assert list(tmp_path.iterdir()) == []
