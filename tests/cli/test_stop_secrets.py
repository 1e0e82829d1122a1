"""Secrets in conversations that `cortext stop` would commit: through the real command line."""

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cortext import SessionMessage, open_session_store
from tests.command import begin, change_head, cortext, folder_of, git, head_of, ok, stop_notes

pytestmark = pytest.mark.usefixtures("git_identity")

# In parts: this file holds no secret.
KEY = "sk-ant-" + "api03-" + "x4Q9bT2mLp7VkR3wZs8YdJ6hNc5GfA1e" + "uXoKqWvB"
TOKEN = "ghp_" + "Zk3Vq8Lw2Rt6Yp1Nm5Xc" + "9Bd4Jh7Fg0SaQe6u"
PASSWORD = "hV7q" + "Zt2wLs9x"
MASK = {"CORTEXT_SESSIONS_SECRETS": "mask"}


@pytest.fixture
def git_workspace(tmp_path: Path) -> Path:
    """A workspace at the top of a repository with one commit."""
    root = tmp_path / "work"
    root.mkdir()
    ok(root, "init")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def _objects(root: Path) -> bytes:
    """Everything that git has, whether a commit leads to it or not."""
    return subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout


def _files(root: Path, id: str) -> bytes:
    return b"".join(p.read_bytes() for p in folder_of(root, id).rglob("*") if p.is_file())


def _commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", "HEAD"))


def _status(root: Path) -> str:
    return git(root, "status", "--porcelain", "-uall")


def _stop(root: Path, id: str, *args: str, **env: str) -> str:
    """Stop without an error; what was said on both channels."""
    done = cortext(root, "stop", id, *args, env=env)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout + done.stderr


