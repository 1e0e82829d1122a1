"""Which source a changed file belongs to."""

from pathlib import Path

import pytest

from cortext.features.watch import change_watcher
from cortext.features.watch.change_watcher import Watcher


def test_change_belongs_to_its_folder_and_not_to_one_with_a_shorter_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = tmp_path / "log", tmp_path / "logbook"
    found = {}
    for folder in (short, long):
        folder.mkdir()
        found[str(folder)] = folder.name
    monkeypatch.setattr(change_watcher, "folders", lambda: found)
    monkeypatch.setattr(change_watcher, "files", dict)
    watcher = Watcher(lambda *_: None)
    try:
        assert watcher._source_name(f"{long}/a.jsonl") == "logbook"
        assert watcher._source_name(f"{short}/a.jsonl") == "log"
        assert watcher._source_name(f"{tmp_path}/other/a.jsonl") == ""
    finally:
        watcher.close()
