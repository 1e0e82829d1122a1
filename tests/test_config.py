"""Settings: what holds, why, and what is said about a file that cannot be used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.config import (
    BIGGEST_FILE,
    SETTINGS,
    BadSettingError,
    Config,
    Setting,
    UnknownSettingError,
    check_text,
    definition,
)
from cortext.errors import CortextError

PAGE = Path(__file__).parent.parent / "docs/reference/settings.md"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the user's file, whose folder exists."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/cortext").mkdir(parents=True)
    return tmp_path / "config/cortext/config.toml"


@pytest.fixture
def root(tmp_path: Path, user: Path) -> Path:
    """A workspace without settings."""
    (tmp_path / "ws/.workspace").mkdir(parents=True)
    return tmp_path / "ws"


def test_settings_are_defaults_without_files(root: Path) -> None:
    """A missing file is fine."""
    config = Config.load(str(root))
    assert [config.get(s.name) for s in SETTINGS] == [(s.default, "default") for s in SETTINGS]
    assert config.warnings == []


def test_environment_overrides_workspace_overrides_user_settings(
    root: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value says where it comes from."""
    user.write_text('sessions.git = "off"\n[list]\nlimit = 1\n[resume]\nbudget = 5001\n')
    shared = root / ".workspace/config.toml"
    shared.write_text("[list]\nlimit = 2\n[resume]\nbudget = 5002\n")
    monkeypatch.setenv("CORTEXT_RESUME_BUDGET", "5003")
    config = Config.load(str(root))
    assert config.get("sessions.git") == ("off", str(user))
    assert config.get("list.limit") == (2, str(shared))
    assert config.get("resume.budget") == (5003, "the environment")
    assert Config.load(None)["list.limit"] == 1


def test_empty_environment_variable_is_ignored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with XDG's variables."""
    monkeypatch.setenv("CORTEXT_LIST_LIMIT", "")
    assert Config.load(None).get("list.limit") == (50, "default")


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ('sessions.git = "push"', "auto, commit, stage or off"),
        ("sessions.git = true", "auto, commit, stage or off"),
        ('sessions.git = ["off"]', "auto, commit, stage or off"),
        ("sessions.pause_minutes = nan", "a number from 0 to "),
        ("sessions.pause_minutes = inf", "a number from 0 to "),
        ("sessions.pause_minutes = -1", "a number from 0 to "),
        ("sessions.pause_minutes = false", "a number from 0 to "),
        ('sessions.pause_minutes = "5"', "a number from 0 to "),
        ("resume.budget = 3999", "a whole number from 4000 to "),
        ("resume.budget = 3000.5", "a whole number from 4000 to "),
        ("list.limit = 0", "a whole number from 1 to "),
        ("list.limit = 99999999999999999999", "a whole number from 1 to "),
        ("trash.days = 1979-05-27", "a whole number from 0 to "),
        ('stats.prices = "prices.json"', "an absolute path"),
        ('stats.prices = "https://example.invalid/prices"', "an absolute path"),
        ('stats.prices = "/a\\u0000b"', "an absolute path"),
    ],
)
def test_bad_value_in_file_names_file_key_and_allowed_values(
    line: str, allowed: str, user: Path
) -> None:
    """Wrong type, no choice, out of range, no number at all."""
    user.write_text(line)
    with pytest.raises(BadSettingError) as caught:
        Config.load(None)
    name = line.partition(" ")[0]
    assert str(caught.value).startswith(f"{user}: {name} cannot be ")
    assert f"; allowed: {allowed}" in str(caught.value)


