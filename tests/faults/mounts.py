"""File systems of a test's own; each is unmounted whatever happens."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(point: Path, *options: str) -> Iterator[Path]:
    """`mount OPTIONS POINT`; the test is skipped where that is not possible."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a file system")
    point.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, point], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"kernel: cannot mount {' '.join(options)}: {done.stderr.strip()}")
    try:
        yield point
    finally:
        # Lazily, if something that a failed test left open keeps it busy.
        if subprocess.run(["umount", point], capture_output=True, check=False).returncode:
            subprocess.run(["umount", "-l", point], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody can write to, root included."""
    if os.geteuid() != 0:
        with _without_permission(folder):
            yield
        return
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield


@contextmanager
def _without_permission(folder: Path) -> Iterator[None]:
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in reversed(folders):
        path.chmod(0o500)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o700)


def fill(folder: Path, leave: int) -> Path:
    """Use up a small file system but for `leave` bytes; removing the file frees it again."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(file.tell() - leave)
    return filler
