"""`cortext doctor --fix` takes what a conversation lost from git, where `stop` committed it."""

import json
import subprocess
from pathlib import Path

import pytest

from cortext.features.secrets.redactor import redaction_key
from tests.features.doctor import damage
from tests.features.doctor.damage import TEXTS, Kept
from tests.features.doctor.repaired_session import mended, texts
from tests.features.secrets.secret_corpus import KEYS, Maker

TOKEN = next(make for name, make in KEYS if name == "github-token")(Maker(1))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Kept:
    """A conversation of a workspace, committed with its six messages."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "work"
    made = Kept("workspace", root).make()
    git(root, "init", "-q")
    commit(root)
    return made


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "said")


def said(kept: Kept) -> list[str]:
    return [problem.text.partition(": ")[2] for problem in kept.check().problems]


@pytest.mark.parametrize("how", [damage.no_messages, damage.nothing_in_it])
def test_repair_restores_all_messages_of_lost_file_from_git(how: damage.Damage, kept: Kept) -> None:
    """A file that is gone or empty: git has all of it, and a second look finds nothing."""
    how(kept)
    assert "git has 6 messages that cannot be read in the file" in said(kept)
    assert mended(kept).did.endswith("with 6 messages, 6 of them from git")
    assert texts(kept) == list(TEXTS)
    assert not kept.check().problems


def test_repair_skips_commit_with_empty_message_file(kept: Kept) -> None:
    """The newest commit with messages counts."""
    damage.nothing_in_it(kept)
    commit(kept.root)
    mended(kept)
    assert texts(kept) == list(TEXTS)


def test_repair_replaces_foreign_content_from_git_and_keeps_original(kept: Kept) -> None:
    """Without git it would stay as it is, since nothing of it can be read."""
    kept.lines.write_bytes(b"what is this\n")
    mended(kept)
    assert texts(kept) == list(TEXTS)
    assert kept.kept() == [b"what is this\n"]


@pytest.mark.parametrize("how", [damage.nul_over, damage.first_line])
def test_repair_restores_damaged_line_from_git_in_its_place(how: damage.Damage, kept: Kept) -> None:
    """With what was said since, and before it what could be read."""
    damage.open_call(kept)
    how(kept)
    assert ", 1 of them from git" in mended(kept).did
    assert kept.ids()[:7] == ["m1", "m2", "m3", "m4", "m5", "m6", "m7"]


def test_repair_does_not_restore_messages_that_user_removed(kept: Kept) -> None:
    """One line is damaged, and two messages are missing: nobody knows which of them it was."""
    damage.change_lines(kept, lambda lines: [lines[0], b"#", *lines[3:]])
    mended(kept)
    assert kept.ids() == ["m1", "m4", "m5", "m6"]


def test_repair_restores_missing_head_from_git(kept: Kept) -> None:
    """What no message tells: its title and its tags."""
    value = json.loads(kept.head.read_bytes())
    kept.head.write_text(json.dumps({**value, "tags": ["urgent"]}), encoding="utf-8")
    commit(kept.root)
    kept.head.unlink()
    assert "the head from the last readable git commit is used" in "".join(said(kept))
    mended(kept)
    session = kept.open().load(kept.id)
    assert (session.title, session.tags) == ("Slow pages", ["urgent"])
    assert texts(kept) == list(TEXTS)


def test_repair_from_git_redacts_restored_secrets(kept: Kept) -> None:
    """Git's history has it, and nobody who redacts wants to see it again."""
    data = kept.lines.read_bytes()
    kept.lines.write_bytes(data.replace(b"it fetches twice", f"use {TOKEN}".encode()))
    commit(kept.root)
    kept.lines.write_bytes(b"")
    redaction_key()
    mended(kept)
    assert texts(kept)[2].startswith("use [redacted github-token ")
    assert TOKEN.encode() not in kept.lines.read_bytes()