@pytest.mark.parametrize("text", ["nan", "-1", "x", "1e999", "٣", "9" * 5000])
def test_bad_value_in_environment_names_variable(
    text: str, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable is a word; it is read as the setting's kind."""
    monkeypatch.setenv("CORTEXT_SESSIONS_PAUSE_MINUTES", text)
    with pytest.raises(BadSettingError, match=r"^CORTEXT_SESSIONS_PAUSE_MINUTES: sessions\.pause"):
        Config.load(None)


def test_unknown_key_warns_with_nearest_setting_name(
    root: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a later release still works; so does a variable that only looks like ours."""
    user.write_text('sessions.gut = 1\nzzz = {a.b = 1}\n"sessions.git" = "off"\nlist = 3\n')
    monkeypatch.setenv("CORTEXT_LIST_LIMITS", "3")
    monkeypatch.setenv("CORTEXT_STORE", "document:/x")
    config = Config.load(None)
    near = "; did you mean list.limit?"
    assert config["sessions.git"] == "auto"
    assert config.warnings == [
        f"{user}: there is no setting sessions.gut; did you mean sessions.git?",
        f"{user}: there is no setting zzz.a.b",
        f'{user}: there is no setting "sessions.git"',
        f"{user}: there is no setting list",
        "CORTEXT_LIST_LIMITS has no effect: there is no setting list.limits" + near,
    ]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"# x\n\nlist.limit 3\n", 3),
        (b'[sessions]\ngit = "off\n', 2),
        (b"x = [\n1,\n", 2),
        (b"x = 1\nx = 2\n", 2),
        (b"a = 1\n\xff = 2\n", 2),
        (b"x = " + b"9" * 5000, 1),
    ],
)
def test_broken_toml_names_file_and_line(data: bytes, line: int, user: Path) -> None:
    """The line to look at; of a file that ends too early, its last."""
    user.write_bytes(data)
    with pytest.raises(CortextError) as caught:
        Config.load(None)
    assert re.match(rf"{re.escape(str(user))}, line \d+: not TOML: ", str(caught.value))
    assert abs(int(re.findall(r"line (\d+)", str(caught.value))[0]) - line) <= 1


def test_too_deeply_nested_toml_raises_cortext_error(user: Path) -> None:
    """Not a RecursionError."""
    for text in ("x = " + "[" * 100_000, ".".join(["a"] * 50_000) + " = 1"):
        user.write_text(text)
        with pytest.raises(CortextError, match="nested too deeply"):
            Config.load(None)


def test_number_with_too_many_digits_names_its_line(user: Path) -> None:
    """Before anything is made of it."""
    user.write_text("[sessions]\npause_minutes = 1" + "0" * 60_000)
    with pytest.raises(CortextError, match="line 2: not TOML: a number has too many digits"):
        Config.load(None)


def test_workspace_settings_cannot_name_files_of_user(root: Path, user: Path) -> None:
    """Whoever wrote the workspace is not who works in it."""
    (root / ".workspace/config.toml").write_text('[stats]\nprices = "/x"\n')
    with pytest.raises(BadSettingError, match=r"a workspace may not set stats\.prices"):
        Config.load(str(root))
    user.write_text('[stats]\nprices = "~/x"\n')
    assert Config.load(None)["stats.prices"] == os.path.expanduser("~/x")


def test_settings_file_that_is_not_readable_file_raises_error(user: Path) -> None:
    """A folder, a loop of links, a pipe, a link to nothing, and a file that is too large."""

    def error() -> str:
        with pytest.raises(CortextError) as caught:
            Config.load(None)
        return str(caught.value)

    user.mkdir()
    assert error() == f"{user} is not a file"
    user.rmdir()
    os.mkfifo(user)
    assert error() == f"{user} is not a file"
    user.unlink()
    user.symlink_to(user)
    assert error() == f"could not read {user}: too many levels of symbolic links"
    user.unlink()
    user.symlink_to("nowhere")
    assert error() == f"{user} is a link to a file that does not exist"
    user.unlink()
    user.write_bytes(b"#" * (BIGGEST_FILE + 1))
    assert "is too large" in error()
    user.write_bytes(b"#" * BIGGEST_FILE)
    assert Config.load(None).warnings == []


@pytest.mark.skipif(os.geteuid() == 0, reason="kernel: root reads everything")
def test_settings_file_without_permission_raises_error(user: Path) -> None:
    """Not the defaults, in silence."""
    user.touch(0o000)
    with pytest.raises(CortextError, match="permission denied"):
        Config.load(None)


def test_toml_parser_is_imported_only_for_non_empty_settings(user: Path) -> None:
    """Comments and blank lines cost nothing."""
    program = (
        "import sys; from cortext.config import Config; Config.load(None); "
        "print(*sorted({'tomllib', 'difflib', 'dataclasses', 'pathlib'} & {*sys.modules}))"
    )

    def loaded() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    user.write_text("# only this\r\n\n   # and this\n")
    assert loaded() == ""
    user.write_text("# only this\n[list]\n")
    assert loaded() == "tomllib"


def test_unknown_setting_name_raises_error_with_nearest_name() -> None:
    """By get and by [], as a LookupError."""
    with pytest.raises(UnknownSettingError, match="there is no setting list\\.limits") as caught:
        Config.load(None)["list.limits"]
    assert caught.value.hint == "did you mean list.limit?"
    assert isinstance(caught.value, LookupError)


@given(st.sampled_from(SETTINGS), st.text())
def test_any_text_is_valid_setting_or_bad_setting_error(setting: Setting, text: str) -> None:
    """What is accepted is accepted again; nothing else is raised."""
    try:
        value = check_text(setting, text)
    except BadSettingError:
        value = setting.default
    assert setting.accepts(value)


def test_setting_definitions_have_valid_defaults_and_two_part_names() -> None:
    """The table is right in itself."""
    assert [s.name for s in SETTINGS if not s.accepts(s.default)] == []
    assert [s.name for s in SETTINGS if s.name.count(".") != 1 or not s.doc.endswith(".")] == []
    assert definition("sessions.git").variable == "CORTEXT_SESSIONS_GIT"


def test_settings_page_documents_every_setting() -> None:
    """One row each, as the table of the code says it."""

    def row(s: Setting) -> str:
        default = f"`{s.default}`" if s.default else "nothing"
        shared = "yes" if s.in_workspace else "no"
        return f"| `{s.name}` | `{s.variable}` | {s.allowed} | {default} | {shared} | {s.doc} |"

    rows = [row(setting) for setting in SETTINGS]
    assert [r for r in PAGE.read_text(encoding="utf-8").splitlines() if r.startswith("| `")] == rows
