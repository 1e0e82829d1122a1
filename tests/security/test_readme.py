"""The table of README.md is true: every test in it exists, and every number is what there is."""

import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = Path(__file__).with_name("README.md")
_NAMED = re.compile(r"`([\w./]+)::([\w:]+)` (\d+)")
_LOOKS, _RUNS = 300, 1500
"""Seconds that pytest may take to list all of them, and to run them, where others run beside it:
alone it takes a small part of that."""
FAILURES = [
    "Path traversal by id", "IDOR", "SQL through filter keys", "Unsafe deserialisation",
    "DNS rebinding and open local ports", "CSRF by text/plain", "Terminal escapes", "Stored XSS",
    "Argument and shell injection at launch", "Git config execution",
    "Hostile file names in commits", "Symlinks and umask", "Forged context blocks",
    "Secrets in commits", "Trust keys written by a wrapper", "Pending work executed on resume",
    "Hangs by a hostile file",
]  # fmt: skip


def _rows() -> list[list[str]]:
    lines = README.read_text(encoding="utf-8").split("\n")
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in rows if row[2].isdecimal()]


def _named() -> list[tuple[str, str, int]]:
    """Every file or module of the table, with a name in it and its number."""
    found = _NAMED.findall("\n".join(row[4] for row in _rows()))
    return [(place, name, int(number)) for place, name, number in found]


def _is_test(name: str) -> bool:
    return not name.isupper()


@pytest.fixture(scope="module")
def collected() -> Counter[str]:
    """How many cases pytest has of each test in the files of the table."""
    files = sorted({place for place, name, _ in _named() if _is_test(name)})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", *files],
        cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=_LOOKS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Counter(line.partition("[")[0] for line in done.stdout.split("\n") if "::" in line)


def test_readme_has_row_for_every_failure() -> None:
    assert [row[0].partition(":")[0] for row in _rows()] == FAILURES


def test_readme_names_existing_files() -> None:
    """The tests that run the named tests are slow. A moved file fails here at once."""
    places = {place for place, name, _ in _named() if _is_test(name)}
    assert {place for place in places if not (ROOT / place).is_file()} == set()


@pytest.mark.slow
@pytest.mark.timeout(_LOOKS + 20)
def test_readme_case_counts_match_pytest_collection(collected: Counter[str]) -> None:
    """A test that is gone, or has other cases, is told here."""
    told = {f"{place}::{name}": number for place, name, number in _named() if _is_test(name)}
    assert told == {name: collected[name] for name in told}


def _failed(names: list[str], folder: Path = ROOT) -> Counter[str]:
    """How many cases of each test do not hold: those inputs got through."""
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--tb=no", "-rfE", "-m", ""]
    done = subprocess.run(
        [*run, *names], cwd=folder, capture_output=True, text=True, timeout=_RUNS, check=False
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    told = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:\[| |$)", done.stdout, re.MULTILINE)
    return Counter(told)


@pytest.mark.slow
@pytest.mark.timeout(_RUNS + 20)
def test_readme_pass_counts_match_test_run() -> None:
    """Every test of the table is run: what a row says of it is what failed now."""
    failed = _failed([f"{place}::{name}" for place, name, _ in _named() if _is_test(name)])
    measured = {
        row[0]: str(sum(failed[f"{place}::{name}"] for place, name, _ in _NAMED.findall(row[4])))
        for row in _rows()
    }
    assert measured == {row[0]: row[3] for row in _rows()}, failed


def test_failed_counts_failing_and_erroring_cases(tmp_path: Path) -> None:
    """A case that fails, and one that cannot be tried, are inputs that got through."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2, 3])\n"
        "def test_a(n): assert n == 2\n"
        "def test_b(missing): pass\n"
        "def test_c(): pass\n"
    )
    names = [f"test_it.py::test_{each}" for each in "abc"]
    assert _failed(names, tmp_path) == {names[0]: 2, names[1]: 1}


def test_readme_list_lengths_match_modules() -> None:
    told = {(place, name): number for place, name, number in _named() if not _is_test(name)}
    modules = {place: place.removesuffix(".py").replace("/", ".") for place, _ in told}
    there = {key: getattr(import_module(modules[key[0]]), key[1]) for key in told}
    assert [key for key, inputs in there.items() if isinstance(inputs, str)] == []
    assert told == {key: len(inputs) for key, inputs in there.items()}


def test_readme_row_totals_add_up_and_no_input_passes() -> None:
    """The inputs of a row are those of its tests."""
    for title, _, inputs, passing, tests in _rows():
        numbers = [int(number) for _, _, number in _NAMED.findall(tests)]
        assert (title, int(inputs), passing) == (title, sum(numbers), "0")
        assert len(numbers) == tests.count("`") // 2
