"""Several programs use one index."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cortext import Session, SessionIndex, SessionManager, SessionStorage


def exported(folder: Path) -> list[str]:
    return sorted(json.loads((folder / "index.json").read_text(encoding="utf-8"))["sessions"])


def test_last_export_lists_sessions_of_all_managers(tmp_path: Path) -> None:
    """Two managers that close one after the other: `index.json` lists both sessions."""
    managers = [SessionManager(tmp_path, auto_save_interval=0) for _ in range(2)]
    ids = [manager.create().id for manager in managers]
    for manager in managers:
        manager.close()
    assert exported(tmp_path) == sorted(ids)


def test_rebuild_is_seen_by_managers_with_open_index(tmp_path: Path) -> None:
    """One table for all, before and after."""
    one, two = (SessionManager(tmp_path, auto_save_interval=0) for _ in range(2))
    first = one.create()
    two.index.rebuild()
    second = one.create()
    assert {s.id for s in two.list_sessions()} == {s.id for s in one.list_sessions()}
    assert {s.id for s in two.list_sessions()} == {first.id, second.id}


def test_large_folder_is_not_scanned_after_export_until_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one who opens it compares nothing; a change by others is seen all the same."""
    monkeypatch.setattr("cortext.catalog.documents.document_index._LARGE", 3)
    storage = SessionStorage(tmp_path)
    for id in "abcd":
        storage.save(Session(id))
    SessionIndex(storage).close()
    scans: list[str] = []
    real = SessionIndex._scan
    monkeypatch.setattr(SessionIndex, "_scan", lambda self: scans.append("scan") or real(self))
    assert SessionIndex(SessionStorage(tmp_path)).count() == 4
    assert scans == []
    SessionStorage(tmp_path).save(Session("e"))
    assert SessionIndex(SessionStorage(tmp_path)).count() == 5
    assert scans != []


@pytest.mark.parametrize("indexed", [True, False])
def test_read_only_folder_is_listed_from_files(indexed: bool, tmp_path: Path) -> None:
    """From the files, in memory; nothing is written and nothing fails."""
    folder = tmp_path / "sessions"
    storage = SessionStorage(folder)
    storage.save(Session("a", title="A"))
    if indexed:
        SessionIndex(storage).close()
    if os.getuid() != 0:
        folder.chmod(0o500)
        (folder / ".cortext").chmod(0o500)
    else:
        mounted = subprocess.run(["mount", "--bind", str(folder), str(folder)], check=False)
        if mounted.returncode:
            pytest.skip("kernel: no bind mounts here")
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
    try:
        index = SessionIndex(SessionStorage(folder))
        assert [summary.title for summary in index.list()] == ["A"]
        index.close()
    finally:
        if os.getuid() == 0:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            folder.chmod(0o700)
            (folder / ".cortext").chmod(0o700)
