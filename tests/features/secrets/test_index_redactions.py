"""What lists and the search index keep: no secret that was masked, whoever has it still."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.catalog.row_text_redaction import told
from cortext.model.secrets.detector import find_secrets
from cortext.model.secrets.quick_check import could_hold
from tests.command import begin, cortext, git, ok
from tests.features.secrets.secret_corpus import KEYS, Maker
from tests.features.secrets.tool_sessions import (
    KEY,
    TOKEN,
    Held,
    claude,
    codex,
    gemini,
    holding,
    opencode,
)

WORD = TOKEN.lower().removeprefix("ghp_")
"""As the index would have it."""
every_tool = pytest.mark.parametrize(
    "tool", [claude, codex, gemini, opencode], ids=lambda tool: tool.__name__
)


@pytest.fixture
def redacted_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, in a home of its own."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "space"
    root.mkdir()
    (tmp_path / "home").mkdir()
    ok(root, "init")
    return root


def ours(space: Path, word: str, held: Held | None = None) -> list[str]:
    """The files that have a word, but for the tool's own."""
    own = str(held.path) if held else "/none"
    found = holding(word, *(space.parent / name for name in ("space", "cache", "data", "state")))
    return [path for path in found if not path.startswith(own)]


def test_stop_removes_unredacted_title_from_catalog(redacted_space: Path) -> None:
    """Nor in its log: neither of the conversation before it was masked, nor of a list between."""
    for name, value in (("init", ("-q",)), ("config", ("user.name", "A"))):
        git(redacted_space, name, *value)
    git(redacted_space, "config", "user.email", "a@example.org")
    ok(redacted_space, "config", "sessions.secrets", "mask")
    id = begin(redacted_space, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.")
    ok(redacted_space, "rename", id, f"Deploy with {TOKEN}")
    # Somebody has it open: else SQLite puts its log away with the last who closes it.
    with sqlite3.connect(paths.catalog()) as reader:
        reader.execute("SELECT count(*) FROM rows").fetchone()
        assert "Deploy with [secret removed: github-token]" in ok(redacted_space, "list")
        assert "committed as" in cortext(redacted_space, "stop", id).stderr
        assert ours(redacted_space, TOKEN) == []
    reader.close()


@every_tool
def test_redact_removes_secret_title_of_tool_session_from_own_files(
    tool: Any, redacted_space: Path
) -> None:
    """Of what the tool still has, nothing of ours has the first words that are a secret."""
    held: Held = tool(redacted_space.parent / "home", f"use {TOKEN} please", "Thanks.")
    ok(redacted_space, "sync")
    assert TOKEN not in ok(redacted_space, "list", "--all", "--json")
    ok(redacted_space, "search", "Thanks")
    before = held.path.read_bytes()
    done = cortext(redacted_space, "redact", held.row.key, "--archive", "--yes")
    assert done.returncode == 0, done.stderr
    ok(redacted_space, "list", "--all")
    assert ours(redacted_space, TOKEN, held) == []
    assert held.path.read_bytes() == before


def test_redact_removes_secret_titles_stored_by_earlier_version(redacted_space: Path) -> None:
    """A redact has them looked at again."""
    held = claude(redacted_space.parent / "home", "Deploy it.", f"my key is {KEY}")
    ok(redacted_space, "list", "--all")
    with sqlite3.connect(paths.catalog()) as catalog:
        change = "UPDATE rows SET row = CAST(replace(row, 'Deploy it.', ?) AS BLOB)"
        catalog.execute(change, (f"use {TOKEN}",))
    catalog.close()
    assert ours(redacted_space, TOKEN, held) != []
    ok(redacted_space, "redact", held.row.key, "--archive", "--yes")
    assert ours(redacted_space, TOKEN, held) == []
    assert "Deploy it." in ok(redacted_space, "list", "--all")


@every_tool
def test_index_does_not_store_redacted_secret_again(tool: Any, redacted_space: Path) -> None:
    """The words around it are found, also those that came later; it is not."""
    held: Held = tool(
        redacted_space.parent / "home", "Hello.", f"my marmalade is {TOKEN} there", "Thanks."
    )
    ok(redacted_space, "sync")
    ok(redacted_space, "search", "Thanks")
    assert ours(redacted_space, WORD, held) != []
    ok(redacted_space, "redact", held.row.key, "--archive", "--yes")
    for _ in range(2):
        assert held.row.key in ok(redacted_space, "search", "marmalade", "--json")
        assert ours(redacted_space, WORD, held) == []
        held.say(f"Again {TOKEN}, and walnuts.")
    assert held.row.key in ok(redacted_space, "search", "walnuts", "--json")
    assert ours(redacted_space, WORD, held) == []


def test_index_omits_redacted_secret_of_unarchived_fork(redacted_space: Path) -> None:
    """A fork has the words of the first, and no copy."""
    held = claude(redacted_space.parent / "home", "Hello.", f"my marmalade is {TOKEN}")
    ok(redacted_space, "sync")
    ok(redacted_space, "redact", held.row.key, "--archive", "--yes")
    other = "99999999-2222-4333-8444-555555555555"
    fork = held.path.with_name(f"{other}.jsonl")
    fork.write_bytes(held.path.read_bytes().replace(held.row.key.encode(), other.encode()))
    assert other in ok(redacted_space, "search", "marmalade", "--json")
    assert ours(redacted_space, WORD, held) == []


def test_search_finds_secret_that_was_not_redacted(redacted_space: Path) -> None:
    """A person looks for where a key was said: that is found until it is masked."""
    held = claude(redacted_space.parent / "home", "Hello.", f"my key is {TOKEN}, and {KEY}")
    ok(redacted_space, "sync")
    ok(redacted_space, "redact", held.row.key, "--archive", "--finding", "1", "--yes")
    assert held.row.key in ok(redacted_space, "search", KEY, "--json")


def test_redact_leaves_no_unfinished_marker(redacted_space: Path) -> None:
    """Nothing is left of the note that it makes for the case that it is killed."""
    id = begin(redacted_space, "plan", "Deploy", f"Use {TOKEN} here.")
    ok(redacted_space, "redact", id, "--yes")
    left = [path.name for path in Path(paths.redaction_key()).parent.iterdir()]
    assert "redaction.key" in left
    assert [name for name in left if name.endswith("begun")] == []


def test_doctor_completes_killed_redact(redacted_space: Path) -> None:
    """And ends it; one that is going on now is let alone."""
    id = begin(redacted_space, "plan", "Deploy", f"Use {TOKEN} here.")
    ok(redacted_space, "search", "here")
    code = (
        "import os, subprocess, sys\n"
        "from cortext.features.secrets import redacted_text_purge\n"
        "def last(rows):\n"
        "    os.kill(os.getpid(), 9)\n"
        "redacted_text_purge.purge_words = last\n"
        "from cortext.cli.commands import redact\n"
        "masks = redact._redact\n"
        "def look(*args):\n"
        "    done = masks(*args)\n"
        "    subprocess.run([sys.argv[1], 'doctor'], check=False)\n"
        "    return done\n"
        "redact._redact = look\n"
        "redact.command(sys.argv[2:])\n"
    )
    script = str(Path(sys.executable).with_name("cortext"))
    killed = subprocess.run(
        [sys.executable, "-c", code, script, id, "--yes"],
        cwd=redacted_space, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (killed.returncode, "`cortext redact` was killed" in killed.stdout) == (-9, False)
    assert ours(redacted_space, WORD) != []
    assert "`cortext redact` was killed" in cortext(redacted_space, "doctor").stdout
    cortext(redacted_space, "doctor", "--fix", "--yes")
    assert ours(redacted_space, WORD) == []
    assert "`cortext redact` was killed" not in cortext(redacted_space, "doctor").stdout
    assert not os.path.exists(f"{paths.redaction_key()}.begun")


def test_could_hold_accepts_every_text_with_secret() -> None:
    """Where it sees none, the rules find none."""
    made = [make(Maker(seed)) for seed in range(20) for _, make in KEYS]
    texts = [text for each in made for text in (each, f"use {each} now")]
    assert len([text for text in texts if find_secrets(text)]) > len(texts) * 0.9
    assert [text for text in texts if find_secrets(text) and not could_hold(text)] == []
    assert not could_hold("Why does the login of src/shop/basket.py fail, and how is it tested?")


def test_catalog_title_omits_truncated_secret(redacted_space: Path) -> None:
    """What was cut in two is no key by any rule, and tells most of one."""
    claude(redacted_space.parent / "home", f"{'word ' * 34} {TOKEN} please")
    assert "word" in ok(redacted_space, "list", "--all", "--json")
    assert holding(TOKEN[:16], redacted_space.parent / "cache") == []
    assert told("the plan of 2026-11-16...") == "the plan of 2026-11-16..."


def test_titles_without_secrets_stay_unchanged() -> None:
    """Whatever the quick look says of them."""
    for title in ("Release 2026-11-16 of v1.20.3", "see https://example.org/a?b=c; then", "x" * 60):
        assert told(title) == title
