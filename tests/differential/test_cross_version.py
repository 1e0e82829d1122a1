"""A home that one version wrote, in the hands of the other."""

import sys
from pathlib import Path

import pytest

from tests.differential.compare import make_person
from tests.differential.scenarios import SCENARIOS, read, run

pytestmark = pytest.mark.long
CURRENT = Path(sys.executable).parent
WRITTEN = [
    "lists",
    "life of a conversation",
    "trash",
    "import and export",
    "resume",
    "hooks",
    "secrets",
    "spawn",
    "python",
]
READING = [
    read("list"),
    read("list", "--all"),
    read("resume", "--list"),
    read("show", "001"),
    read("stats", "--all"),
    read("trash", "list"),
    read("scan"),
]
WRITING = [run("new", "plan", "Later"), run("stop"), run("sync", "--quiet"), read("list", "--all")]
REFUSED = {1, 3, 5}
"""Exit codes with which a version says that it cannot read something."""


@pytest.mark.parametrize("name", WRITTEN)
def test_home_of_release_is_read_and_continued(name: str, release: Path, tmp_path: Path) -> None:
    person = make_person(tmp_path / "person")
    person.run(SCENARIOS[name], release)
    expected = person.run(READING, release)
    assert person.run(READING, CURRENT) == expected
    after = person.run(WRITING, CURRENT)
    assert all(code == 0 for _, code, _ in after[2:]), after


@pytest.mark.parametrize("name", WRITTEN)
def test_release_reads_or_refuses_home_of_current_version(
    name: str, release: Path, tmp_path: Path
) -> None:
    """`run` fails on a traceback."""
    person = make_person(tmp_path / "person")
    person.run(SCENARIOS[name], CURRENT)
    expected = person.run(READING, CURRENT)
    for told, (words, code, value) in zip(person.run(READING, release), expected, strict=True):
        assert told == (words, code, value) or told[1] in REFUSED
