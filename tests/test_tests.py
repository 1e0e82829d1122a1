"""The tests keep to the rules of their layout."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src/cortext"

SUITES = {
    "differential": "compares us with a release",
    "faults": "injects faults into every command",
    "fuzz": "feeds damaged input to every decoder",
    "security": "has a file for each kind of attack",
    "spec": "has a test for each scenario of the specifications",
    "texts": "has every sentence that users read, written by scripts/texts.py",
    "texts/commands": "has the help and the messages of each command",
    "tools/real": "runs the real AI tools",
}
"""Folders that mirror no package of `src`, with the reason."""
DATA = {"golden", "recorded", "conversations", "corpus", "__pycache__"}

OWN_OBJECT = "each file has its own object of this kind"
REPEATED_FIXTURES = {
    "_alone": "sets CI for every test of its file",
    "_cache": "sets the cache for every test of its file",
    "browser": "starts Chromium with other arguments",
    "cache": OWN_OBJECT,
    "copy": OWN_OBJECT,
    "data_home": "adapters run without the conftest of tests",
    "database": OWN_OBJECT,
    "elsewhere": OWN_OBJECT,
    "env": OWN_OBJECT,
    "folder": OWN_OBJECT,
    "holder": OWN_OBJECT,
    "id": OWN_OBJECT,
    "kept": OWN_OBJECT,
    "lines": OWN_OBJECT,
    "log": OWN_OBJECT,
    "open_manager": "workspace opens a storage of its own for each manager",
    "path": OWN_OBJECT,
    "place": "the subclasses of a conformance suite override it",
    "programs": OWN_OBJECT,
    "project": OWN_OBJECT,
    "reads": "counts the reads of another index",
    "redis": OWN_OBJECT,
    "redis_server": "adapters run without the conftest of tests",
    "redis_url": "adapters run without the conftest of tests",
    "root": OWN_OBJECT,
    "server": OWN_OBJECT,
    "sessions": OWN_OBJECT,
    "site": OWN_OBJECT,
    "store": OWN_OBJECT,
    "three": OWN_OBJECT,
    "tools": OWN_OBJECT,
    "url": OWN_OBJECT,
    "visit": OWN_OBJECT,
}
"""Fixtures that more than one file defines, with the reason."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(TESTS.rglob("*.py")):
        yield path.relative_to(TESTS).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def fixtures(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            ast.unparse(each).startswith("pytest.fixture") for each in node.decorator_list
        ):
            yield node.name


def test_no_module_imports_test_module() -> None:
    found = [
        f"{name} imports {each}"
        for name, tree in modules()
        for each in imported(tree)
        if each.startswith("tests.") and any(part.startswith("test_") for part in each.split("."))
    ]
    assert found == []


def test_each_fixture_is_defined_in_one_file_or_listed() -> None:
    files: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules():
        for each in fixtures(tree):
            files[each].add(name)
    repeated = {name: sorted(found) for name, found in files.items() if len(found) > 1}
    assert {name: found for name, found in repeated.items() if name not in REPEATED_FIXTURES} == {}
    assert sorted(REPEATED_FIXTURES) == sorted(repeated), "a listed fixture is defined only once"


def test_each_test_folder_mirrors_package_or_is_listed_suite() -> None:
    folders = [
        path.relative_to(TESTS)
        for path in sorted(TESTS.rglob("*"))
        if path.is_dir() and not DATA & {*path.relative_to(TESTS).parts}
    ]
    strange = [
        folder.as_posix()
        for folder in folders
        if not (SOURCE / folder).is_dir()
        and not any(folder.is_relative_to(suite) for suite in SUITES)
    ]
    assert strange == []
    assert [suite for suite in SUITES if not (TESTS / suite).is_dir()] == []
