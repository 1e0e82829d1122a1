"""Errors as a person sees them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext.cli.errors import report
from tests.command import begin, cortext, folder_of, ok


def missing(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_missing_package_is_named_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(missing("litestar.openapi")) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: the package litestar is not installed")
    assert "install" in said.splitlines()[1]


@pytest.mark.parametrize("name", ["_sqlite3", "cortext.web"])
def test_missing_module_of_python_or_cortext_is_not_offered_from_an_index(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(missing(name)) == 1
    assert f"No module named {name!r}" in (said := capsys.readouterr().err)
    assert "install" not in said


@pytest.fixture
def headless(tmp_path: Path) -> Path:
    """A workspace with one conversation that has lost its session.json."""
    ok(tmp_path, "init")
    id = begin(tmp_path, "plan", "lost head")
    (folder_of(tmp_path, id) / ".session/session.json").unlink()
    return tmp_path


@pytest.mark.parametrize("verb", ["stop", "done", "resume"])
def test_conversation_without_session_json_is_named_and_doctor_restores_it(
    verb: str, headless: Path
) -> None:
    failed = cortext(headless, verb, "001")
    assert failed.returncode == 5
    error, hint = failed.stderr.splitlines()
    assert error.endswith("/001-plan-lost-head: it has no session.json")
    assert hint == "hint: `cortext doctor --fix` restores it"
    ok(headless, "doctor", "--fix", "--yes")
    ok(headless, verb, "001")


def test_conversation_without_session_json_is_not_listed_as_active_in_the_future(
    headless: Path,
) -> None:
    # A folder of tomorrow: noon of it is in the future at any time of the day.
    day = folder_of(headless, "001-plan-lost-head").parent
    day.rename(day.with_name(f"{datetime.now() + timedelta(days=1):%Y-%m-%d}"))
    (row,) = json.loads(ok(headless, "list", "--json"))
    assert datetime.fromisoformat(row["last_active"]) <= datetime.now(UTC)
