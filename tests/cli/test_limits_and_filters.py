"""`-n` together with filters: the limit counts only what passes the filters."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.command import cortext

OTHERS = 30
NOW = datetime.now(UTC)


class History:
    """Sessions of Claude Code: one that the filters choose, and many that they leave out.

    The chosen session is older than the others, and its text is a worse match.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.env: Mapping[str, str] = {"HOME": str(self.home), "CI": "true"}
        self.wanted, self.other = folder / "wanted", folder / "other"
        for place in (self.wanted, self.other):
            place.mkdir()

    def add(self, number: int, text: str, *, chosen: bool, role: str, age: timedelta) -> None:
        id = f"{number:08}-0000-4000-8000-000000000000"
        folder = self.home / ".claude/projects/-project"
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"user": "Hello.", "assistant": "Hi.", role: text}
        records: list[dict[str, Any]] = [
            {
                "type": name,
                "uuid": f"{number:08}-0000-4000-8000-{step:012}",
                "parentUuid": f"{number:08}-0000-4000-8000-{step - 1:012}" if step else None,
                "sessionId": id,
                "cwd": str(self.wanted if chosen else self.other),
                "gitBranch": "feature" if chosen else "main",
                "version": "2.1.325",
                "timestamp": (NOW - age + timedelta(seconds=step)).isoformat(),
                "message": {"role": name, "content": content},
            }
            for step, (name, content) in enumerate(texts.items())
        ]
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (folder / f"{id}.jsonl").write_text(lines, encoding="utf-8")

    def ids(self, *words: str) -> set[str]:
        done = cortext(self.other, *words, "--json", "-n", "1", env=self.env)
        assert "Traceback" not in done.stderr
        return {found["id"][:8] for found in json.loads(done.stdout)}


@pytest.fixture
def filtered_history(tmp_path: Path) -> History:
    made = History(tmp_path)
    text = "Please help me.\n" + "Many other words are here. " * 100 + "One otter."
    made.add(0, text, chosen=True, role="user", age=timedelta(days=9))
    for number in range(1, OTHERS + 1):
        text = "Otter, otter, otter, and the otter again."
        made.add(number, text, chosen=False, role="assistant", age=timedelta(hours=number))
    return made


def options(filtered_history: History, name: str) -> list[str]:
    return {
        "folder": ["--in", str(filtered_history.wanted)],
        "branch": ["--branch", "feature"],
        "role": ["--role", "user"],
        "until": ["--until", (NOW - timedelta(days=5)).date().isoformat()],
    }[name]


@pytest.mark.parametrize("sort", ["relevance", "newest"])
@pytest.mark.parametrize("name", ["folder", "branch", "role", "until"])
def test_limit_of_search_counts_only_filtered_messages(
    filtered_history: History, name: str, sort: str
) -> None:
    search = ("search", "otter", "--sort", sort)
    assert filtered_history.ids(*search) != {"00000000"}
    assert filtered_history.ids(*search, *options(filtered_history, name)) == {"00000000"}


def test_limit_of_search_counts_only_messages_since_time(filtered_history: History) -> None:
    filtered_history.add(90, "Otter. " * 30, chosen=True, role="user", age=timedelta(days=200))
    filtered_history.add(91, "We saw an otter.", chosen=True, role="user", age=timedelta(days=2))
    found = filtered_history.ids(
        "search", "otter", "--in", str(filtered_history.wanted), "--since", "3d"
    )
    assert found == {"00000091"}


@pytest.mark.parametrize("command", [["list"], ["resume", "--list"]])
@pytest.mark.parametrize("name", ["folder", "branch"])
def test_limit_of_list_counts_only_filtered_conversations(
    filtered_history: History, command: list[str], name: str
) -> None:
    assert filtered_history.ids(*command, "--all") == {"00000001"}
    assert filtered_history.ids(*command, "--all", *options(filtered_history, name)) == {"00000000"}


def test_limit_of_list_counts_only_conversations_since_time(filtered_history: History) -> None:
    sorted_by_id = ("list", "--all", "--sort", "id")
    assert filtered_history.ids(*sorted_by_id) == {"00000000"}
    assert filtered_history.ids(*sorted_by_id, "--since", "3d") == {"00000001"}
