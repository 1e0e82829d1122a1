"""Where secrets are looked for and masked: every place that has something of a conversation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store, paths
from cortext.durability.durable_files import temp_name
from cortext.durability.trash_folder import Trash
from cortext.features.archive.archive_sync import sync
from cortext.features.secrets.archive_redaction import redact_copies
from cortext.features.secrets.conversation_redaction import redact
from cortext.features.secrets.secret_scan import scan_one, trash_rows
from tests.command import begin, change_head, cortext, folder_of, ok
from tests.features.secrets.tool_sessions import (
    KEY,
    TOKEN,
    Held,
    claude,
    codex,
    holding,
    kept,
    opencode,
)
from tests.tools.claude import claude_lines


@pytest.fixture
def scan_home(secret_space: Path) -> Path:
    """Where the tools keep theirs."""
    folder = secret_space.parent / "home"
    folder.mkdir(exist_ok=True)
    return folder


def found_by(space: Path, *args: str) -> list[dict[str, Any]]:
    done = cortext(space, "scan", *args, "--json")
    assert done.returncode in (0, 1), done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return json.loads(done.stdout)


def bound(space: Path, held: Held) -> str:
    """A conversation that was had in a tool, without a secret in what is ours of it."""
    id = begin(space, "plan", "Deploy", "Hello.")
    entry = {"tool": held.row.tool, "session_id": held.row.key, "path": str(held.path)}
    change_head(space, id, native=[entry])
    return id


@pytest.mark.parametrize("tool", [claude, codex, opencode], ids=lambda tool: tool.__name__)
def test_scan_names_tool_transcript_and_redact_changes_only_archive(
    tool: Any, secret_space: Path, scan_home: Path
) -> None:
    """The tool's own file is named and never changed; `--archive` masks our copy."""
    held: Held = tool(scan_home, "Hello.", f"my key is {TOKEN}")
    sync()
    id = bound(secret_space, held)
    before = held.path.read_bytes()
    found = found_by(secret_space, id)
    assert {(one["role"], one["ours"]) for one in found} == {
        ("archive", True),
        ("transcript", False),
    }
    assert str(held.path) in {one["path"] for one in found}
    text = cortext(secret_space, "scan", id).stdout
    assert f"cortext redact {id} --archive" in text
    assert f"in the tool's own file, which cortext never changes: {held.path}" in text
    done = cortext(secret_space, "redact", id, "--archive", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"A secret is still in the tool's own file: {held.path}" in done.stderr
    assert held.path.read_bytes() == before
    assert holding(TOKEN, paths.archive(), secret_space) == []
    assert {one["ours"] for one in found_by(secret_space, id)} == {False}


@pytest.mark.parametrize("tool", [claude, codex, opencode], ids=lambda tool: tool.__name__)
def test_capture_after_redact_brings_no_secret_back(
    tool: Any, secret_space: Path, scan_home: Path
) -> None:
    """The tool still has the secret: what is new comes into the conversation, and that does not."""
    held: Held = tool(scan_home, "Hello.", f"my key is {TOKEN}")
    ok(secret_space, "import", held.row.key)
    assert len(holding(TOKEN, secret_space)) >= 1
    (id,) = {one["id"] for one in found_by(secret_space, "--all") if one["tool"] is None}
    done = cortext(secret_space, "redact", id, "--archive", "--yes")
    assert done.returncode == 0, done.stderr
    held.say("And one more.")
    ok(secret_space, "stop", id)
    ok(secret_space, "sync")
    assert len(holding("And one more.", secret_space)) == 1
    assert holding(TOKEN, secret_space, paths.archive()) == []


def test_redact_without_archive_option_names_remaining_copy(
    secret_space: Path, scan_home: Path
) -> None:
    """What is left is said, also when something else was masked."""
    held = claude(scan_home, f"my key is {TOKEN}")
    sync()
    id = bound(secret_space, held)
    with (folder_of(secret_space, id) / "plan.md").open("a", encoding="utf-8") as page:
        page.write(f"{TOKEN}\n")
    done = cortext(secret_space, "redact", id, "--yes")
    assert done.returncode == 0, done.stderr
    assert holding(TOKEN, secret_space) == []
    assert "A secret is still in the archive" in done.stderr
    assert str(held.path) in done.stderr


def test_scan_covers_tool_results_and_attachments(secret_space: Path, scan_home: Path) -> None:
    """A line's other fields, and attachments, are looked at as they stand in the file."""
    result = {"stdout": f"GITHUB_TOKEN={TOKEN}", "interrupted": False}
    lines = [
        claude_lines.line("u0", None, "user", "Hello", toolUseResult=result),
        {"type": "attachment", "attachment": {"type": "file", "content": f"x {KEY} y"}},
    ]
    path = Path(claude_lines.write(scan_home / ".claude", *lines).path)
    os.utime(path, (1, 1_700_000_000))
    sync()
    found = found_by(secret_space, claude_lines.ID)
    assert {(one["family"], one["role"]) for one in found} == {
        (family, role)
        for family in ("github-token", "anthropic-key")
        for role in ("transcript", "archive")
    }
    ok(secret_space, "redact", claude_lines.ID, "--archive", "--yes")
    assert holding(TOKEN, paths.archive()) + holding(KEY, paths.archive()) == []
    (copy,) = [data for name, data in kept("claude").items() if name.endswith(".gz")]
    assert len(copy.split(b"\n")) == 3
    assert json.loads(copy.split(b"\n")[0])["toolUseResult"]["interrupted"] is False


def test_redact_covers_tool_result_files_beside_transcript(
    secret_space: Path, scan_home: Path
) -> None:
    """A private key over many lines, in what Claude Code keeps beside the transcript."""
    held = claude(scan_home, "Hello.")
    body = "\n".join(["Ab3" * 21 + "x"] * 6)
    begin_, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    result = held.path.parent / claude_lines.ID / "tool-results/one.txt"
    result.parent.mkdir(parents=True)
    result.write_text(f"here\n{begin_}\n{body}\n{end}\nthere\n", encoding="utf-8")
    sync()
    assert {one.role for one in scan_one(held.row)} == {"agents", "archive"}
    redact_copies(held.row)
    assert holding("Ab3Ab3Ab3", paths.archive()) == []
    sync()
    assert holding("Ab3Ab3Ab3", paths.archive()) == []


def test_redact_covers_codex_thread_names(secret_space: Path, scan_home: Path) -> None:
    """Codex keeps them in a file of their own, which is copied as it is."""
    held = codex(scan_home, "Hello.")
    name = {"id": held.row.key, "thread_name": f"Use {TOKEN}", "updated_at": "2026-01-01"}
    index = scan_home / ".codex/session_index.jsonl"
    index.write_text(json.dumps(name) + "\n", encoding="utf-8")
    sync()
    assert {os.path.basename(one.path) for one in scan_one(held.row)} == {index.name}
    redact_copies(held.row)
    assert holding(TOKEN, paths.archive()) == []
    index.write_text(f"{json.dumps(name)}\n{json.dumps(name | {'id': 'x'})}\n", encoding="utf-8")
    assert sync().errors == []
    assert holding(TOKEN, paths.archive()) == []


def test_redact_covers_spawn_session_that_was_imported(secret_space: Path) -> None:
    """A session of `spawn` is left as it is when one is made of it, and not listed any more."""
    store = open_session_store(f"log:{paths.spawn_sessions()}")
    session = Session("coder-1", title="Coding")
    session.messages = [SessionMessage("user", f"Use {TOKEN}")]
    store.save(session)
    store.close()
    id = ok(secret_space, "import", "coder-1").split()[0]
    id = os.path.basename(next(iter(secret_space.glob("conversations/*/*coding*")), Path(id)))
    assert {one["role"] for one in found_by(secret_space, id)} == {"user", "origin"}
    ok(secret_space, "redact", id, "--yes")
    assert holding(TOKEN, secret_space, paths.spawn_sessions()) == []


LEFT_BY_OTHERS = (
    "plan.md~",
    ".plan.md.swp",
    "plan (conflicted copy 2026-01-02).md",
    "plan.sync-conflict-20260102-030405-ABCDEFG.md",
    ".session/messages (conflicted copy).jsonl",
    ".session/messages.sync-conflict-20260102-030405-ABCDEFG.jsonl",
    ".session/messages.jsonl.bak",
    ".session/session.json.orig",
    ".session/messages.jsonl~",
    ".session/messages.jsonl.corrupt",
)


def test_redact_covers_editor_backups_beside_conversation(secret_space: Path) -> None:
    """Editors and sync programs keep old versions where the new ones are."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    paths_ = sorted(str(folder_of(secret_space, id) / name) for name in LEFT_BY_OTHERS)
    for path in paths_:
        Path(path).write_text(json.dumps({"content": f"Use {TOKEN}"}) + "\n", encoding="utf-8")
    assert sorted(one["path"] for one in found_by(secret_space, id)) == paths_
    done = cortext(secret_space, "redact", id, "--yes")
    assert done.returncode == 0, done.stderr
    assert holding(TOKEN, secret_space) == []
    assert all("[redacted" in Path(path).read_text(encoding="utf-8") for path in paths_)
    assert "Hello." in ok(secret_space, "show", id)


@pytest.mark.parametrize("name", ["coder-1.jsonl~", "coder-1 (conflicted copy).jsonl"])
def test_redact_covers_backups_of_log_but_not_similar_ids(name: str, secret_space: Path) -> None:
    """Of `spawn`; another session whose id begins like it stays as it is."""
    store = open_session_store(f"log:{paths.spawn_sessions()}")
    for id, words in (("coder-1", "Hi"), ("coder-1.b", f"Use {KEY}"), ("coder-10", f"Use {KEY}")):
        session = Session(id, title="Coding")
        session.messages = [SessionMessage("user", words)]
        store.save(session)
    store.close()
    path = Path(paths.spawn_sessions(), name)
    path.write_text(f"Use {TOKEN}\n", encoding="utf-8")
    assert [one["path"] for one in found_by(secret_space, "coder-1")] == [str(path)]
    ok(secret_space, "redact", "coder-1", "--yes")
    assert holding(TOKEN, paths.spawn_sessions()) == []
    assert len(holding(KEY, paths.spawn_sessions())) == 2


@pytest.mark.parametrize("name", ["notes.txt", ".session/messages.jsonl"])
def test_redact_keeps_utf_16_and_utf_32_encoding(name: str, secret_space: Path) -> None:
    """Editors of Windows save it so; what is masked in it can be read with them."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    path = folder_of(secret_space, id) / name
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        path.write_bytes(f"{before}Größe\r\nUse {TOKEN} here.\r\n".encode(encoding))
        assert [one["family"] for one in found_by(secret_space, id)] == ["github-token"]
        done = cortext(secret_space, "redact", id, "--yes")
        assert done.returncode == 0, done.stderr
        assert holding(TOKEN, secret_space) == []
        text = path.read_bytes().decode(encoding)
        assert text.startswith(f"{before}Größe\r\nUse [redacted github-token ")
        assert text.endswith("] here.\r\n")


def test_redact_covers_file_with_mixed_encodings(secret_space: Path) -> None:
    """A shell may append the one to the other."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    path = folder_of(secret_space, id) / "out.log"
    path.write_bytes(f"one {KEY}\n".encode() + f"two {TOKEN}\n".encode("utf-16-le") + b"three\n")
    assert len(found_by(secret_space, id)) == 2
    ok(secret_space, "redact", id, "--yes")
    assert holding(TOKEN, secret_space) + holding(KEY, secret_space) == []
    assert path.read_bytes().endswith(b"three\n")


def test_redact_covers_conversation_in_trash(secret_space: Path, scan_home: Path) -> None:
    """`--all` looks at it; an id that is there can be redacted, and restored afterwards."""
    id = begin(secret_space, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.")
    ok(secret_space, "rename", id, f"Deploy with {TOKEN}")
    ok(secret_space, "delete", id, "--yes")
    found = found_by(secret_space, "--all")
    assert {one["role"] for one in found} == {"trash"}
    assert all(one["path"].startswith(f"{paths.trash()}/") for one in found)
    assert cortext(secret_space, "scan", "--all").returncode == 1
    done = cortext(secret_space, "redact", id, "--yes")
    assert done.returncode == 0, done.stderr
    assert "This conversation is in the trash." in done.stderr
    assert holding(TOKEN, paths.trash()) == []
    assert cortext(secret_space, "scan", "--all").returncode == 0
    ok(secret_space, "trash", "restore", id)
    assert "Use [redacted github-token " in ok(secret_space, "show", id)


def test_redact_covers_archive_copy_in_trash(secret_space: Path, scan_home: Path) -> None:
    """Of a tool's session, compressed, under a number; it can be put back."""
    held = claude(scan_home, "Hello.", f"my key is {TOKEN}")
    sync()
    ok(secret_space, "delete", held.row.key, "--yes")
    (row,) = trash_rows()
    assert {one.role for one in scan_one(row)} == {"trash"}
    redact(row)
    assert holding(TOKEN, paths.trash(), paths.archive()) == []
    ok(secret_space, "trash", "restore", "1")
    assert holding("[redacted github-token ", paths.archive()) != []


def test_redact_covers_trash_entry_with_damaged_note(secret_space: Path) -> None:
    """What nobody can list is looked at all the same."""
    file = secret_space / "one.txt"
    file.write_text(f"Use {TOKEN}\n", encoding="utf-8")
    entry = Trash(paths.trash()).put("one", [str(file)])
    Path(paths.trash(), entry.id, "info.json").write_bytes(b"torn")
    assert [one["role"] for one in found_by(secret_space, "--all")] == ["trash"]
    ok(secret_space, "redact", "--all", "--yes")
    assert holding(TOKEN, paths.trash()) == []


def test_redact_all_covers_orphaned_copies_and_temp_files(
    secret_space: Path, scan_home: Path
) -> None:
    """An older copy may be all that is left; temp files of a killed sync are there too."""
    held = claude(scan_home, "Hello.", f"my key is {TOKEN}")
    sync()
    (copy,) = [Path(name) for name in kept("claude") if name.endswith(".gz")]
    copy.rename(copy.with_name(f"{claude_lines.ID}.jsonl.~1.gz"))
    held.path.unlink()
    temp = Path(paths.archive(), ".temp", temp_name("warm"))
    temp.write_text(f"Use {KEY}\n", encoding="utf-8")
    found = found_by(secret_space, "--all")
    assert {(one["family"], one["role"]) for one in found} == {
        ("github-token", "archive"),
        ("anthropic-key", "left over"),
    }
    done = cortext(secret_space, "redact", "--all", "--archive", "--yes")
    assert done.returncode == 0, done.stderr
    assert holding(TOKEN, paths.archive()) + holding(KEY, paths.archive()) == []


def test_scan_names_unreadable_archive_copy(secret_space: Path, scan_home: Path) -> None:
    """It is not taken for clean."""
    held = claude(scan_home, "Hello.", f"my key is {TOKEN}")
    sync()
    (copy,) = [Path(name) for name in kept("claude") if name.endswith(".gz")]
    copy.write_bytes(copy.read_bytes()[:-20])
    held.path.unlink()
    done = cortext(secret_space, "scan", "--all")
    assert f"not scanned: {copy}" in done.stderr
