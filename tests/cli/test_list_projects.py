"""Lists by project and branch: short folder names, `--in`, `--branch` and `--sort`."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell_completion import offered
from tests.command import cortext, ok


class Projects:
    """Sessions of Claude Code in several folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._transcripts = folder / "tools/projects/all"
        self._transcripts.mkdir(parents=True)
        self._count = 0

    def add(self, place: str, title: str, *, branch: str = "main", messages: int = 1) -> None:
        """Let a session with this many messages take place in a folder."""
        self._count += 1
        id = f"00000000-0000-4000-8000-{self._count:012}"
        cwd = self.folder / place
        cwd.mkdir(parents=True, exist_ok=True)
        lines = [
            {
                "type": "user" if n % 2 == 0 else "assistant",
                "uuid": f"{self._count}-{n}",
                "parentUuid": f"{self._count}-{n - 1}" if n else None,
                "timestamp": f"2026-01-{self._count:02}T10:00:{n:02}.000Z",
                "sessionId": id,
                "cwd": str(cwd),
                "gitBranch": branch,
                "message": {
                    "id": f"m{n}",
                    "role": "user" if n % 2 == 0 else "assistant",
                    "content": title if n == 0 else f"text {n}",
                    "usage": {"input_tokens": 100 - self._count, "output_tokens": 1},
                },
            }
            for n in range(messages)
        ]
        path = self._transcripts / f"{id}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def rows(self, *options: str) -> list[dict[str, Any]]:
        return json.loads(ok(self.folder, "list", *options, "--json"))

    def titles(self, *options: str) -> list[str]:
        return [row["title"] for row in self.rows(*options)]

    def lines(self, *options: str) -> list[list[str]]:
        return [line.split() for line in ok(self.folder, "list", *options).splitlines()]


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "tools"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")
    made = Projects(tmp_path)
    made.add("work/cli", "alpha", messages=3)
    made.add("old/cli", "Beta", branch="fix/login", messages=5)
    made.add("work/api", "gamma", messages=1)
    return made


def test_list_all_shows_shortest_folder_that_tells_projects_apart(projects: Projects) -> None:
    table = projects.lines("--all")
    folders = [line[1] for line in table[1:]]
    assert folders == ["api", "old/cli", "work/cli"]


def test_list_shows_branch_and_message_count_of_every_session(projects: Projects) -> None:
    table = projects.lines("--all")
    assert " ".join(table[0]) == "ID FOLDER LAST ACTIVE STATUS MESSAGES BRANCH TOOL TITLE"
    assert [line[5:7] for line in table[1:]] == [["1", "main"], ["5", "fix/login"], ["3", "main"]]
    rows = projects.rows("--all")
    assert [(row["messages"], row["branch"]) for row in rows] == [
        (1, "main"),
        (5, "fix/login"),
        (3, "main"),
    ]


def test_session_without_checked_out_branch_has_no_branch(projects: Projects) -> None:
    projects.add("work/api", "delta", branch="HEAD")
    assert projects.rows("--all")[0]["branch"] is None


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (("--sort", "date"), ["gamma", "Beta", "alpha"]),
        (("--sort", "updated_at"), ["gamma", "Beta", "alpha"]),
        (("--sort", "created"), ["gamma", "Beta", "alpha"]),
        (("--sort", "title"), ["alpha", "Beta", "gamma"]),
        (("--sort", "messages"), ["Beta", "alpha", "gamma"]),
        (("--sort", "message_count"), ["Beta", "alpha", "gamma"]),
        (("--sort", "tokens"), ["Beta", "alpha", "gamma"]),
        (("--sort", "total_tokens", "-n", "1"), ["Beta"]),
        (("--in", "work/cli"), ["alpha"]),
        (("--in", "work"), ["gamma", "alpha"]),
        (("--branch", "fix/login"), ["Beta"]),
        (("--in", "work", "--branch", "fix/login"), []),
    ],
)
def test_list_sorts_and_filters_by_project_and_branch(
    projects: Projects, options: Sequence[str], titles: list[str]
) -> None:
    assert projects.titles("--all", *options) == titles


def test_in_accepts_name_that_the_list_shows(projects: Projects, tmp_path: Path) -> None:
    """From another folder, where no such path exists."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    rows = json.loads(ok(elsewhere, "list", "--in", "old/cli", "--json"))
    assert [row["title"] for row in rows] == ["Beta"]


def test_in_includes_the_other_worktrees_of_a_repository(
    projects: Projects, git_identity: None
) -> None:
    root = projects.folder / "work/cli"
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", str(projects.folder / "trees/topic")],
    ):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    projects.add("trees/topic", "in the worktree", branch="topic")
    for place in ("work/cli", "trees/topic"):
        assert projects.titles("--in", place) == ["in the worktree", "alpha"]


def test_in_without_match_says_how_to_list_everything(projects: Projects) -> None:
    done = cortext(projects.folder, "list", "--in", "nowhere")
    assert (done.returncode, done.stdout) == (0, "")
    assert "hint: to list the conversations of all folders: `cortext list --all`" in done.stderr


def test_stats_count_one_project_and_one_branch(projects: Projects) -> None:
    def messages(*options: str) -> int:
        stats = json.loads(ok(projects.folder, "stats", *options, "--json"))
        return stats["totals"]["messages"]

    assert messages("--all") == 9
    assert messages("--in", "work") == 4
    assert messages("--branch", "fix/login") == 5


def test_branch_with_a_secret_is_redacted_and_still_found(projects: Projects) -> None:
    branch = f"try/ghp_{'a1B2c3D4e5F6' * 3}"
    projects.add("work/api", "delta", branch=branch)
    [row] = projects.rows("--branch", branch)
    assert row["title"] == "delta"
    assert "ghp_" not in row["branch"]


def test_search_finds_only_messages_of_one_branch(projects: Projects) -> None:
    found = json.loads(ok(projects.folder, "search", "text", "--branch", "fix/login", "--json"))
    assert {hit["title"] for hit in found} == {"Beta"}


def test_resume_list_shows_only_one_project(projects: Projects) -> None:
    listed = ok(projects.folder, "resume", "--list", "--in", "old")
    assert "Beta" in listed
    assert "alpha" not in listed


def test_shell_completes_branches(projects: Projects) -> None:
    assert offered(projects.folder, "cortext list --branch fi") == ["fix/login"]
