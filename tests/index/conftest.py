"""What the tests of the index begin with: a storage, and indexes that are closed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortext import SessionIndex, SessionStorage


@pytest.fixture
def storage(tmp_path: Path) -> SessionStorage:
    return SessionStorage(tmp_path / "sessions")


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
