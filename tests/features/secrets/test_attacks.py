"""What an attack on scan and redact found: links, names, loose and packed files, and words that
carry terminal codes."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store, paths
from tests.command import begin, cortext, folder_of, git, ok
from tests.features.secrets.tool_sessions import KEY, TOKEN, claude, holding

ESC = "\x1b[31m"


@pytest.mark.parametrize("where", ["conversations", "conversations/DAY"])
def test_scan_and_redact_cover_conversations_beside_link_loop(
    secret_space: Path, where: str
) -> None:
    """Whatever lies beside conversations, all of them are listed and looked at."""
    id = begin(secret_space, "plan", "Deploy", f"Use {TOKEN}.")
    folder = secret_space / where.replace("DAY", folder_of(secret_space, id).parent.name)
    (folder / "notes").symlink_to("notes")
    assert id in ok(secret_space, "list")
    done = cortext(secret_space, "scan")
    assert (done.returncode, done.stdout.count("github-token")) == (1, 1)
    assert cortext(secret_space, "redact", id, "--yes").returncode == 0
    assert holding(TOKEN, secret_space) == []


def test_stores_list_sessions_beside_link_loop(tmp_path: Path) -> None:
    """One beside documents and logs is passed by."""
    for kind in ("document", "log"):
        store = open_session_store(f"{kind}://{tmp_path}/{kind}")
        store.save(Session("kept"))
        for name in ("round", "round.json", "round.jsonl"):
            (tmp_path / kind / name).symlink_to(name)
        assert "kept" in store.list_session_ids()


def test_scan_exits_1_and_names_unreadable_file(secret_space: Path) -> None:
    """Something that cannot be read is named, in words, and the code says it."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    (folder_of(secret_space, id) / "broken.gz").write_bytes(gzip.compress(b"x" * 5000)[:-20])
    done = cortext(secret_space, "scan")
    assert done.returncode == 1
    assert "broken.gz" in done.stderr
    assert "Not everything could be scanned" in done.stderr
    assert "Errno" not in done.stderr


def test_scan_exits_1_and_names_skipped_folder(secret_space: Path) -> None:
    """Lists name it in words; a scan knows that it was not in it."""
    held = claude(secret_space.parent / "home", "Hello.")
    held.path.with_name("round.jsonl").symlink_to("round.jsonl")
    folder = held.path.parent.with_name("round")
    folder.symlink_to("round")
    done = cortext(secret_space, "scan", "--all")
    assert done.returncode == 1
    assert f"skipped {folder}: too many levels" in done.stderr
    assert "Errno" not in done.stderr


def test_scan_of_empty_home_counts_no_conversation(secret_space: Path) -> None:
    """The archive is none."""
    done = cortext(secret_space, "scan", "--all")
    assert (done.returncode, done.stderr) == (0, "No secrets found in 0 conversations.\n")


def test_secret_in_file_name_is_found_hidden_and_never_committed(secret_space: Path) -> None:
    """It is found, and named without the secret; nothing with such a name is committed."""
    git(secret_space, "init", "-q")
    git(secret_space, "config", "user.name", "A")
    git(secret_space, "config", "user.email", "a@example.org")
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    file = folder_of(secret_space, id) / "sub" / f"notes-{TOKEN}.txt"
    file.parent.mkdir()
    file.write_text("nothing")
    done = cortext(secret_space, "scan", id)
    assert (done.returncode, done.stdout.count("file name")) == (1, 1)
    told = [
        cortext(secret_space, "redact", id, "--yes"),
        cortext(secret_space, "scan", id, "--json"),
    ]
    ok(secret_space, "config", "sessions.secrets", "mask")
    told += [cortext(secret_space, "stop", id)]
    assert [one.returncode for one in told] == [1, 1, 0]
    assert "not committed: a file name contains a secret" in told[-1].stderr
    assert all(TOKEN not in one.stdout + one.stderr for one in (done, *told))
    assert git(secret_space, "rev-list", "--all").strip() == ""
    file.rename(file.with_name("notes.txt"))
    assert "committed as" in cortext(secret_space, "stop", id).stderr


def test_scan_finds_secret_in_file_name_in_trash(secret_space: Path) -> None:
    """To delete a conversation hides no name; to empty the trash removes it."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    (folder_of(secret_space, id) / f"notes-{TOKEN}.txt").write_text("nothing")
    ok(secret_space, "delete", id, "--yes")
    done = cortext(secret_space, "scan", "--all")
    assert (done.returncode, done.stdout.count("file name")) == (1, 1)
    assert "`cortext trash empty` deletes it permanently" in done.stdout
    assert TOKEN not in done.stdout + done.stderr
    ok(secret_space, "trash", "empty", "--yes")
    assert cortext(secret_space, "scan", "--all").returncode == 0


def test_redact_covers_loose_files_among_conversations(secret_space: Path) -> None:
    """They belong to none, and are found and masked with any."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    day = folder_of(secret_space, id).parent
    (day / "loose.md").write_text(f"a {TOKEN}")
    (day.parent / "README.md").write_text(f"b {KEY}")
    done = cortext(secret_space, "scan")
    assert done.stdout.count(" beside ") == 2
    assert cortext(secret_space, "redact", id, "--yes").returncode == 0
    assert holding(TOKEN, secret_space) + holding(KEY, secret_space) == []


