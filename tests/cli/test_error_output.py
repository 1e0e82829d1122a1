"""Errors as a person sees them."""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext.cli.error_output import report
from tests.cli.list_terminal import terminal
from tests.command import SCRIPT, begin, cortext, folder_of, ok


def missing(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_missing_package_is_named_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(missing("litestar.openapi")) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: cortext needs the package litestar, which is not installed")
    assert "install" in said.splitlines()[1]


@pytest.mark.parametrize("name", ["_sqlite3", "cortext.web"])
def test_missing_stdlib_or_own_module_error_has_no_install_hint(
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
def test_missing_session_json_error_names_folder_and_doctor_restores_file(
    verb: str, headless: Path
) -> None:
    failed = cortext(headless, verb, "001")
    assert failed.returncode == 5
    error, hint = failed.stderr.splitlines()
    assert error.endswith("/001-plan-lost-head: it has no session.json")
    assert hint == "hint: `cortext doctor --fix` restores it"
    ok(headless, "doctor", "--fix", "--yes")
    ok(headless, verb, "001")


def test_list_shows_no_future_activity_when_session_json_is_missing(
    headless: Path,
) -> None:
    # A folder of tomorrow: noon of it is in the future at any time of the day.
    day = folder_of(headless, "001-plan-lost-head").parent
    day.rename(day.with_name(f"{datetime.now() + timedelta(days=1):%Y-%m-%d}"))
    (row,) = json.loads(ok(headless, "list", "--json"))
    assert datetime.fromisoformat(row["last_active"]) <= datetime.now(UTC)


@pytest.mark.parametrize("command", [("list",), ("resume", "--list"), ("new",)])
def test_misspelt_type_error_lists_types_and_suggests_nearest(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    ok(tmp_path, "init")
    words = ("plam", "a topic") if command == ("new",) else ("--type", "plam")
    done = cortext(tmp_path, *command, *words)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error == "error: there is no conversation type 'plam'"
    assert hint.startswith("hint: did you mean plan? types are ")
    assert "brainstorm, debug, learn, meeting, plan, review" in hint


def test_type_without_conversations_is_no_error(tmp_path: Path) -> None:
    ok(tmp_path, "init")
    assert cortext(tmp_path, "list", "--type", "plan").returncode == 0
    assert cortext(tmp_path, "list", "--type", "chat").returncode == 0


def test_clean_rejects_text_as_number_of_days(tmp_path: Path) -> None:
    done = cortext(tmp_path, "clean", "abc")
    assert done.returncode == 2
    assert done.stderr.endswith("Invalid value for 'DAYS': 'abc' is not a number\n")


@pytest.mark.parametrize("command", [("list",), ("show", "x"), ("export", "x")])
@pytest.mark.parametrize("kind", ["document", "log", "workspace"])
def test_store_option_reports_missing_folder_and_creates_none(
    command: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    done = cortext(tmp_path, *command, "--store", f"{kind}:nothere")
    assert f"the folder {tmp_path}/nothere does not exist" in done.stderr
    assert not (tmp_path / "nothere").exists()


def test_init_reports_deleted_current_folder(tmp_path: Path) -> None:
    line = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" init'
    done = subprocess.run(
        ["sh", "-c", line, SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the current folder no longer exists\nhint: ")


def test_clean_and_trash_messages_use_singular_for_single_item(tmp_path: Path) -> None:
    ok(tmp_path, "init")
    assert "unused for 1 day.\n" in cortext(tmp_path, "clean", "1").stderr
    ok(tmp_path, "done", begin(tmp_path, "plan", "old"))
    asked = terminal(tmp_path, ["clean", "0"], answers=["y"])
    assert "Delete 1 conversation?" in asked.text
    asked = terminal(tmp_path, ["trash", "empty"], answers=["y"])
    assert "Permanently delete 1 conversation?" in asked.text
