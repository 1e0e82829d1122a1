"""`make test` draws the same hypothesis examples in each run."""

import importlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def draw_examples() -> list[str]:
    drawn: list[str] = []

    @settings(max_examples=300)  # one text in twenty is a constant
    @given(st.text())
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return drawn


def test_hypothesis_examples_do_not_depend_on_imported_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = draw_examples()
    words = [f"word {number}" for number in range(100)]
    (tmp_path / "imported_later.py").write_text(f"WORDS = {words}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("imported_later")
    assert draw_examples() == before