def test_redact_rewrites_gzip_text_and_leaves_tar_archive(secret_space: Path) -> None:
    """Text is masked and stays compressed; a packed folder would break, so it is left and named."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    folder = folder_of(secret_space, id)
    (folder / "log.gz").write_bytes(gzip.compress(f"use {TOKEN} here\n".encode()))
    assert cortext(secret_space, "redact", id, "--yes").returncode == 0
    text = gzip.decompress((folder / "log.gz").read_bytes()).decode()
    assert text.startswith("use [redacted github-token ")
    assert text.endswith(" here\n")
    made, inside = io.BytesIO(), f"use {TOKEN} here\n".encode()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        info = tarfile.TarInfo("x")
        info.size = len(inside)
        tar.addfile(info, io.BytesIO(inside))
    (folder / "all.tar.gz").write_bytes(made.getvalue())
    done = cortext(secret_space, "redact", id, "--yes")
    assert (done.returncode, (folder / "all.tar.gz").read_bytes()) == (1, made.getvalue())
    assert "all.tar.gz still contains the secret: the file is a packed folder" in done.stderr


@pytest.mark.parametrize("how", ["removed", "forgotten"])
def test_redact_clears_titles_of_unlisted_documents_from_cache(
    how: str, secret_space: Path, tmp_path: Path
) -> None:
    """No list has a word of them after a redact."""
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    folder = Path(paths.project_document_dir(str(other)))
    SessionStorage(folder).save(Session("gone", title="Use the marmalade"))
    assert "gone" in ok(other, "list")
    assert holding("marmalade", tmp_path / "cache") != []
    other.rename(tmp_path / "moved")
    if how == "forgotten":
        ok(secret_space, "list", "--forget")
        (tmp_path / "moved").rename(other)
    id = begin(secret_space, "plan", "Deploy", f"Use {KEY}.")
    assert cortext(secret_space, "redact", id, "--yes").returncode == 0
    assert holding("marmalade", tmp_path / "cache") == []


def test_warnings_of_list_scan_and_redact_have_no_terminal_codes(secret_space: Path) -> None:
    """A file may be called anything; lists, scan and redact show it without moving the cursor."""
    id = begin(secret_space, "plan", "Deploy", "Hello.")
    held = claude(secret_space.parent / "home", "Hello.")
    name = held.path.parent.with_name(f"{ESC}round")
    name.symlink_to(name.name)
    (folder_of(secret_space, id) / f"{ESC}.gz").write_bytes(gzip.compress(b"x" * 5000)[:-20])
    for command in (["list"], ["list", "--all"], ["scan", "--all"], ["redact", id, "--dry-run"]):
        done = cortext(secret_space, *command)
        assert "\x1b" not in done.stdout + done.stderr, command
    assert "skipped " in cortext(secret_space, "list").stderr
    assert "�[31m.gz" in cortext(secret_space, "redact", id, "--yes").stderr


def test_list_of_ambiguous_titles_has_no_terminal_codes(secret_space: Path) -> None:
    """Titles of several that are meant."""
    for _ in range(2):
        id = begin(secret_space, "plan", "Deploy", "Hello.")
        head = folder_of(secret_space, id) / ".session/session.json"
        head.write_text(json.dumps(json.loads(head.read_text()) | {"title": f"{ESC}same"}))
    done = cortext(secret_space, "show", "same")
    assert done.returncode == 4
    assert "\x1b" not in done.stdout + done.stderr


def test_setup_diff_redacts_tokens_of_other_servers(secret_space: Path) -> None:
    """The file of another program holds other servers' keys, and its difference has lines of
    them."""
    home = secret_space.parent / "home"
    home.mkdir(exist_ok=True)
    servers = {"mcpServers": {"other": {"command": "x", "env": {"GITHUB_TOKEN": TOKEN}}}}
    (home / ".claude.json").write_text(json.dumps(servers, indent=2))
    (home / ".claude").mkdir()
    shown = [
        cortext(secret_space, "setup", "--tools", "claude", *rest)
        for rest in (["--dry-run"], ["--yes"])
    ]
    assert all("GITHUB_TOKEN" in one.stdout + one.stderr for one in shown)
    assert all(TOKEN not in one.stdout + one.stderr for one in shown)
    assert TOKEN in (home / ".claude.json").read_text()


def test_logged_warning_is_shown_without_terminal_codes() -> None:
    program = (
        "import logging; from cortext.cli.log_warnings import show_warnings; show_warnings();"
        "logging.getLogger('cortext.x').warning('%s is passed over', '\\x1b[31m\\nx')"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True, text=True, check=True, timeout=60,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stderr == "warning: \ufffd[31m x is passed over\n"


@pytest.mark.parametrize("kind", ["log", "document"])
def test_redact_keeps_ids_that_look_like_secrets(
    kind: str, secret_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A masked session can be loaded, its checksums hold, and what is left is said."""
    monkeypatch.setenv("CORTEXT_SESSIONS_CHECKSUMS", "on")
    folder = f"{paths.data_home()}/cortext/programs" if kind == "log" else paths.document_dir()
    store = open_session_store(f"{kind}://{folder}")
    store.save(Session(TOKEN, messages=[SessionMessage("user", f"use {KEY}", id=TOKEN)]))
    done = cortext(secret_space, "redact", "--all", "--yes")
    assert (done.returncode, "A secret is still in" in done.stderr) == (1, True)
    found = open_session_store(f"{kind}://{folder}").load(TOKEN)
    assert (found.id, [message.id for message in found.messages]) == (TOKEN, [TOKEN])
    assert found.messages[0].content.startswith("use [redacted anthropic-key ")
    assert holding(KEY, secret_space.parent, paths.data_home()) == []
