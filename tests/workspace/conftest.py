"""What the tests of the manager begin with: a storage, managers that are closed, and programs."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from cortext import SessionManager, SessionStorage

NAMES = "Session, SessionIndex, SessionManager, SessionMessage, SessionStorage, SessionStorageError"


@pytest.fixture
def open_manager(storage: SessionStorage) -> Iterator[Callable[..., SessionManager]]:
    """Opens managers; each has a storage of its own, as in another process."""
    managers: list[SessionManager] = []

    def opened(auto_save_interval: float = 0) -> SessionManager:
        own = SessionStorage(storage.storage_dir)
        managers.append(SessionManager(own, auto_save_interval=auto_save_interval))
        return managers[-1]

    yield opened
    for manager in managers:
        if manager.current_session is not None and storage.exists(manager.current_session.id):
            manager.close()
        manager._forget_current()
        manager.index.close()


@pytest.fixture
def run(storage: SessionStorage) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program that has `storage` and the names of sessions."""

    def program(code: str) -> subprocess.CompletedProcess[str]:
        start = (
            f"from cortext import {NAMES}\nstorage = SessionStorage({str(storage.storage_dir)!r})\n"
        )
        return subprocess.run(
            [sys.executable, "-c", start + code],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    return program
