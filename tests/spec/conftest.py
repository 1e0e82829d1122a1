"""What scenarios begin with: of spec 000 a workspace; of 003 a storage, an index, and managers
that are closed."""

from collections.abc import Callable, Iterator

import pytest

from cortext import SessionIndex, SessionManager, SessionStorage


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
