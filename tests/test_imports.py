"""What an import loads: every module costs each start of each program."""

from pathlib import Path

import pytest

from tests.loaded_modules import loaded_by


def test_importing_cortext_loads_nothing_heavy() -> None:
    """`import cortext` loads itself, and none of what its parts need."""
    heavy = {"asyncio", "sqlite3", "msgspec", "redis", "rich", "click", "typing"}
    loaded = loaded_by("import cortext")
    assert "cortext" in loaded
    assert loaded & heavy == set()
    assert {name for name in loaded if name.startswith("cortext.")} == set()


def test_the_errors_load_nothing_heavy() -> None:
    """An error can be caught without loading what raises it."""
    heavy = {"asyncio", "sqlite3", "msgspec", "redis", "rich", "click"}
    assert loaded_by("from cortext import SessionNotFoundError") & heavy == set()


@pytest.mark.parametrize("name", ["Session", "SessionStorage", "SessionIndex", "SessionManager"])
def test_the_python_api_loads_no_loop_and_no_terminal(name: str) -> None:
    """A name of the Python API loads no asyncio, click, rich or redis."""
    heavy = {"asyncio", "click", "rich", "redis", "subprocess", "socket", "ssl"}
    heavy |= {"shutil", "pathlib"}
    assert loaded_by(f"from cortext import {name}") & heavy == set()


@pytest.mark.parametrize("name", ["Session", "SessionStorage"])
def test_an_import_alone_loads_no_log(name: str) -> None:
    """Logging, and all that it needs, is loaded with what may have something to say."""
    assert loaded_by(f"from cortext import {name}") & {"logging", "traceback"} == set()


def test_values_load_no_database() -> None:
    """Sessions and their storage do without SQLite."""
    assert "sqlite3" not in loaded_by("from cortext import Session, SessionStorage")


@pytest.mark.parametrize("command", [["list"], ["resume", "--list"]])
def test_lists_load_only_what_they_need(command: list[str], tmp_path: Path) -> None:
    """A list in which nothing changed loads SQLite, and neither click nor what reads a
    conversation."""
    (tmp_path / ".workspace").mkdir()
    (tmp_path / "conversations").mkdir()
    statement = (
        f"import os; os.chdir({str(tmp_path)!r}); sys.argv = ['cortext', *{command!r}];"
        " os.environ['XDG_DATA_HOME'] = os.environ['XDG_CACHE_HOME'] = os.getcwd() + '/data';"
        " from cortext.cli import main; out, sys.stdout = sys.stdout, open(os.devnull, 'w');"
        " sys.stderr = sys.stdout; main(); sys.stdout = sys.stderr = out"
    )
    heavy = {"click", "rich", "rapidfuzz", "tomllib", "shutil", "json"}
    loaded = loaded_by(statement)
    assert "sqlite3" in loaded
    assert loaded & (heavy | {"cortext.stores.folder", "cortext.model.session"}) == set()
