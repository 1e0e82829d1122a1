"""Setting up at the same time as others, and being killed while doing it."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import SCRIPT, ok
from tests.features.setup import killed_setup
from tests.features.setup.tool_files import CLAUDE, CODEX, GEMINI, files

EVERY = "claude,opencode,gemini,codex"


def start(home: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [SCRIPT, *words, "--yes"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(started: "list[subprocess.Popen[str]]") -> list[str]:
    """What went wrong in any of them."""
    said = [process.communicate(timeout=100) for process in started]
    return [err for process, (_, err) in zip(started, said, strict=True) if process.returncode]


@pytest.fixture
def configured_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of Claude Code and Codex; of Gemini CLI only the folder, of OpenCode nothing."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    for name, data in ((".claude/settings.json", CLAUDE), (".codex/config.toml", CODEX)):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_bytes(data)
    (home / ".gemini").mkdir()
    return home


def test_concurrent_setups_install_once_and_uninstall_restores_files(
    configured_home: Path, data_home: Path
) -> None:
    """None fails, the file of one is not taken for the change of a person, and all of it goes."""
    before = files(configured_home)
    assert end([start(configured_home, "setup", "--tools", EVERY) for _ in range(8)]) == []
    assert "Nothing to do" in ok(configured_home, "setup", "--tools", EVERY, "--yes")
    ok(configured_home, "uninstall", "--yes")
    assert files(configured_home) == before
    assert b'"files": {}' in (data_home / "cortext/setup.json").read_bytes()


def test_uninstall_restores_files_after_concurrent_setup_and_uninstall(
    configured_home: Path,
) -> None:
    """Whoever comes last: what is there then is whole, and goes."""
    before = files(configured_home)
    words = [("setup", "--plugin", "--tools", EVERY), ("uninstall",)] * 3
    assert end([start(configured_home, *each) for each in words]) == []
    ok(configured_home, "uninstall", "--yes")
    assert files(configured_home) == before


def test_setup_refuses_file_that_user_changed_after_plan(configured_home: Path) -> None:
    """A person agreed to something else; what another process has done is no such change."""
    from cortext.errors import CortextError
    from cortext.features.setup.tool_setup import carry_out, plan_setup

    shown = plan_setup(["claude", "codex"])
    carry_out(plan_setup(["claude"]))
    assert carry_out(shown).tools == ["codex"]
    shown = plan_setup(["gemini"])
    (configured_home / ".gemini/settings.json").write_bytes(GEMINI)
    with pytest.raises(CortextError, match=r"settings\.json was changed by another program"):
        carry_out(shown)
    assert (configured_home / ".gemini/settings.json").read_bytes() == GEMINI
    assert not (configured_home / ".gemini/commands").exists()


def test_uninstall_without_setup_writes_nothing(configured_home: Path, data_home: Path) -> None:
    assert (
        ok(configured_home, "uninstall", "--yes")
        == "Nothing to remove: cortext is not set up in your tools.\n"
    )
    assert list(data_home.rglob("*")) == []


def test_setup_names_lock_holder_and_changes_nothing_after_timeout(
    configured_home: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, and nothing is changed."""
    import cortext.features.setup.setup_record as installed
    from cortext.errors import SessionLockedError
    from cortext.features.setup.tool_setup import carry_out, plan_setup

    monkeypatch.setattr(installed, "_PATIENCE", 0.01)
    before = files(configured_home)
    with installed.setup_lock(), pytest.raises(SessionLockedError, match=f"process {os.getpid()}"):
        carry_out(plan_setup(["claude"]))
    assert files(configured_home) == before


class Killer:
    """Asks `setup_killed` for one run after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, killed_setup.__file__],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, verb: str, number: int = 0) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder} {verb} {number}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def killer() -> Iterator[Killer]:
    killer = Killer()
    yield killer
    killer.close()


def look(home: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder, with its permissions."""
    return {name: ((home / name).stat().st_mode, data) for name, data in files(home).items()}


SCENES = [("", "setup"), ("setup", "uninstall"), ("earlier", "setup")]


@pytest.mark.parametrize(("first", "verb"), SCENES)
def test_uninstall_restores_files_after_kill_at_every_eleventh_step(
    first: str, verb: str, configured_home: Path, tmp_path: Path, killer: Killer
) -> None:
    """As below, at every eleventh moment."""
    sweep(configured_home, tmp_path, killer, first, verb, every=11)


@pytest.mark.faults
@pytest.mark.parametrize(("first", "verb"), SCENES)
def test_uninstall_restores_files_after_kill_at_every_step(
    first: str, verb: str, configured_home: Path, tmp_path: Path, killer: Killer
) -> None:
    """Whatever change to a file was the last one: uninstall finds all of it, right then and after
    another setup."""
    sweep(configured_home, tmp_path, killer, first, verb, every=1)


def sweep(person: Path, root: Path, killer: Killer, first: str, verb: str, *, every: int) -> None:
    (person / ".claude/settings.json").chmod(0o640)
    before = look(person)
    # The record names places: it is the same one each time.
    folder, begun = root / "case", root / "begun"
    (folder / "data").mkdir(parents=True)
    shutil.copytree(person, folder / "home")
    assert not first or killer.run(folder, first) == 0
    shutil.copytree(folder, begun)
    for number in itertools.count(1, every):
        codes: set[int] = set()
        for then in ((), ("setup",)):
            shutil.rmtree(folder)
            shutil.copytree(begun, folder)
            codes.add(killer.run(folder, verb, number))
            assert {killer.run(folder, more) for more in (*then, "uninstall")} == {0}
            assert look(folder / "home") == before, f"killed at {number}"
            assert left_on_record(folder) == []
        if codes == {0}:
            break
        assert codes == {-signal.SIGKILL}
    assert number > 20


def left_on_record(folder: Path) -> list[str]:
    path = folder / "data/cortext/setup.json"
    temps = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
    return [*temps, *json.loads(path.read_bytes())["files"]] if path.exists() else []
