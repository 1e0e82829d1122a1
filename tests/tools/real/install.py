"""The real AI tools and ccusage, pinned, from npm into a cache that outlives a test run.

    python -m tests.tools.real.install [TOOL...]

The cache lies outside HOME and the clone: `$CORTEXT_TEST_CACHE`, else a folder of ours in the
system's temp folder. A program in it is run later, so a folder that others can write is refused.
"""

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
# npm downloads, unpacks and keeps its own copy meanwhile.
ROOM = 3


class Refused(Exception):
    """The harness will not do this; the sentence says why."""


@dataclass(frozen=True)
class Package:
    """An npm package, the program in it, and about how large an install is."""

    name: str
    program: str
    versions: tuple[str, ...]
    megabytes: int


PACKAGES = {
    "claude": Package("@anthropic-ai/claude-code", "claude", ("2.1.325", "2.1.197"), 400),
    "opencode": Package("opencode-ai", "opencode", ("1.18.33",), 400),
    "gemini": Package("@google/gemini-cli", "gemini", ("0.61.0",), 150),
    "codex": Package("@openai/codex", "codex", ("0.166.0",), 450),
}
# 20.0.24 is the newest version whose program for Linux is in the registry.
CCUSAGE = Package("ccusage", "ccusage", ("20.0.24",), 10)
_INSTALLABLE = {**PACKAGES, "ccusage": CCUSAGE}


def installed(tool: str, version: str = "") -> Path:
    """The program of a tool, installed first if need be; the first pinned version by default.

    Safe with several processes at once: one installs, the others wait.
    """
    package = _INSTALLABLE[tool]
    version = version or package.versions[0]
    if version not in package.versions:
        raise Refused(f"{tool} {version} is not a pinned version: {', '.join(package.versions)}")
    cache = cache_folder()
    folder = cache / f"{tool}-{version}"
    program = folder / "node_modules/.bin" / package.program
    if not program.exists():
        with _lock(cache / f"{tool}-{version}.lock"):
            if not program.exists():
                _install(package, version, folder)
    return program


def cache_folder() -> Path:
    """The cache, made if need be; Refused if it is not ours alone to write."""
    default = Path(tempfile.gettempdir(), f"cortext-test-cache-{os.getuid()}")
    folder = Path(os.environ.get("CORTEXT_TEST_CACHE") or default)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(f"{folder} is not a folder")
    if found.st_uid != os.getuid():
        raise Refused(f"{folder} belongs to user {found.st_uid}, not to us")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(f"others can write to {folder}: chmod go-w it, or remove it")
    return folder


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Never unlinked, so that it never has two holders."""
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(package: Package, version: str, folder: Path) -> None:
    """Into a folder beside, then renamed: a half install is never taken for a whole one."""
    wanted = package.megabytes * MEGABYTE * ROOM
    free = shutil.disk_usage(folder.parent).free
    if free < wanted:
        raise Refused(
            f"{package.name} needs {wanted // MEGABYTE} MB free in {folder.parent}, "
            f"there are {free // MEGABYTE}"
        )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="installing-") as temporary:
        home, made = Path(temporary, "home"), Path(temporary, "made")
        home.mkdir()
        made.mkdir()
        command = ["npm", "install", "--prefix", str(made), "--no-audit", "--no-fund"]
        done = subprocess.run(
            [*command, f"{package.name}@{version}"],
            cwd=made,
            env=_npm_environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        program = made / "node_modules/.bin" / package.program
        if done.returncode or not program.exists():
            raise Refused(f"npm could not install {package.name}@{version}: {done.stderr[-2000:]}")
        made.rename(folder)


def _npm_environment(home: Path) -> dict[str, str]:
    """What says where packages come from, and nothing else of ours."""
    names = ("PATH", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
    prefixes = ("npm_config_", "http_proxy", "https_proxy", "no_proxy")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in names or name.lower().startswith(prefixes)
    }
    return {**kept, "HOME": str(home), "npm_config_cache": str(home / "npm")}


if __name__ == "__main__":
    for tool in sys.argv[1:] or _INSTALLABLE:
        for version in _INSTALLABLE[tool].versions:
            print(installed(tool, version))
