"""`cortext config` through the real command line."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cortext.config import SETTINGS
from cortext.features.setup.cortext_settings_file import set_value

PROGRAM = [sys.executable, "-m", "cortext", "config"]


class Person:
    """Somebody with a home, who works in a folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "work"
        self.folder.mkdir()
        self.file = home / "config/cortext/config.toml"
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(home / "config")}
        self.environment["XDG_DATA_HOME"] = str(home / "data")

    def config(self, *args: str, **more: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*PROGRAM, *args],
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    def begin(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(text.encode())

    def join(self) -> Path:
        """Make the folder a workspace; the path of its settings."""
        (self.folder / ".workspace").mkdir()
        return self.folder / ".workspace/config.toml"


@pytest.fixture
def config_person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_every_setting_is_listed_with_its_origin(config_person: Person) -> None:
    """Aligned, in the order of the table; nothing is made by looking."""
    code, out, err = config_person.config(CORTEXT_LIST_LIMIT="7")
    assert (code, err) == (0, "")
    heading, *rows = out.splitlines()
    assert heading.split() == ["NAME", "VALUE", "ORIGIN"]
    assert [row.split()[0] for row in rows] == [setting.name for setting in SETTINGS]
    assert ["list.limit", "7", "the", "environment"] in [row.split() for row in rows]
    assert len({row.index(row.split()[1]) for row in rows}) == 1
    assert not config_person.file.parent.exists()


def test_config_json_prints_array_of_all_settings_or_single_object(config_person: Person) -> None:
    """With default and doc."""
    config_person.begin("trash.days = 3\n")
    code, out, _ = config_person.config("--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert (code, list(rows)) == (0, [setting.name for setting in SETTINGS])
    assert rows["trash.days"] == {
        "name": "trash.days",
        "value": 3,
        "origin": str(config_person.file),
        "default": 30,
        "doc": "Days that deleted conversations stay in the trash.",
    }
    assert json.loads(config_person.config("trash.days", "--json")[1]) == rows["trash.days"]


def test_config_sets_reads_and_unsets_value_in_private_file(config_person: Person) -> None:
    """In the user's own file, for their eyes only."""
    assert config_person.config("sessions.git", "off")[0] == 0
    assert config_person.file.read_text() == '[sessions]\ngit = "off"\n'
    assert stat.S_IMODE(config_person.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(config_person.file.parent.stat().st_mode) == 0o700
    assert config_person.config("sessions.git")[:2] == (0, "off\n")
    assert "already has this value in" in config_person.config("sessions.git", "off")[2]
    code, out, err = config_person.config("sessions.git", "--unset")
    assert (code, out, "The value is now auto (origin: default)." in err) == (0, "", True)
    assert config_person.file.read_text() == "[sessions]\n"
    code, _, err = config_person.config("sessions.git", "--unset")
    assert (code, "is not in" in err) == (0, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '# mine\n[sessions]  # here\n  git="auto"# why\n\n[x]\ny = nan\n',
            '# mine\n[sessions]  # here\n  git="off"# why\n\n[x]\ny = nan\n',
        ),
        (
            "[sessions]\r\n\"git\" = 'auto'\r\nsecrets = 'a # b'\r\n",
            '[sessions]\r\n"git" = "off"\r\nsecrets = \'a # b\'\r\n',
        ),
        ('sessions . git = "a#b" # c', 'sessions . git = "off" # c'),
        ("sessions.git = 3\n", 'sessions.git = "off"\n'),
        (
            'x = """\n[sessions]\ngit = "auto"\n"""\n[sessions]\ngit = "auto"\n',
            'x = """\n[sessions]\ngit = "auto"\n"""\n[sessions]\ngit = "off"\n',
        ),
        (
            '[sessions]\nsecrets = "off"\n\n# of the list\n[list]\nlimit = 3',
            '[sessions]\nsecrets = "off"\ngit = "off"\n\n# of the list\n[list]\nlimit = 3\n',
        ),
        (
            'sessions.secrets = "off"\n\n[list]\nlimit = 3\n',
            'sessions.secrets = "off"\nsessions.git = "off"\n\n[list]\nlimit = 3\n',
        ),
        ("# nothing yet\n", '# nothing yet\n\n[sessions]\ngit = "off"\n'),
        ("[list]\r\nlimit = 3\r\n", '[list]\r\nlimit = 3\r\n\r\n[sessions]\r\ngit = "off"\r\n'),
        ("[other]\ngit = 1\n", '[other]\ngit = 1\n\n[sessions]\ngit = "off"\n'),
    ],
)
def test_config_set_changes_only_line_of_setting(
    before: str, after: str, config_person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments, spacing, line ends and what looks like the key elsewhere stay byte for byte."""
    config_person.begin(before)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config_person.file.parent.parent))
    monkeypatch.chdir(config_person.folder)
    assert set_value("sessions.git", "off") == (str(config_person.file), True)
    assert config_person.file.read_bytes().decode() == after
    assert sorted(os.listdir(config_person.file.parent)) == ["config.toml"]


def test_config_unset_removes_only_line_of_setting(config_person: Person) -> None:
    """Unset, in a file with neighbours."""
    config_person.begin("# a\n[list]\nlimit = 3 # b\n# c\n[trash]\ndays = 4\n")
    assert config_person.config("list.limit", "--unset")[0] == 0
    assert config_person.file.read_text() == "# a\n[list]\n# c\n[trash]\ndays = 4\n"


def test_config_refuses_to_edit_inline_table_and_invalid_toml(config_person: Person) -> None:
    """An inline table, and what is not TOML."""
    for text in ('sessions = { git = "auto" }\n', "sessions.git = \n"):
        config_person.begin(text)
        code, _, err = config_person.config("sessions.git", "off")
        assert (code, "hint: " in err) == (1, True)
        assert config_person.file.read_text() == text


def test_config_set_repairs_invalid_value(config_person: Person) -> None:
    """The file that stops every command does not stop this one."""
    config_person.begin('[list]\nlimit = "many"\n')
    assert config_person.config()[0] == 1
    assert config_person.config("list.limit", "5")[0] == 0
    assert config_person.config("list.limit")[1] == "5\n"


def test_config_workspace_file_keeps_mode_and_overrides_user_file(config_person: Person) -> None:
    """It keeps its mode, or follows the umask, and wins over the person's."""
    shared = config_person.join()
    assert config_person.config("list.limit", "5", "--workspace")[0] == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o666 & ~mask
    shared.chmod(0o664)
    assert config_person.config("list.limit", "6", "--workspace")[0] == 0
    assert stat.S_IMODE(shared.stat().st_mode) == 0o664
    code, _, err = config_person.config("list.limit", "7")
    assert (code, f"The value is now 6 (origin: {shared})." in err) == (0, True)
    assert config_person.config("list.limit", "--unset", "--workspace")[0] == 0
    assert config_person.config("list.limit")[1] == "7\n"


def test_config_workspace_refuses_user_paths_and_symlinks(config_person: Person) -> None:
    """A path of the person's; a link in the place of the folder or the file."""
    shared = config_person.join()
    code, _, err = config_person.config("stats.prices", "p", "--workspace")
    assert (code, "a workspace may not set" in err, shared.exists()) == (2, True, False)
    config_person.begin("")
    shared.symlink_to(config_person.file)
    code, _, err = config_person.config("list.limit", "5", "--workspace")
    assert (code, "hint: it is a symbolic link" in err) == (1, True)
    shared.unlink()
    shared.parent.rmdir()
    shared.parent.symlink_to(config_person.file.parent)
    assert config_person.config("list.limit", "5", "--workspace")[0] == 1
    assert config_person.file.read_text() == ""


def test_config_workspace_option_fails_outside_workspace(config_person: Person) -> None:
    """It says how to make one."""
    code, _, err = config_person.config("list.limit", "5", "--workspace")
    assert (code, "cortext init" in err) == (1, True)


def test_config_stores_absolute_path_with_quotes_escaped(config_person: Person) -> None:
    """Also one with quotes, as TOML wants them."""
    assert config_person.config("stats.prices", 'my "prices".json')[0] == 0
    expected = str(config_person.folder / 'my "prices".json')
    assert tomllib.loads(config_person.file.read_text()) == {"stats": {"prices": expected}}
    assert config_person.config("stats.prices")[1] == expected + "\n"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("sessions.gti",), 3, "hint: did you mean sessions.git?"),
        (("sessions.gti", "off"), 3, "hint: did you mean sessions.git?"),
        (("zzz", "--unset"), 3, "hint: `cortext config` lists all settings"),
        (("sessions.git", "push"), 2, "allowed: auto, commit, stage or off"),
        (("list.limit", "2.5"), 2, "allowed: a whole number from 1 to"),
        (("list.limit", ""), 2, "allowed: a whole number from 1 to"),
        (("--unset",), 2, "--unset needs a NAME"),
        (("list.limit", "3", "--unset"), 2, "--unset needs a NAME"),
        (("--workspace",), 2, "--workspace needs a VALUE"),
        (("list.limit", "--path"), 2, "--path cannot be combined with NAME"),
    ],
)
def test_config_rejects_wrong_input_and_writes_no_file(
    args: tuple[str, ...], code: int, said: str, config_person: Person
) -> None:
    """Exit 3 for what is not there, 2 for what cannot be; nothing is written."""
    got, out, err = config_person.config(*args)
    assert (got, out, said in err) == (code, "", True), err
    assert not config_person.file.exists()


