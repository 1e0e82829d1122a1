"""Kills and disk errors at every call of every verb: nothing acknowledged is lost."""

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.faults.sweep import SCENES, Result, Sweep

pytestmark = [pytest.mark.long, pytest.mark.needs("strace", "to inject faults")]


def _report(result: Result, record_property) -> None:
    record_property("fault cases", result.cases)
    record_property("fault violations", len(result.violations))
    assert result.cases > 0
    assert result.violations == []


@pytest.fixture
def sweep(tmp_path: Path):
    """Makes sweeps, and ends their processes."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(closing(Sweep(tmp_path, *words)))


@pytest.mark.parametrize(("kind", "verb"), SCENES)
def test_fault_at_first_or_last_call_leaves_old_or_new_session(
    kind: str, verb: str, sweep, record_property
) -> None:
    """A fault at the first or last call of each kind leaves the old session or the new one."""
    _report(sweep(kind, verb).run(every=False), record_property)


@pytest.mark.faults
@pytest.mark.parametrize(("kind", "verb"), SCENES)
def test_fault_at_any_call_leaves_old_or_new_session(
    kind: str, verb: str, sweep, record_property
) -> None:
    """A fault at any call leaves the old session or the new one."""
    _report(sweep(kind, verb).run(every=True), record_property)


@pytest.mark.parametrize("kind", ["document", "log"])
def test_sweep_detects_writer_that_neither_syncs_nor_renames(kind: str, sweep) -> None:
    """A writer that neither syncs nor renames is caught."""
    found = sweep(kind, "save", "careless").run(every=True).violations
    assert any("neither old nor new" in text for text in found)