def _git_that(folder: Path, when: str, does: str) -> dict[str, str]:
    """An environment in which git does something first when a word is among its arguments."""
    real = shutil.which("git")
    folder.mkdir()
    (folder / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" {when} "*) {does};; esac\nexec {real} "$@"\n',
        encoding="utf-8",
    )
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_default_mode_refuses_commit_with_secret(git_workspace: Path) -> None:
    """Nothing is committed; one line says file and kind; the conversation is paused."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"The key is {KEY} now.")
    done = cortext(git_workspace, "stop", id, "--summary", "We looked at keys.")
    assert (done.returncode, head_of(git_workspace, id)["status"]) == (0, "paused")
    assert [line.split(":")[0] for line in stop_notes(done).splitlines()] == ["not committed"]
    assert "messages.jsonl" in done.stderr
    assert "anthropic-key" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert _commits(git_workspace) == 1
    assert KEY.encode() not in _objects(git_workspace)
    assert KEY.encode() in _files(git_workspace, id)


def _say_in_claude(workspace: Path, id: str, *texts: str) -> None:
    """A transcript of Claude Code in which this was said in a workspace, in turns."""
    lines = [
        {"type": ("user", "assistant")[n % 2], "uuid": f"u{n}", "parentUuid": f"u{n - 1}"}
        | {"sessionId": id, "timestamp": f"2026-01-12T09:30:0{n}Z", "cwd": str(workspace)}
        | {"message": {"role": ("user", "assistant")[n % 2], "content": text, "id": f"m{n}"}}
        for n, text in enumerate(texts)
    ]
    path = Path(os.environ["HOME"]) / f".claude/projects/-work/{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def test_default_mode_redacts_secret_when_archive_has_original(
    git_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files and the commit are without it, the copy of the tool's transcript has it."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    session = "11111111-2222-4333-8444-555555555555"
    _say_in_claude(git_workspace, session, "Why does it fail?", f"Your key {KEY} has expired.")
    id = begin(git_workspace, "brainstorm", "Topic")
    change_head(git_workspace, id, native=[{"tool": "claude", "session_id": session}])
    said = _stop(git_workspace, id)
    assert "redacted in the files" in said
    assert KEY.encode() not in _files(git_workspace, id) + _objects(git_workspace)
    assert b"[secret removed: anthropic-key]" in _files(git_workspace, id)
    (copy,) = Path(os.environ["XDG_DATA_HOME"]).glob("cortext/archive/claude/**/*.jsonl.gz")
    assert KEY.encode() in gzip.decompress(copy.read_bytes())


def test_default_mode_refuses_commit_when_archive_is_off(
    git_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would have the original: nothing is changed, and nothing is committed."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("CORTEXT_ARCHIVE_ENABLED", "off")
    session = "11111111-2222-4333-8444-555555555555"
    _say_in_claude(git_workspace, session, "Why does it fail?", f"Your key {KEY} has expired.")
    id = begin(git_workspace, "brainstorm", "Topic")
    change_head(git_workspace, id, native=[{"tool": "claude", "session_id": session}])
    assert "not committed" in _stop(git_workspace, id)
    assert KEY.encode() in _files(git_workspace, id)


@pytest.mark.parametrize("secrets", ["", "mask"])
def test_generated_summary_never_shows_secret(git_workspace: Path, secrets: str) -> None:
    """A summary is made of what was said; what a terminal shows of it holds no secret."""
    id = begin(git_workspace, "brainstorm", "Topic", f"Why does {KEY} not work?", "It expired.")
    said = _stop(git_workspace, id, **({"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}))
    assert KEY[:30] not in said


@pytest.mark.parametrize("secrets", ["", "mask"])
@pytest.mark.parametrize("place", ["title", "summary"])
def test_confirmation_never_shows_secret_of_title_or_summary(
    git_workspace: Path, place: str, secrets: str
) -> None:
    """Neither the title nor the given summary brings a secret to stdout or stderr."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    if place == "title":
        change_head(git_workspace, id, title=f"Use {KEY}")
    given = f"We use {KEY}" if place == "summary" else "Nothing."
    env = {"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}
    assert KEY not in _stop(git_workspace, id, "--summary", given, **env)


def test_mask_mode_redacts_messages_head_and_markdown_only_at_secrets(git_workspace: Path) -> None:
    """In messages, head and markdown, on disk and in git alike; all the rest is as it was."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.", "Thanks.", "Bye.")
    folder = folder_of(git_workspace, id)
    change_head(git_workspace, id, title=f"Rotate {TOKEN}")
    lines_path, markdown = folder / ".session/messages.jsonl", folder / "brainstorm.md"
    with markdown.open("ab") as file:
        file.write(f"\nHere: {KEY}\r\nbyte \\ é ".encode() + b"\xff\xfe end")
    markdown.chmod(0o640)
    before = lines_path.read_bytes().split(b"\n")
    page = markdown.read_bytes()
    store = open_session_store(f"workspace:{git_workspace}")
    old = store.load(id).messages

    said = _stop(git_workspace, id, "--summary", f"uses {KEY}", **MASK)
    assert "redacted" in said
    after = lines_path.read_bytes().split(b"\n")
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, True, True]
    assert markdown.read_bytes() == page.replace(KEY.encode(), b"[secret removed: anthropic-key]")
    new = store.load(id)
    assert [(m.id, m.timestamp, m.role) for m in new.messages] == [
        (m.id, m.timestamp, m.role) for m in old
    ]
    assert new.messages[1].content == "Key [secret removed: anthropic-key]."
    assert new.summary == "uses [secret removed: anthropic-key]"
    assert new.title == "Rotate [secret removed: github-token]"
    modes = {p.name: p.stat().st_mode & 0o777 for p in (markdown, lines_path, folder / ".session")}
    assert modes == {"brainstorm.md": 0o640, "messages.jsonl": 0o600, ".session": 0o700}
    assert _status(git_workspace) == ""
    for secret in (KEY, TOKEN):
        assert secret.encode() not in _files(git_workspace, id)
        assert secret.encode() not in _objects(git_workspace)
    ok(git_workspace, "show", id)


def test_title_with_a_secret_does_not_reach_the_commit_message(git_workspace: Path) -> None:
    """Masked in the message as it is in the file."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    change_head(git_workspace, id, title=TOKEN)
    _stop(git_workspace, id, **MASK)
    assert TOKEN not in git(git_workspace, "log", "--format=%B")


def test_second_stop_after_redaction_reports_nothing(git_workspace: Path) -> None:
    """The next stop finds nothing, says nothing of it, and changes nothing of the messages."""
    id = begin(git_workspace, "brainstorm", "Topic", f"Key {KEY}.")
    _stop(git_workspace, id, **MASK)
    before = (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes()
    assert "redacted" not in _stop(git_workspace, id, **MASK)
    assert (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes() == before


def _arguments() -> list[Any]:
    inner = json.dumps({"headers": {"Authorization": f"Bearer {TOKEN}"}, "n": 1})
    escaped = json.dumps({"key": KEY}).replace("-", "\\u002d")
    return [inner, escaped, json.dumps(inner), f"PASSWORD={PASSWORD}{KEY}\nnext=1"]


@pytest.mark.parametrize("number", range(4))
def test_mask_mode_redacts_nested_json_of_tool_calls(git_workspace: Path, number: int) -> None:
    """JSON in a string, a key written with escapes, JSON in JSON in JSON: all masked, all valid."""
    given = _arguments()[number]
    id = begin(git_workspace, "brainstorm", "Topic")
    calls = [{"id": "c1", "type": "function", "function": {"name": "run", "arguments": given}}]
    message = SessionMessage("assistant", "", tool_calls=calls, id="m1")
    store = open_session_store(f"workspace:{git_workspace}")
    store.append(id, message)
    _stop(git_workspace, id, **MASK)
    (now,) = store.load(id).messages
    assert now.tool_calls is not None
    arguments = now.tool_calls[0]["function"]["arguments"]
    assert "[secret removed" in arguments
    assert KEY not in arguments.replace("\\u002d", "-")
    assert TOKEN not in arguments
    if number < 3:
        json.loads(arguments)
    assert now.id == "m1"
    for secret in (KEY, TOKEN, KEY.replace("-", "\\\\u002d")):
        assert secret.encode() not in _objects(git_workspace)


def test_mask_mode_redacts_secret_written_with_json_escapes(git_workspace: Path) -> None:
    """Another writer's JSON may spell a key with escapes: the bytes differ, the key is the same."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    path = folder_of(git_workspace, id) / ".session/messages.jsonl"
    record = json.loads(path.read_bytes()) | {"content": "KEY", "id": "m2"}
    spelt = "".join(f"\\u{ord(c):04x}" if n % 3 else c for n, c in enumerate(KEY))
    with path.open("ab") as file:
        file.write(json.dumps(record).replace("KEY", spelt).encode() + b"\n")
    _stop(git_workspace, id, **MASK)
    assert spelt.encode() not in _objects(git_workspace)
    contents = [
        m.content for m in open_session_store(f"workspace:{git_workspace}").load(id).messages
    ]
    assert contents == ["Hello.", "[secret removed: anthropic-key]"]


def test_secret_in_torn_last_line_is_not_committed(git_workspace: Path) -> None:
    """A line that a crash cut off is masked or not committed, whatever is said about it."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    with (folder_of(git_workspace, id) / ".session/messages.jsonl").open("ab") as file:
        file.write(b'{"role": "user", "content": "' + KEY.encode() + b" and th")
    _stop(git_workspace, id, **MASK)
    assert KEY.encode() not in _objects(git_workspace)


def test_secret_in_duplicate_json_key_is_not_committed(git_workspace: Path) -> None:
    """JSON readers see the last of two equal keys; the bytes of both would be committed."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    path = folder_of(git_workspace, id) / ".session/messages.jsonl"
    line = path.read_bytes().replace(b"{", b'{"content":"' + KEY.encode() + b'",', 1)
    path.write_bytes(line)
    _stop(git_workspace, id, **MASK)
    assert KEY.encode() not in _objects(git_workspace)


def test_warn_mode_commits_and_names_secret_kind(git_workspace: Path) -> None:
    """One line with file and kind, without the secret; the commit has it."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    said = _stop(git_workspace, id, "--summary", "s", CORTEXT_SESSIONS_SECRETS="warn")
    assert "warning: committed with a secret (anthropic-key) in messages.jsonl" in said
    assert KEY not in said
    assert KEY.encode() in _objects(git_workspace)
    assert _status(git_workspace) == ""


@pytest.mark.parametrize("mode", ["stage", "commit"])
def test_warn_mode_never_claims_commit_that_did_not_happen(
    git_workspace: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told `committed` where nothing was: staged only, or git did not want to."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    git(git_workspace, "config", "user.useConfigOnly", "true")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_NAME")
        monkeypatch.delenv(f"GIT_{who}_EMAIL")
    said = _stop(git_workspace, id, CORTEXT_SESSIONS_SECRETS="warn", CORTEXT_SESSIONS_GIT=mode)
    assert "anthropic-key" in said
    assert "committed with" not in said


def test_off_mode_commits_secret_without_warning(git_workspace: Path) -> None:
    """Who switches it off hears nothing of it."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    said = _stop(git_workspace, id, "--summary", "s", CORTEXT_SESSIONS_SECRETS="off")
    assert "anthropic" not in said
    assert KEY.encode() in _objects(git_workspace)


def test_user_setting_selects_secrets_mode(git_workspace: Path, home: Path) -> None:
    """The user's file says mask, and it is done; explicitly refuse, and it is not."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    ok(git_workspace, "config", "sessions.secrets", "refuse")
    try:
        assert "not committed" in _stop(git_workspace, id, "--summary", "s")
        ok(git_workspace, "config", "sessions.secrets", "mask")
        assert "redacted" in _stop(git_workspace, id, "--summary", "s")
    finally:
        (home / ".config/cortext/config.toml").unlink()
    assert _status(git_workspace) == ""


@pytest.mark.parametrize("value", ["off", "warn", "mask"])
def test_stop_rejects_secrets_setting_of_workspace(git_workspace: Path, value: str) -> None:
    """A workspace that somebody else made cannot switch it off: a clear error, no commit."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    before = head_of(git_workspace, id)
    config = git_workspace / ".workspace/config.toml"
    config.write_text(f'[sessions]\nsecrets = "{value}"\n', encoding="utf-8")
    done = cortext(git_workspace, "stop", id)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "a workspace may not set sessions.secrets" in done.stderr
    assert (_commits(git_workspace), head_of(git_workspace, id)) == (1, before)


def test_stop_from_elsewhere_rejects_secrets_setting_of_workspace(
    git_workspace: Path, tmp_path: Path
) -> None:
    """The same for one that is stopped from elsewhere: an error comes before any change."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    before = head_of(git_workspace, id)
    config = git_workspace / ".workspace/config.toml"
    config.write_text('[sessions]\nsecrets = "off"\n', encoding="utf-8")
    here = tmp_path / "here"
    here.mkdir()
    ok(here, "init")
    done = cortext(here, "stop", id)
    assert (done.returncode, _commits(git_workspace)) == (1, 1)
    assert "a workspace may not set sessions.secrets" in done.stderr
    assert head_of(git_workspace, id) == before


@pytest.mark.parametrize("where", ["off", "no repository"])
def test_secrets_are_not_checked_without_git(git_workspace: Path, where: str) -> None:
    """No commit, so nothing is said and no byte is masked."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    lines = (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes()
    env = MASK | ({"CORTEXT_SESSIONS_GIT": "off"} if where == "off" else {})
    if where == "no repository":
        shutil.rmtree(git_workspace / ".git")
    done = cortext(git_workspace, "stop", id, "--summary", "s", env=env)
    assert (done.returncode, stop_notes(done)) == (0, "")
    assert (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes() == lines


@pytest.mark.parametrize("secrets", ["", "mask"])
def test_secrets_in_git_ignored_files_are_left_unchanged(git_workspace: Path, secrets: str) -> None:
    """Only what would be committed matters: an ignored file is neither a reason nor changed."""
    (git_workspace / ".gitignore").write_text(".session/\n", encoding="utf-8")
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    lines = (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes()
    env = {"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}
    _stop(git_workspace, id, "--summary", "s", **env)
    assert (folder_of(git_workspace, id) / ".session/messages.jsonl").read_bytes() == lines
    assert _commits(git_workspace) == 2
    assert KEY.encode() not in _objects(git_workspace)


@pytest.mark.parametrize("secrets", ["", "mask"])
def test_secret_behind_symlink_neither_blocks_commit_nor_changes(
    git_workspace: Path, tmp_path: Path, secrets: str
) -> None:
    """Links are not committed, so what they lead to is no reason to refuse, and stays."""
    target = tmp_path / "env"
    target.write_text(f"KEY={KEY}\n", encoding="utf-8")
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    (folder_of(git_workspace, id) / "env.txt").symlink_to(target)
    env = {"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}
    _stop(git_workspace, id, **env)
    assert target.read_text(encoding="utf-8") == f"KEY={KEY}\n"
    assert _commits(git_workspace) == 2


def test_secrets_in_extra_files_are_refused_or_redacted(git_workspace: Path) -> None:
    """Files that the agent put there are refused and masked as ours are; binary ones stay."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    folder = folder_of(git_workspace, id)
    (folder / "data").mkdir()
    (folder / "data/messages.jsonl").write_text(json.dumps({"content": KEY}), encoding="utf-8")
    (folder / "notes.txt").write_text(f"password: '{PASSWORD}'\n{KEY}\n", encoding="utf-8")
    (folder / "image.bin").write_bytes(b"\x00\x01\xff" * 50)
    assert "notes.txt" in _stop(git_workspace, id)
    assert _commits(git_workspace) == 1
    _stop(git_workspace, id, **MASK)
    assert KEY.encode() not in _objects(git_workspace)
    assert json.loads((folder / "data/messages.jsonl").read_text()) == {
        "content": "[secret removed: anthropic-key]"
    }
    assert (folder / "image.bin").read_bytes() == b"\x00\x01\xff" * 50
    assert _status(git_workspace) == ""


@pytest.mark.parametrize("secrets", ["", "mask"])
@pytest.mark.parametrize(
    "data",
    [f"log \0 {KEY}\n".encode(), f"KEY={KEY}\n".encode("utf-16")],
    ids=["one zero", "UTF-16"],
)
def test_secrets_in_text_with_zero_bytes_are_not_committed(
    git_workspace: Path, data: bytes, secrets: str
) -> None:
    """A log with one zero byte, or UTF-16 as some shells write it, hides no key."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    (folder_of(git_workspace, id) / "out.log").write_bytes(data)
    _stop(git_workspace, id, **({"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}))
    assert KEY.encode() not in _objects(git_workspace).replace(b"\0", b"")


def test_second_done_with_mask_mode_commits_after_refusal(git_workspace: Path) -> None:
    """The advice of a refusal (`mask`) leads somewhere after `done` too."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    done = cortext(git_workspace, "done", id, "--summary", "s")
    assert (done.returncode, "not committed" in done.stderr) == (0, True)
    again = cortext(git_workspace, "done", id, "--summary", "s", env=MASK)
    assert again.returncode == 0, again.stderr
    assert _status(git_workspace) == ""


@pytest.mark.parametrize("secrets", ["", "mask"])
def test_secret_appended_during_stop_is_not_committed(
    git_workspace: Path, tmp_path: Path, secrets: str
) -> None:
    """A message that comes in after the look and before the commit is not committed unseen."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.")
    path = folder_of(git_workspace, id) / ".session/messages.jsonl"
    record = json.loads(path.read_bytes()) | {"content": f"Key {KEY}.", "id": "late"}
    late = tmp_path / "late"
    late.write_bytes(json.dumps(record).encode() + b"\n")
    env = _git_that(tmp_path / "bin", "check-ignore", f"cat '{late}' >> '{path}'")
    _stop(git_workspace, id, **env, **({"CORTEXT_SESSIONS_SECRETS": secrets} if secrets else {}))
    assert path.read_bytes().endswith(late.read_bytes()) or secrets == "mask"
    assert KEY.encode() not in _objects(git_workspace)


@pytest.mark.parametrize("name", ["index.lock", "MERGE_HEAD"])
def test_secret_is_not_committed_when_git_becomes_free_during_stop(
    git_workspace: Path, tmp_path: Path, name: str
) -> None:
    """git is busy at the first look and free at the second: still nothing goes in unseen."""
    id = begin(git_workspace, "brainstorm", "Topic", "Hello.", f"Key {KEY}.")
    busy, seen = git_workspace / ".git" / name, tmp_path / "seen"
    busy.write_text(git(git_workspace, "rev-parse", "HEAD"), encoding="ascii")
    does = f"if [ -e '{seen}' ]; then rm -f '{busy}'; fi; : > '{seen}'"
    env = _git_that(tmp_path / "bin", "--is-bare-repository", does)
    _stop(git_workspace, id, "--summary", "s", **env)
    assert KEY.encode() not in _objects(git_workspace)


def test_conversation_with_secret_in_id_loads_after_redaction(git_workspace: Path) -> None:
    """The id repeats the topic; masking it would leave a session that calls itself otherwise."""
    id = begin(git_workspace, "brainstorm", f"Rotate {KEY}", "Hello.")
    _stop(git_workspace, id, "--summary", "s", **MASK)
    assert head_of(git_workspace, id)["conversation_id"] == id
    shown = cortext(git_workspace, "show", id)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "redacted" not in _stop(git_workspace, id, "--summary", "s", **MASK)


@pytest.mark.parametrize(
    "topic",
    [f"Rotate {KEY}", "SK" + "4f9a1c7e0b3d8265" + "a7c1e9f04b2d6835"],
    ids=["with capitals", "hexadecimal"],
)
def test_new_folder_name_contains_no_secret(git_workspace: Path, topic: str) -> None:
    """A folder's name is in every commit, and no mask reaches it there."""
    id = begin(git_workspace, "brainstorm", topic, "Hello.")
    assert topic[-16:].lower() not in id
