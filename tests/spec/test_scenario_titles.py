"""Every scenario of a specification has a test, named by the test's docstring."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCENARIOS = {"000": 19, "002": 14, "003": 72, "004": 17}


def titles(spec: str) -> list[str]:
    return (HERE / f"scenarios_{spec}.txt").read_text(encoding="utf-8").splitlines()


def docstrings_of_tests(spec: str) -> list[str]:
    return [
        ast.get_docstring(node) or f"{path.name}: {node.name}"
        for path in HERE.glob(f"test_{spec}_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


@pytest.mark.parametrize("spec", SCENARIOS)
def test_every_title_has_a_test_and_every_test_a_title(spec: str) -> None:
    assert {*docstrings_of_tests(spec)} == {*titles(spec)}


@pytest.mark.parametrize("spec", SCENARIOS)
def test_no_title_is_listed_twice(spec: str) -> None:
    """A title with its feature names one scenario."""
    assert len(set(titles(spec))) == len(titles(spec)) == SCENARIOS[spec]
