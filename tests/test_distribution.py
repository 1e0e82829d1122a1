"""`pip install cortext-sessions` alone: what it pulls in, and that the command needs no more."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from cortext.cli.command_group import COMMAND_SUMMARIES

SOURCE = Path(__file__).parent.parent / "src/cortext"
WITH_EXTRAS = {"adapters", "client"}
"""The packages that only work with an extra."""
FOR_UVICORN = {"httptools", "uvloop"}
"""uvicorn imports these itself where they are installed."""
ALONE = """
import sys
from importlib.abc import MetaPathFinder
absent = set(sys.argv.pop(1).split(","))
class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from cortext.cli.main import main
sys.exit(main())
"""


def _named(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def _required(distribution: str) -> list[str]:
    """What is installed with it, without any extra."""
    try:
        wanted = requires(distribution) or []
    except PackageNotFoundError:
        return []  # for another system, or another Python
    return [_named(one) for one in wanted if "extra ==" not in one]


def _installed_alone() -> set[str]:
    found: set[str] = set()
    waiting = ["cortext-sessions"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _required(name)
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def _absent() -> list[str]:
    """The modules that are here and would not be there."""
    there = _installed_alone()
    return [
        module
        for module, names in packages_distributions().items()
        if module not in ("cortext", "pip") and not there.intersection(map(_named, names))
    ]


def _alone(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A command where nothing is installed but what pip brings without an extra."""
    return subprocess.run(
        [sys.executable, "-c", ALONE, ",".join(_absent()), *args],
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "XDG_DATA_HOME": str(cwd / "data")},
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_every_required_dependency_is_imported_by_command() -> None:
    """Nothing is required that only an adapter or a client imports."""
    files = [
        path
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in WITH_EXTRAS
    ]
    imported = {module for path in files for module in _imported(path)}
    distributions = packages_distributions()
    used = {_named(name) for module in imported for name in distributions.get(module, ())}
    wanted = _required("cortext-sessions")
    assert len(wanted) > 5
    assert {*wanted} - used - FOR_UVICORN == set()


def test_every_command_has_help_without_extras(tmp_path: Path) -> None:
    """Every command has its help; a store on a server says how to install its package."""
    assert {"redis", "psycopg"} <= set(_absent())
    for name in COMMAND_SUMMARIES:
        done = _alone(tmp_path, name, "--help")
        assert (done.returncode, done.stderr) == (0, ""), name
    for url in ("redis://x/0", "postgresql://x/y"):
        args = ["list", "--store", url]
        done = _alone(tmp_path, *args)
        assert (done.returncode != 0, "Traceback" in done.stderr) == (True, False), done.stderr
        assert "hint: install it with `" in done.stderr, args


def test_demo_runs_without_extras(tmp_path: Path) -> None:
    """The tour: transcripts are found, listed, searched and reopened."""
    done = _alone(tmp_path, "demo")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
