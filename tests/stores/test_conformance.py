"""The contract of session stores, over every store that we have."""

from cortext.stores.document import SessionStorage
from cortext.stores.folder import FolderStore
from cortext.stores.log import LogStore
from cortext.stores.memory import MemoryStore
from cortext.testing import SessionStoreSuite


class TestDocument(SessionStoreSuite):
    def open(self, place: str) -> SessionStorage:
        return SessionStorage(place)

    def url(self, place: str) -> str:
        return f"document:{place}"


class TestLog(SessionStoreSuite):
    def open(self, place: str) -> LogStore:
        return LogStore(place)

    def url(self, place: str) -> str:
        return f"log:{place}"


class TestWorkspace(SessionStoreSuite):
    def open(self, place: str) -> FolderStore:
        return FolderStore(place)

    def url(self, place: str) -> str:
        # As a store that the registry does not know: that way is part of the suite too.
        return f"python:cortext.stores.folder:FolderStore:{place}"


class TestMemory(SessionStoreSuite):
    persistent = processes = False

    def open(self, place: str) -> MemoryStore:
        return MemoryStore()
