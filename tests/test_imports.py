"""What a start imports: every module costs time at each start."""

from pathlib import Path

import pytest

from tests.loaded_modules import loaded_by

HEAVY = {
    "asyncio", "jinja2", "litestar", "markdown_it", "mcp", "prompt_toolkit", "rapidfuzz", "redis",
    "rich", "textual", "uvicorn", "watchfiles",
}  # fmt: skip


def test_import_cortext_loads_only_itself() -> None:
    loaded = loaded_by("import cortext")
    assert loaded & (HEAVY | {"sqlite3", "msgspec", "click", "typing"}) == set()
    assert {name for name in loaded if name.split(".")[0] == "cortext"} == {"cortext"}


def test_import_of_error_loads_no_library() -> None:
    loaded = loaded_by("from cortext import SessionNotFoundError")
    assert loaded & (HEAVY | {"sqlite3", "msgspec", "click"}) == set()


@pytest.mark.parametrize("name", ["Session", "SessionStorage", "SessionIndex", "SessionManager"])
def test_python_api_loads_nothing_heavy(name: str) -> None:
    assert loaded_by(f"from cortext import {name}") & (HEAVY | {"click", "ssl"}) == set()


def test_sessions_load_no_database() -> None:
    assert "sqlite3" not in loaded_by("from cortext import Session, SessionStorage")


def loaded_by_command(*command: str) -> set[str]:
    return loaded_by(
        f"import os; sys.argv = ['cortext', *{command!r}]; from cortext.cli.main import main;"
        " out, sys.stdout = sys.stdout, open(os.devnull, 'w'); sys.stderr = sys.stdout;"
        " main(); sys.stdout = sys.stderr = out"
    )


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_click_and_no_command(option: str) -> None:
    loaded = loaded_by_command(option)
    assert "click" in loaded
    assert loaded & (HEAVY | {"sqlite3", "msgspec", "json", "subprocess"}) == set()
    layers = ("cortext.features", "cortext.catalog", "cortext.stores", "cortext.tools")
    assert {name for name in loaded if name.startswith((*layers, "cortext.cli.commands"))} == set()


@pytest.mark.parametrize(
    "command", [["list"], ["resume", "--list"], ["search", "word"], ["hook", "claude", "Stop"]]
)
def test_frequent_command_loads_nothing_heavy(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".workspace").mkdir()
    (tmp_path / "conversations").mkdir()
    monkeypatch.chdir(tmp_path)
    loaded = loaded_by_command(*command)
    assert "cortext.features" in loaded
    assert loaded & HEAVY == set()
