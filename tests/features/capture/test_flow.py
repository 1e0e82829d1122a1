"""The Stop hook goes down the layers once: it finds its binding, captures, and returns."""

import json
from pathlib import Path

import pytest

from tests.features.capture.hook_payloads import payload_of
from tests.features.capture_bench import Bench
from tests.flow_counter import executed_modules

MOST_MODULES = 51
LISTING = {
    "catalog/workspace_scan.py",
    "catalog/conversation_row_reader.py",
    "workspace/known_folders.py",
}


def test_stop_hook_in_bound_session_executes_few_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.bind()
    for number, words in enumerate(("A", "One more"), 1):
        bench.capture()
        bench.say("user", f"{words} question?", 2 * number)
        bench.say("assistant", f"{words} answer.", 2 * number + 1)
    payload = payload_of(bench, last_assistant_message="One more answer.", cwd=bench.workspace.root)
    modules = executed_modules("hook", "claude", "Stop", json.dumps(payload), home=bench.home)
    assert bench.said()[-1] == ["assistant", "One more answer."]
    assert LISTING.isdisjoint(modules)
    assert len(modules) <= MOST_MODULES, "\n".join(modules)
