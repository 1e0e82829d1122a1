"""Every decoder, fed with files that are nearly right: `tests/fuzz/README.md` tells how."""

import os
import time
from pathlib import Path

import pytest

from tests.fuzz import files, other_decoders, rescue, tools, wires
from tests.fuzz.bombs import bombs
from tests.fuzz.campaign import Result, run, wrong
from tests.fuzz.target import Target

TARGETS = {
    target.name: target
    for module in (files, tools, wires, rescue, other_decoders)
    for target in module.TARGETS
}
INPUTS = 6
SECONDS = float(os.environ.get("FUZZ_SECONDS", "600"))


def _report(target: Target, result: Result, tmp_path: Path, record_property) -> None:
    record_property("fuzz inputs", result.inputs)
    print(f"{target.name}: {result.inputs} inputs, {result.inputs / result.seconds:.0f} a second")
    if result.finding is not None:
        kept = tmp_path / "input"
        kept.write_bytes(result.finding.data)
        pytest.fail(f"{result.finding.what}\nthe input: {kept}\nkeep it in tests/fuzz/corpus")


@pytest.mark.parametrize("name", TARGETS)
def test_decoder_survives_known_and_first_seeded_inputs(
    name: str, tmp_path: Path, record_property
) -> None:
    """Valid files, every input that ever failed, and the first of one seed, the same each time."""
    folder = tmp_path / "place"
    folder.mkdir()
    result = run(TARGETS[name], folder, 1, lambda number, _: number < INPUTS)
    assert result.inputs > 0
    _report(TARGETS[name], result, tmp_path, record_property)


@pytest.mark.faults
@pytest.mark.parametrize("name", TARGETS)
def test_decoder_survives_ten_minutes_of_random_inputs(
    name: str, tmp_path: Path, record_property
) -> None:
    """Ten minutes over all decoders, from a seed that is new; `FUZZ_SEED` repeats one."""
    folder = tmp_path / "place"
    folder.mkdir()
    seed = int(os.environ.get("FUZZ_SEED", time.time_ns()))
    share = SECONDS / len(TARGETS)
    print(f"FUZZ_SEED={seed}")
    result = run(TARGETS[name], folder, seed, lambda _, spent: spent < share)
    _report(TARGETS[name], result, tmp_path, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "folder", "claude", "codex", "gemini"])
def test_decoder_limits_time_and_memory_for_large_inputs(name: str, tmp_path: Path) -> None:
    """Forty kilobytes of one thing: in time, and within twenty times the size."""
    target = TARGETS[name]
    valid = next(path for path in target.kept if path.name.startswith("valid")).read_bytes()
    head, mark, lines = valid.rpartition(files.PARTS)
    first, _, rest = lines.partition(b"\n")
    if name == "log":
        head, mark, first = first, b"\n", rest.partition(b"\n")[0]
    with target.feeding(tmp_path) as feed:
        feed(valid)
        for what, bomb in bombs(first + b"\n").items():
            data = head + mark + bomb
            assert (what, wrong(feed, data)) == (what, "")
            assert (what, wrong(feed, data, most=target.most)) == (what, "")
