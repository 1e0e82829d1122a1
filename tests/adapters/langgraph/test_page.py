"""The page on LangGraph does what it says."""

from pathlib import Path

import pytest

from tests.adapters.pages import run_page


def test_how_to_page_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python, one after the other."""
    monkeypatch.chdir(tmp_path)
    run_page("langgraph.md")
    assert (tmp_path / "agents/trip.jsonl").is_file()
    assert (tmp_path / "agents/checkpoints/trip.jsonl").is_file()
