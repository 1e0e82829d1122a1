"""What the scenarios of spec 003 begin with: a storage, an index, and managers that are closed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortext import SessionIndex, SessionManager, SessionStorage


@pytest.fixture
def storage(tmp_path: Path) -> SessionStorage:
    return SessionStorage(tmp_path / "sessions")


@pytest.fixture
def index(storage: SessionStorage) -> Iterator[SessionIndex]:
    index = SessionIndex(storage)
    yield index
    index.close()


@pytest.fixture
def open_manager(storage: SessionStorage) -> Iterator[Callable[..., SessionManager]]:
    """Opens managers on the storage; their auto-save is off unless a test asks for it."""
    managers: list[SessionManager] = []

    def opened(auto_save_interval: float = 0) -> SessionManager:
        managers.append(SessionManager(storage, auto_save_interval=auto_save_interval))
        return managers[-1]

    yield opened
    for manager in managers:
        manager.close()
        manager.index.close()


@pytest.fixture
def manager(open_manager: Callable[..., SessionManager]) -> SessionManager:
    return open_manager()
