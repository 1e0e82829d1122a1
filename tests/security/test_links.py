"""A link in the place of a file that we keep for ourselves: what it leads to is not written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import paths
from cortext.durability.incremental_copy import CopyState
from cortext.errors import CortextError
from cortext.features.archive.archive_copy_states import Memory
from cortext.features.doctor.check_results import CheckResult
from cortext.features.doctor.checkup import SoundFiles, fingerprints_of
from cortext.features.doctor.inventory import CheckItem
from cortext.features.errors_log import write_error
from cortext.features.secrets import redaction_record
from cortext.features.secrets.redactor import redaction_key
from cortext.features.setup.setup_record import SetupRecord
from cortext.workspace.known_folders import remember_documents, remember_program, remember_workspace
from tests.command import begin, cortext, folder_of, ok

VICTIM = b"somebody else's\n"


def _mask() -> None:
    masks = redaction_record.ArchiveRedactions("claude")
    masks.add("a.jsonl", ["0123456789ab"])
    masks.save()


def _know() -> None:
    memory = Memory("claude")
    memory.put("a.jsonl", CopyState("p", 1, 1, "d", 0))
    memory.save()


def _set_up() -> None:
    SetupRecord.load().keep("/x/settings.json", {"tool": "claude", "digest": "d", "folders": []})


def _find_sound() -> None:
    file = f"{paths.data_home()}/sound"
    os.makedirs(os.path.dirname(file), exist_ok=True)
    Path(file).touch()
    os.utime(file, (1, 1))
    sound = SoundFiles()
    sound.add(CheckItem(file, (file,), CheckResult), fingerprints_of([file]))
    sound.save()


WRITERS: dict[str, tuple[Callable[[], str], Callable[[], object]]] = {
    "workspaces": (paths.known_workspaces, lambda: remember_workspace("/x")),
    "program-folders": (paths.known_programs, lambda: remember_program("/x")),
    "document-folders": (paths.known_documents, lambda: remember_documents("/x")),
    ".masked": (redaction_record.redactions_path, _mask),
    ".known": (lambda: f"{paths.archive()}/.known/claude.json", _know),
    "errors.log": (paths.log_file, lambda: write_error("it", ValueError("x"))),
    "redaction.key": (paths.redaction_key, redaction_key),
    "setup.json": (lambda: f"{paths.data_home()}/cortext/setup.json", _set_up),
    "checked.json": (paths.checked, _find_sound),
}


@pytest.mark.parametrize("name", WRITERS)
def test_symbolic_link_is_never_written_through(
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
def test_writer_creates_private_file_when_no_link_exists(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test before is one: each of them does write its file, for its owner only."""
    for kind in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    where, act = WRITERS[name]
    act()
    assert Path(where()).stat().st_mode & 0o077 == 0


def test_setup_refuses_linked_record_before_changing_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be undone is not done: one sentence, and the tool's settings are as before."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    victim, record = tmp_path / "victim", tmp_path / "data/cortext/setup.json"
    victim.write_bytes(VICTIM)
    record.parent.mkdir(parents=True)
    record.symlink_to(victim)
    settings = tmp_path / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_bytes(b'{"model": "mine"}\n')
    done = cortext(tmp_path, "setup", "--tools", "claude", "--yes")
    assert done.returncode == 1
    assert (done.stderr.count("error: "), "symbolic link" in done.stderr) == (1, True)
    assert (victim.read_bytes(), settings.read_bytes()) == (VICTIM, b'{"model": "mine"}\n')
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]


def test_doctor_checks_sessions_despite_linked_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it found sound is not noted; it says what it found all the same."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    victim, note = tmp_path / "victim", tmp_path / "cache/cortext/checked.json"
    victim.write_bytes(VICTIM)
    note.parent.mkdir(parents=True, mode=0o700)
    note.symlink_to(victim)
    ok(tmp_path, "init")
    id = begin(tmp_path, "plan", "Links", "Hello.")
    for file in folder_of(tmp_path, id).rglob("*.json*"):
        os.utime(file, (1, 1))
    assert "checked 1 conversation" in cortext(tmp_path, "doctor").stdout
    assert (victim.read_bytes(), note.is_symlink()) == (VICTIM, True)
