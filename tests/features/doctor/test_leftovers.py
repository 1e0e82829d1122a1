"""What a process leaves behind that is killed while it writes for a person: doctor knows it."""

import os
import time
from pathlib import Path

import pytest

from cortext import paths
from cortext.durability.durable_files import temp_name
from cortext.errors import SessionStorageError
from cortext.features.doctor.checkup import run_checkup
from cortext.features.doctor.repair import run_repairs
from cortext.features.setup.setup_record import SetupRecord
from cortext.features.transfer import export
from cortext.features.transfer.export import write_export


class _KilledError(BaseException):
    """Stands for a kill: nothing that would clear up is told of it."""


@pytest.fixture(autouse=True)
def leftover_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which something was kept once."""
    for name, folder in (("DATA", "data"), ("CONFIG", "config"), ("CACHE", "cache")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "aurora"))
    monkeypatch.chdir(tmp_path)
    os.makedirs(os.path.dirname(paths.archive()), mode=0o700)
    return tmp_path


def _long_ago(path: Path) -> None:
    then = time.time() - 7200
    os.utime(path, (then, then))


def _temps(person: Path) -> list[Path]:
    return [path for path in person.rglob(".*.tmp") if "trash" not in path.parts]


def _mended() -> list[str]:
    return [mended.did for mended in run_repairs(run_checkup().mends).mended]


def test_repair_removes_temp_files_of_setup_but_not_of_other_programs(leftover_home: Path) -> None:
    """What is named after a file of ours goes to the trash; what is another program's stays."""
    settings = leftover_home / ".claude/settings.json"
    settings.parent.mkdir()
    SetupRecord.load().keep(str(settings), {"tool": "claude", "digest": "d", "folders": []})
    ours = settings.with_name(temp_name(settings.name))
    theirs = settings.with_name(temp_name("history.jsonl"))
    young = settings.with_name(temp_name(settings.name))
    for path in (ours, theirs, young):
        path.write_bytes(b"{}")
    for path in (ours, theirs):
        _long_ago(path)
    (did,) = _mended()
    assert str(ours) in did
    assert sorted(_temps(leftover_home)) == sorted([theirs, young])


@pytest.mark.parametrize("overwrite", [False, True])
def test_repair_removes_temp_file_of_killed_export(
    overwrite: bool, leftover_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is begun where doctor looks, so that nothing stays in a folder of the person."""

    def killed(*_: object, **__: object) -> None:
        raise _KilledError

    out = leftover_home / "out"
    out.mkdir()
    with monkeypatch.context() as patched:
        for place in ("cortext.features.transfer.export", "cortext.durability.durable_files"):
            patched.setattr(f"{place}.remove_if_there", killed)
        patched.setattr(os, "rename", killed)
        patched.setattr(export, "link_or_copy", killed)
        with pytest.raises(_KilledError):
            write_export(str(out / "it.md"), b"words", overwrite=overwrite)
    (left,) = _temps(leftover_home)
    assert (left.parent, list(out.iterdir())) == (Path(paths.archive()).parent, [])
    _long_ago(left)
    (did,) = _mended()
    assert str(left) in did
    assert _temps(leftover_home) == []


def test_export_to_another_disk_removes_its_old_temp_files(
    leftover_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it is begun beside the file; what an earlier one left of the same file goes."""
    monkeypatch.setattr(paths, "archive", lambda: "/proc/cortext/archive")
    out = leftover_home / "it.md"
    old, young, other = (out.with_name(temp_name(name)) for name in ("it.md", "it.md", "that.md"))
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        _long_ago(path)
    write_export(str(out), b"words", overwrite=True)
    assert out.read_bytes() == b"words"
    assert sorted(_temps(leftover_home)) == sorted([young, other])


def test_export_writes_beside_target_when_rename_crosses_disks(
    leftover_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system says only then that it is another disk, it is written beside after all."""
    real, seen = os.rename, list[str]()

    def rename(source: str, target: str) -> None:
        seen.append(os.path.dirname(source))
        if len(seen) == 1:
            raise OSError(18, os.strerror(18))
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    write_export(str(leftover_home / "it.md"), b"words", overwrite=True)
    assert seen == [os.path.dirname(paths.archive()), str(leftover_home)]
    assert ((leftover_home / "it.md").read_bytes(), _temps(leftover_home)) == (b"words", [])


def test_export_to_missing_folder_fails_and_leaves_no_temp_file(leftover_home: Path) -> None:
    """A folder that is not there is named, and nothing is left."""
    with pytest.raises(SessionStorageError, match=r"could not write .*there is no folder"):
        write_export(str(leftover_home / "none/it.md"), b"words", overwrite=False)
    assert _temps(leftover_home) == []
