"""`cortext doctor` on a home in which everything is damaged that can be, and after `--fix`."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from tests.command import SCRIPT, cortext
from tests.features.doctor.damaged_home import FETCHED, GONE, Home, build

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def damaged_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path / "home")
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)
    build(home.root)
    (home.root / "bin/cortext").symlink_to(SCRIPT)
    return home


def normalised(text: str, home: Home) -> str:
    """Without what is another one each time."""
    text = text.replace(str(home.root), "HOME")
    text = re.sub(r"its last \d+ bytes", "its last N bytes", text)
    text = re.sub(r"(?<=trash/)[0-9a-f-]{36}", "ID", text)
    return re.sub(r"\d+ (?=readable bytes|bytes were copied)", "N ", text)


def same_as_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def told(home: Home) -> tuple[int, str]:
    """What doctor says of what is kept."""
    done = cortext(home.workspace, "doctor", "--verbose")
    assert done.stderr == ""
    said = normalised(done.stdout, home)
    return done.returncode, said[said.index("checked ") :]


def test_doctor_fix_repairs_every_kind_of_damage(damaged_home: Home) -> None:
    """The output is in `golden`. What was readable is there afterwards, a second `--fix`
    has nothing to do, and only what is of a later version is left."""
    before = damaged_home.readable()
    transcript = damaged_home.transcript(FETCHED).read_bytes()
    code, said = told(damaged_home)
    assert code == 1
    same_as_golden("doctor", said)
    done = cortext(damaged_home.workspace, "doctor", "--fix", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    same_as_golden("doctor_fix", normalised(done.stderr + done.stdout, damaged_home))
    code, said = told(damaged_home)
    assert code == 0
    same_as_golden("doctor_after", re.sub(r"(?<=: )\d+ read.*", "N read", said))
    after = damaged_home.readable()
    assert all(set(ids) <= set(after[name]) for name, ids in before.items())
    again = cortext(damaged_home.workspace, "doctor", "--fix", "--yes")
    assert (again.returncode, "repaired" in again.stdout, again.stderr) == (0, False, "")
    assert damaged_home.transcript(FETCHED).read_bytes() == transcript


TABLE = [
    ("archive/claude/projects/-x/1", "is truncated", "bytes were copied from claude again"),
    (
        "archive/claude/projects/-x/9",
        "is truncated",
        "readable bytes; claude has no more",
    ),
    ("catalog.sqlite3", "is damaged: file is not a database", "removed; "),
    ("0123456789abcdef.tmp", "1 temp file of killed processes", "moved to the trash"),
    ("tokens/phone", "other users can read or change 1 path", "only you can access"),
    ("090-debug-later.jsonl", "other users can read or change 1 path", "only you can access"),
    (".known/claude.json", "is incomplete", "removed; "),
    (
        "data/cortext/workspaces",
        "line 2: this is not the path of a folder (and 1 more",
        "contains only folders again",
    ),
    ("sessions/index.json", "is damaged: not a JSON object", "built again from 17 sessions"),
    ("projects/-x/7777", "the transcript of claude contains 32 NUL bytes", ""),
    ("bin/aur", "another program named `aur` comes first on the PATH", ""),
    ("090-debug-later", "has format version 9.0, but this cortext reads only up to 1.0", ""),
]
"""What is damaged beside the sessions: its path, what is said, and what is done: "" for nothing."""


def test_doctor_names_each_damaged_file_and_its_repair(damaged_home: Home) -> None:
    """Each is said, and done, in a line that names it."""
    said = cortext(damaged_home.workspace, "doctor").stdout.split("\n")
    done = cortext(damaged_home.workspace, "doctor", "--fix", "--yes").stdout.split("\n")
    for path, says, does in TABLE:
        assert [line for line in said if path in line and says in line], path
        mended = [line for line in done if line.startswith("repaired: ") and path in line]
        assert any(does in line for line in mended) if does else not mended or "later" in path, path


def test_repaired_copy_has_lines_that_tool_or_archive_still_has(damaged_home: Home) -> None:
    """And of one whose transcript is gone, every whole line."""
    cortext(damaged_home.workspace, "doctor", "--fix", "--yes")
    held = {id: gzip.decompress(damaged_home.copy(id).read_bytes()) for id in (FETCHED, GONE)}
    assert held[FETCHED] == damaged_home.transcript(FETCHED).read_bytes()
    assert held[GONE].count(b"\n") == 3
    assert held[GONE] == held[FETCHED].replace(FETCHED.encode(), GONE.encode())[: len(held[GONE])]


def test_doctor_fix_without_yes_prints_plan_and_changes_nothing(damaged_home: Home) -> None:
    """Without a terminal and without `--yes`: the plan, a hint, exit code 2."""
    files = {path: path.read_bytes() for path in damaged_home.workspace.rglob("*.json*")}
    done = cortext(damaged_home.workspace, "doctor", "--fix")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "Planned repairs (the original of every conversation is kept):\n1. "
    )
    assert "hint: `cortext doctor --fix --yes`" in done.stderr
    asked = json.loads(cortext(damaged_home.workspace, "doctor", "--fix", "--json").stdout)
    assert (len(asked["plan"]) > 60, asked["mended"], asked["failed"]) == (True, [], [])
    assert files == {path: path.read_bytes() for path in damaged_home.workspace.rglob("*.json*")}


def test_doctor_json_lists_problems_and_repairs(damaged_home: Home) -> None:
    """As JSON: each problem with its file and line, then what was done, and how it is then."""
    found = json.loads(cortext(damaged_home.workspace, "doctor", "--json").stdout)
    torn = [one for one in found["problems"] if "003-debug-torn.jsonl" in one["path"]]
    assert [(one["line"], one["severity"], bool(one["mend"])) for one in torn] == [
        (8, "warning", True)
    ]
    done = cortext(damaged_home.workspace, "doctor", "--fix", "--yes", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["failed"]) == (0, [])
    assert len(told["mended"]) == len(told["plan"]) > 60
    assert {one["severity"] for one in told["health"]["problems"]} == {"note"}
