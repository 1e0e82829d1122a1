"""Every scenario of spec 003 has a test, named by the test's docstring."""

import ast
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
TITLES = (HERE / "scenarios_003.txt").read_text(encoding="utf-8").splitlines()


def docstrings_of_tests() -> list[str]:
    return [
        ast.get_docstring(node) or f"{path.name}: {node.name}"
        for path in HERE.glob("test_003_*.py")
        if path != Path(__file__)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_every_title_has_one_test_and_every_test_a_title() -> None:
    """The titles of the specification and the docstrings of its tests are the same."""
    assert Counter(docstrings_of_tests()) == Counter(TITLES)


def test_no_title_is_listed_twice() -> None:
    """A title with its feature names one scenario."""
    assert len(set(TITLES)) == len(TITLES) == 72
