"""What is fuzzed: a decoder, the place that it reads, and files that it can read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cortext.errors import CortextError

CORPUS = Path(__file__).parent / "corpus"
Feed = Callable[[bytes], None]
"""Decodes one input in all the ways there are; whatever it raises is a finding."""


class Target(NamedTuple):
    """`open` prepares a place in an empty folder. `most` bounds the memory of one input, beside
    twenty times its size: what the place itself needs. With `threads` it has some that live on."""

    name: str
    open: Callable[[Path], Iterator[Feed]]
    most: int = 1 << 20
    threads: bool = False
    corpus: str = ""

    @property
    def kept(self) -> list[Path]:
        """Valid files, and every input that ever failed; a `corpus` of another target is fed too,
        so that what one cannot read the other mends."""
        folders = [CORPUS / name for name in (self.corpus, self.name) if name]
        return sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir())

    @contextmanager
    def feeding(self, folder: Path) -> Iterator[Feed]:
        yield from self.open(folder)


def attempt(*works: Callable[[], object]) -> None:
    """Do each; an error of our own, with a sentence, is as good as a result."""
    for work in works:
        try:
            work()
        except CortextError as error:
            if not str(error).strip():
                raise


class Files:
    """Files that are written, read by others, and must be as they were written."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def holding(self, *contents: bytes) -> Iterator[None]:
        for path, data in zip(self._paths, contents, strict=True):
            path.write_bytes(data)
        before = [path.stat() for path in self._paths]
        yield
        for path, data, old in zip(self._paths, contents, before, strict=True):
            now = path.stat()
            assert path.read_bytes() == data, f"reading changed {path.name}"
            assert (now.st_mtime_ns, now.st_ino, now.st_mode) == (
                old.st_mtime_ns, old.st_ino, old.st_mode,
            ), f"reading wrote {path.name}"  # fmt: skip
