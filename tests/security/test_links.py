"""A link in the place of a file that we keep for ourselves: what it leads to is not written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import paths
from cortext.app import masked
from cortext.app.archive import Memory
from cortext.app.errors_log import write_error
from cortext.app.masking import redaction_key
from cortext.durability.follow import Known
from cortext.errors import CortextError
from cortext.lifecycle.known import remember_program, remember_workspace

VICTIM = b"somebody else's\n"


def _mask() -> None:
    masks = masked.Masks("claude")
    masks.add("a.jsonl", ["0123456789ab"])
    masks.save()


def _know() -> None:
    memory = Memory("claude")
    memory.put("a.jsonl", Known("p", 1, 1, "d", 0))
    memory.save()


WRITERS: dict[str, tuple[Callable[[], str], Callable[[], object]]] = {
    "workspaces": (paths.known_workspaces, lambda: remember_workspace("/x")),
    "program-folders": (paths.known_programs, lambda: remember_program("/x")),
    ".masked": (masked.path, _mask),
    ".known": (lambda: f"{paths.archive()}/.known/claude.json", _know),
    "errors.log": (paths.log_file, lambda: write_error("it", ValueError("x"))),
    "redaction.key": (paths.redaction_key, redaction_key),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_is_not_written_through(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused, or the link is replaced by a file of ours."""
    for kind in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    where, act = WRITERS[name]
    victim, link = tmp_path / "victim", Path(where())
    victim.write_bytes(VICTIM)
    victim.chmod(0o644)
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    try:
        act()
    except (CortextError, OSError) as error:
        told = str(error)
        assert told
    assert victim.read_bytes() == VICTIM
    assert victim.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", WRITERS)
def test_without_a_link_it_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test before is one: each of them does write its file, for its owner only."""
    for kind in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    where, act = WRITERS[name]
    act()
    assert Path(where()).stat().st_mode & 0o077 == 0
