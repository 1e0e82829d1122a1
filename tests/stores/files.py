"""The files of one session in each store, so that tests can damage and compare them."""

from pathlib import Path
from typing import NamedTuple

from cortext.stores.document import SessionStorage
from cortext.stores.folder import FolderStore
from cortext.stores.log import LogStore

KINDS = ("document", "log", "workspace")
LINES = ("log", "workspace")
_STORES = {"document": SessionStorage, "log": LogStore, "workspace": FolderStore}
_SESSION = "conversations/2025-11-22/s/.session"


class Place(NamedTuple):
    """Where session `s` of one store is, as `cortext.testing.suite_base.session` makes it."""

    kind: str
    root: Path

    def open(self, **options: float) -> SessionStorage | LogStore | FolderStore:
        return _STORES[self.kind](self.root, **options)

    @property
    def url(self) -> str:
        return f"{self.kind}:{self.root}"

    @property
    def head(self) -> Path:
        names = {"document": "s.json", "log": "s.jsonl", "workspace": f"{_SESSION}/session.json"}
        return self.root / names[self.kind]

    @property
    def lines(self) -> Path:
        """The file that the records are in."""
        return self.head.with_name("messages.jsonl") if self.kind == "workspace" else self.head

    @property
    def lock(self) -> Path:
        if self.kind == "workspace":
            return self.root / "conversations/.cortext/locks/2025-11-22~s.lock"
        return self.root / ".cortext/locks/s.lock"

    def files(self) -> dict[str, bytes]:
        """Every file below the root but locks, with its bytes."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "locks" not in path.parts
        }

    def kept(self, suffix: str) -> list[bytes]:
        """The bytes of all files that were set aside, oldest first."""
        found = [path for path in self.root.rglob("*") if f".{suffix}" in path.name]
        return [path.read_bytes() for path in sorted(found, key=lambda path: path.name)]
