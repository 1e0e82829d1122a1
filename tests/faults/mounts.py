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


_MAKE = {"xfs": ["mkfs.xfs", "-q"], "ext4": ["mkfs.ext4", "-q"]}
# What ext4 does of itself for a file that is replaced would hide that we do not.
_OPTIONS = {"xfs": "loop", "ext4": "loop,noauto_da_alloc"}
SYSTEMS = [
    "xfs",
    pytest.param("ext4", marks=pytest.mark.needs("mkfs.ext4", "for a disk to cut the power of")),
]


def make_disk(image: Path, system: str) -> tuple[str, ...]:
    """A file system in a file, whose power can be cut; the options that mount it."""
    with open(image, "wb") as file:
        file.truncate(320 << 20)
    subprocess.run([*_MAKE[system], image], check=True, capture_output=True)
    return ("-t", system, "-o", _OPTIONS[system], str(image))


def cut_power(point: Path) -> None:
    """It forgets at once whatever was not synced."""
    subprocess.run(["xfs_io", "-x", "-c", "shutdown", point], check=True)


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
