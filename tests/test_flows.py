"""How many modules of cortext a daily command executes, in a folder with one session of a tool.

The lower layers (`tools`, `stores`, `durability`, `formats`, `model`) are about half of each count.
A bar that fails says that a command takes a longer way than before.
"""

from pathlib import Path

import pytest

from cortext import Session, SessionMessage
from cortext.formats.log import encode
from tests.features.capture_bench import Bench
from tests.flow_counter import executed_modules


@pytest.mark.parametrize(
    ("command", "most"),
    [(["search", "cache"], 60), (["resume", "--context", "cache"], 66), (["list"], 42)],
    ids=["search", "resume", "list"],
)
def test_daily_command_executes_few_modules(
    command: list[str], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench("claude", tmp_path, monkeypatch)
    executed_modules("search", "cache", home=bench.home)  # makes the catalog and the index
    modules = executed_modules(*command, home=bench.home)
    assert len(modules) <= most, "\n".join(modules)


def test_doctor_executes_few_modules_to_repair_torn_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AURORA_HOME", str(tmp_path))
    session = Session("a-1", kind="spawn", messages=[SessionMessage("user", "one turn")])
    log = tmp_path / "spawn/sessions/a-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(encode(session)[:-15])
    modules = executed_modules("doctor", "--fix", "--yes", home=tmp_path)
    assert log.read_bytes().endswith(b"}\n"), "doctor repaired nothing"
    assert len(modules) <= 50, "\n".join(modules)
