"""`redact` when something fails in the middle: the rest is masked, and each failure is told."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import paths
from cortext.features.archive.archive_sync import sync
from cortext.features.resume.agent_temp_files import PIECES
from cortext.features.resume.agent_temp_files import folder_of as handed_folder
from cortext.features.secrets.redacted_text_purge import is_unfinished
from tests.command import SCRIPT, begin, change_head, cortext, folder_of, git, ok
from tests.features.secrets.tool_sessions import TOKEN, claude, codex, holding

pytestmark = pytest.mark.usefixtures("git_identity")


@pytest.fixture
def git_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that is a repository, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    root = tmp_path / "space"
    root.mkdir()
    ok(root, "init")
    git(root, "init", "-q", "-b", "main")
    return root


def leak(space: Path, topic: str) -> str:
    """A conversation with a secret in its messages and in its markdown."""
    id = begin(space, "plan", topic, "Hello.", f"Use {TOKEN} here.")
    with (folder_of(space, id) / "plan.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{TOKEN}\n")
    return id


def commit(space: Path) -> None:
    git(space, "add", "-fA")
    git(space, "commit", "-q", "-m", "all of it")


def fake_git(tmp_path: Path, script: str) -> dict[str, str]:
    """A PATH on which git is this script."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "git").write_text(script, encoding="utf-8")
    (folder / "git").chmod(0o755)
    real = shutil.which("git") or ""
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "REAL_GIT": real}


def removing_git(tmp_path: Path, folder: Path) -> dict[str, str]:
    """A PATH on which git is git, and removes a folder before: so it vanishes in the middle, after
    the first conversation is masked."""
    return fake_git(tmp_path, f'#!/bin/sh\nrm -rf \'{folder}\'\nexec "$REAL_GIT" "$@"\n')


def problems(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What is told, each on a line with a hint below it."""
    assert "Traceback" not in done.stderr
    lines = done.stderr.split("\n")
    found = [number for number, line in enumerate(lines) if line.startswith("problem: ")]
    assert all(lines[number + 1].startswith("  hint: ") for number in found), done.stderr
    return [lines[number].removeprefix("problem: ") for number in found]


def break_config(space: Path, _: Path) -> dict[str, str]:
    (space / ".git/config").write_text("[broken\n")
    return {}


def lose_commit(space: Path, _: Path) -> dict[str, str]:
    oid = git(space, "rev-parse", "HEAD").strip()
    (space / ".git/objects" / oid[:2] / oid[2:]).unlink()
    return {}


def exit_128(_: Path, tmp_path: Path) -> dict[str, str]:
    return fake_git(tmp_path, "#!/bin/sh\necho 'fatal: no' >&2\nexit 128\n")


def not_a_program(_: Path, tmp_path: Path) -> dict[str, str]:
    return fake_git(tmp_path, "\0")


@pytest.mark.parametrize("break_git", [break_config, lose_commit, exit_128, not_a_program])
def test_redact_continues_when_git_fails(
    break_git: Callable[[Path, Path], dict[str, str]], git_space: Path, tmp_path: Path
) -> None:
    ids = sorted(leak(git_space, topic) for topic in ("One", "Two"))
    commit(git_space)
    done = cortext(git_space, "redact", "--all", "--yes", env=break_git(git_space, tmp_path))
    assert done.returncode == 1, done.stderr
    assert holding(TOKEN, git_space / "conversations") == []
    told = problems(done)
    start = "could not check whether the git history contains secrets of "
    assert sorted(each.removeprefix(start).partition(": git ")[0] for each in told) == ids
    assert "1 secret redacted in 4 places, in 2 conversations" in done.stdout


def test_redact_continues_when_a_conversation_vanishes(git_space: Path, tmp_path: Path) -> None:
    kept, gone, _ = (leak(git_space, topic) for topic in ("Oldest", "Older", "Newest"))
    commit(git_space)
    folder = folder_of(git_space, gone)
    done = cortext(git_space, "redact", "--all", "--yes", env=removing_git(tmp_path, folder))
    assert done.returncode == 1, done.stderr
    assert problems(done) == [f"could not redact {folder}: it was removed or moved in the meantime"]
    assert not folder.exists()
    assert holding(TOKEN, git_space / "conversations") == []
    assert "[redacted " in (folder_of(git_space, kept) / "plan.md").read_text(encoding="utf-8")
    assert "1 secret redacted in 4 places, in 2 conversations" in done.stdout


def test_redact_continues_when_an_archive_folder_vanishes(git_space: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    both = [tool(home, "Hello.", f"my key is {TOKEN}") for tool in (claude, codex)]
    sync()
    id = leak(git_space, "Deploy")
    entries = [
        {"tool": held.row.tool, "session_id": held.row.key, "path": str(held.path)} for held in both
    ]
    change_head(git_space, id, native=entries)
    commit(git_space)
    gone = Path(paths.archive(), "claude")
    assert holding(TOKEN, gone) != []
    env = removing_git(tmp_path, gone)
    done = cortext(git_space, "redact", id, "--archive", "--yes", env=env)
    assert done.returncode == 1, done.stderr
    assert problems(done) == [f"could not redact {gone}: it was removed or moved in the meantime"]
    assert holding(TOKEN, paths.archive(), git_space / "conversations") == []
    assert holding("[redacted ", Path(paths.archive(), "codex")) != []


def test_redact_continues_when_file_cannot_be_written(git_space: Path) -> None:
    """A limit for the size of files stands for a full disk."""
    id = leak(git_space, "Deploy")
    large = folder_of(git_space, id) / "a-large.txt"
    large.write_text(f"{TOKEN}\n" + "word " * 2_000_000, encoding="utf-8")
    done = subprocess.run(
        [SCRIPT, "redact", id, "--yes"],
        cwd=git_space, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_000_000, 8_000_000)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert problems(done) == [f"could not redact {large}: file too large"]
    assert f"A secret is still in {large}" in done.stderr
    assert holding(TOKEN, git_space / "conversations") == [str(large)]


def test_redact_reports_handoff_files_that_cannot_be_deleted(git_space: Path) -> None:
    """The files are masked, what is left is told, and doctor knows what to do."""
    id = leak(git_space, "Deploy")
    (Path(handed_folder(PIECES)) / "a-folder").mkdir(parents=True)
    done = cortext(git_space, "redact", id, "--yes")
    assert done.returncode == 1, done.stderr
    (told,) = problems(done)
    assert told.startswith("lists and searches may still show redacted words: could not empty ")
    assert holding(TOKEN, git_space / "conversations") == []
    assert "1 secret redacted in 2 places, in 1 conversation" in done.stdout
    assert is_unfinished()
