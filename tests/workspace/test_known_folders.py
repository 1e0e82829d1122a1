"""The folders that are known, when their file cannot be read."""

from pathlib import Path
from typing import Any

import pytest

from cortext import SessionStorageError
from cortext.workspace.known_folders import forget_gone, known_workspaces, remember_workspace


def test_unreadable_workspaces_file_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one failure would lose every workspace that is known."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    remember_workspace("/one")
    remember_workspace("/two")
    file = tmp_path / "cortext/workspaces"
    before = file.read_bytes()

    def fails(path: str, *args: Any, **kwargs: Any) -> Any:
        if str(path) == str(file):
            raise OSError(5, "Input/output error")
        return opened(path, *args, **kwargs)

    opened = open
    monkeypatch.setattr("builtins.open", fails)
    with pytest.raises(SessionStorageError):
        forget_gone()
    remember_workspace("/three")
    assert len(known_workspaces()) == 1
    monkeypatch.setattr("builtins.open", opened)
    assert file.read_bytes() == before
