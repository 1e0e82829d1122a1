"""What the tests of the index begin with: a storage, the tools, and indexes that are closed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortext import SessionIndex, SessionStorage
from tests.catalog.spawn_folder import Folder
from tests.homes import Homes, lay_out


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """All four tools were used by this person."""
    found = lay_out(tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def open_index(storage: SessionStorage) -> Iterator[Callable[[], SessionIndex]]:
    """Opens an index of the storage, as a new process would: with a storage of its own."""
    opened: list[SessionIndex] = []

    def fresh() -> SessionIndex:
        opened.append(SessionIndex(SessionStorage(storage.storage_dir)))
        return opened[-1]

    yield fresh
    for index in opened:
        index.close()


@pytest.fixture
def spawn_folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "sessions")