def test_config_warning_contains_no_escape_codes(config_person: Person) -> None:
    """A stranger's key cannot move the cursor."""
    config_person.join().write_text('"\\u001b[2Jx" = 1\n')
    code, out, err = config_person.config("list.limit")
    assert (code, out) == (0, "50\n")
    assert err.startswith("warning: ")
    assert "\x1b" not in err


def test_config_path_prints_user_and_workspace_files(config_person: Person) -> None:
    """The user's, then the workspace's if there is one."""
    assert config_person.config("--path")[1] == f"{config_person.file}\n"
    shared = config_person.join()
    assert config_person.config("--path")[1] == f"{config_person.file}\n{shared}\n"
    found = json.loads(config_person.config("--path", "--json")[1])
    assert found == {"user": str(config_person.file), "workspace": str(shared)}


def test_concurrent_config_sets_lose_no_change(config_person: Person) -> None:
    """Each waits for the other: no change is lost."""
    changes = [("list.limit", "5"), ("trash.days", "6"), ("resume.budget", "7000")]
    running = [
        subprocess.Popen(
            [*PROGRAM, *change], cwd=config_person.folder, env=config_person.environment
        )
        for change in changes
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert tomllib.loads(config_person.file.read_text()) == {
        "list": {"limit": 5},
        "trash": {"days": 6},
        "resume": {"budget": 7000},
    }
