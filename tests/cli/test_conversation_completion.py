"""What the shell offers for the arguments of commands."""

from pathlib import Path

import pytest

from cortext.config import SETTINGS
from tests.cli.shell_completion import offered
from tests.command import begin, ok


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cortext config ", [setting.name for setting in SETTINGS]),
        ("cortext config sessions.g", ["sessions.git"]),
        ("cortext config sessions.git ", ["auto", "commit", "stage", "off"]),
        ("cortext config resume.tool c", ["claude", "codex"]),
        ("cortext config list.limit ", []),
        ("cortext hook ", ["claude", "opencode", "gemini", "codex"]),
        ("cortext hook claude S", ["SessionStart", "Stop", "SessionEnd"]),
        ("cortext hook opencode ", ["session.created", "session.idle"]),
        ("cortext hook codex ", ["notify"]),
        ("cortext hook emacs ", []),
        ("cortext trash ", ["empty", "list", "restore"]),
    ],
)
def test_completion_offers_known_settings_tools_and_events(
    line: str, expected: list[str], tmp_path: Path
) -> None:
    assert offered(tmp_path, line) == expected


def test_completion_offers_ids_of_trashed_conversations(tmp_path: Path) -> None:
    """By the id of the conversation, one at a time; what is offered restores it."""
    ok(tmp_path, "init", "--tools", "claude")
    assert offered(tmp_path, "cortext trash restore ") == []
    ids = [begin(tmp_path, "plan", topic, "Hello.") for topic in ("One", "Two")]
    for id in ids:
        ok(tmp_path, "delete", id, "--yes")
    assert sorted(offered(tmp_path, "cortext trash restore ")) == ids
    assert offered(tmp_path, f"cortext trash restore {ids[0][:5]}") == [ids[0]]
    assert offered(tmp_path, f"cortext trash restore {ids[0]} ") == []
    ok(tmp_path, "trash", "restore", ids[0])
    assert offered(tmp_path, "cortext trash restore ") == [ids[1]]


def test_completion_offers_conversations_by_id_or_title_word(tmp_path: Path) -> None:
    """The beginning of an id, else of a word of the title, which stands beside it."""
    ok(tmp_path, "init", "--tools", "claude")
    first, second = (begin(tmp_path, "plan", topic, "Hello.") for topic in ("Flutes", "Drums"))
    for command in ("resume", "show", "delete"):
        assert offered(tmp_path, f"cortext {command} 001") == [first]
        assert offered(tmp_path, f"cortext {command} dru") == [second]
        assert offered(tmp_path, f"cortext {command} xyl") == []
    env = {"_CORTEXT_COMPLETE": "zsh_complete", "COMP_WORDS": "cortext show flu", "COMP_CWORD": "2"}
    assert ok(tmp_path, env=env).splitlines()[:3] == ["plain", first, "Flutes"]
