"""`doctor --fix` takes the short way where an append would do."""

from pathlib import Path

import pytest

from cortext import paths
from cortext.features.doctor import checkup
from cortext.features.doctor.repair import run_repairs
from tests.features.doctor.damage import Kept
from tests.flow_counter import executed_modules

MOST_MODULES = 54
SALVAGE = "features/doctor/salvage/"
TORN = b'{"type":"turn","role":"user","content":"cut o'


@pytest.mark.parametrize("kind", ["log", "workspace"])
def test_repair_of_torn_tail_skips_salvage_engine(kind: str, tmp_path: Path) -> None:
    root = Path(paths.spawn_sessions()) if kind == "log" else tmp_path
    kept = Kept(kind, root).make()
    sound = kept.lines.read_bytes()
    kept.lines.write_bytes(sound + TORN)
    modules = executed_modules("doctor", "--fix", "--yes", home=tmp_path)
    assert kept.lines.read_bytes() == sound
    salvage = [name for name in modules if name.startswith(SALVAGE)]
    assert salvage == [f"{SALVAGE}missing_tool_results.py", f"{SALVAGE}salvaged_lines_result.py"]
    assert len(modules) <= MOST_MODULES, modules


def test_recheck_runs_only_checks_that_had_a_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Path(paths.spawn_sessions())
    sound, torn = Kept("log", logs, "sound").make(), Kept("log", logs, "torn").make()
    with torn.lines.open("ab") as file:
        file.write(TORN)
    found = checkup.run_checkup()
    assert [problem.path for problem in found.problems] == [str(torn.lines)]
    assert len(run_repairs(found.mends).mended) == 1
    sound.lines.unlink()  # a check of this file would fail now
    monkeypatch.setattr(checkup, "check_locks", None)
    found.recheck()
    assert found.problems == []
