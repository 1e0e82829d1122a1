"""Names of files that somebody else chose, in a conversation that is committed: git gets them as
names, and the terminal gets nothing of them that it would act on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command import begin, cortext, folder_of, git, ok

pytestmark = pytest.mark.usefixtures("git_identity")

NAMES = {
    "a newline": "a\nerror: forged",
    "a carriage return": "notes\r\x1b[2Kdone",
    "an option": "--output=owned",
    "a short option": "-Fowned",
    "the end of options": "-- x",
    "magic of a pathspec": ":(top,glob)**",
    "an excluding pathspec": ":!x",
    "a revision": "HEAD~1",
    "a command": "$(touch owned)",
    "a command in backquotes": "`touch owned`",
    "colour": "\x1b[31mred\x1b[0m",
    "a title of the terminal": "\x1b]0;owned\x07x",
    "a copy to the clipboard": "\x1b]52;c;b3duZWQ=\x07",
    "eight bits": "\x9b2Jx",
    "turned around": "x\u202egpj.md",
    "nothing to be seen": "a\u200b\u2060b",
    "a quote and a backslash": 'q"\\u',
    "no UTF-8": b"\xff\xfe.md".decode("utf-8", "surrogateescape"),
}
# In parts: this file holds no secret.
TOKEN = "ghp_" + "R4nd0mAbCdEfGhIjKlMn" + "OpQrStUvWxYz1234"
_HOSTILE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)
_RECORDER = """#!/bin/sh
printf '%s\\0' "$@" >> "$ARGUMENTS"
exec "$REAL_GIT" "$@"
"""


@pytest.fixture
def recorded_workspace(tmp_path: Path) -> Path:
    """A workspace that is a repository with one commit."""
    folder = tmp_path / "work"
    folder.mkdir()
    ok(folder, "init")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".workspace")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def recorder(tmp_path: Path) -> dict[str, str]:
    """A git that writes down what it is called with, and is git."""
    folder = tmp_path / "recorder"
    folder.mkdir()
    (folder / "git").write_text(_RECORDER, encoding="utf-8")
    (folder / "git").chmod(0o755)
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "REAL_GIT": shutil.which("git") or "",
        "ARGUMENTS": str(tmp_path / "arguments"),
    }


def _names(workspace: Path) -> set[bytes]:
    """Of the files of the last commit."""
    words = ["git", "show", "--format=", "--name-only", "-z", "--no-renames", "HEAD"]
    done = subprocess.run(words, cwd=workspace, capture_output=True, check=True, timeout=60)
    return {os.path.basename(path) for path in done.stdout.split(b"\0")}


@pytest.mark.parametrize("kind", NAMES)
def test_hostile_file_name_is_committed_and_never_a_git_argument(
    kind: str, recorded_workspace: Path, recorder: dict[str, str]
) -> None:
    """The file is committed under its name; no argument of any git command has a part of it."""
    name = NAMES[kind]
    id = begin(recorded_workspace, "plan", "Names", "Hello.")
    (folder_of(recorded_workspace, id) / name).write_text("content", encoding="utf-8")
    done = cortext(recorded_workspace, "stop", id, env=recorder)
    assert done.returncode == 0, done.stderr
    given = Path(recorder["ARGUMENTS"]).read_bytes().split(b"\0")
    assert b"commit-tree" in given
    assert [word for word in given if os.fsencode(name) in word] == []
    assert os.fsencode(name) in _names(recorded_workspace)
    assert not list(recorded_workspace.rglob("owned"))


@pytest.mark.parametrize("why", ["committed", "ignored", "a link", "a secret"])
def test_stop_prints_hostile_file_names_as_plain_text(why: str, recorded_workspace: Path) -> None:
    """Whatever is said of files with such names: each sentence on its line, and nothing acts."""
    id = begin(recorded_workspace, "plan", "Names", "Hello.")
    folder = folder_of(recorded_workspace, id)
    for number, name in enumerate(NAMES.values()):
        text = f"it is {TOKEN}\n" if why == "a secret" else "content\n"
        if why == "a link":
            (folder / name).symlink_to("/etc/hostname")
        else:
            (folder / name).write_text(f"{number} {text}", encoding="utf-8")
    if why == "ignored":
        (folder / ".gitignore").write_text("*\n!*/\n!*.md\n", encoding="utf-8")
    done = cortext(recorded_workspace, "stop", id)
    assert done.returncode == 0, done.stderr
    told = done.stdout + done.stderr
    assert _HOSTILE.findall(told.replace("\n", "")) == []
    assert [line for line in told.split("\n") if line.startswith("error: forged")] == []
    words = {
        "committed": "committed as ",
        "ignored": "ignored by git",
        "a link": "not recorded (",
        "a secret": "not committed: ",
    }
    assert words[why] in done.stderr
