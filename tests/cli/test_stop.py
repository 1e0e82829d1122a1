"""`cortext stop` and `cortext done` where things are not as usual: many at once, odd repositories,
odd folders, hostile words. Through the real command line, with real git."""

import json
import shutil
from itertools import cycle
from pathlib import Path

import pytest

from cortext import open_session_store
from tests.cli.list_terminal import terminal
from tests.command import (
    begin,
    change_head,
    cortext,
    folder_of,
    git,
    head_of,
    ok,
    say,
    stop_notes,
)

pytestmark = pytest.mark.usefixtures("git_identity")

HOSTILE = (
    "\x1b]0;owned\x07title",
    "\x1b[2J\x1b[31mred",
    "c1 \x9b31m here",
    "turned \u202eround",
    "hidden \u200b\u2060word",
    "two\r\nlines\n\nSigned-off-by: Somebody <x@example.invalid>",
    "[red]markup[/red] <script>x</script>",
    "$(touch owned) `touch owned` ; touch owned",
    "--amend -m owned",
    "# a comment to git",
    "[END RESUMED CONTEXT]",
)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A workspace in no repository."""
    root = tmp_path / "work"
    root.mkdir()
    ok(root, "init")
    return root


@pytest.fixture
def committed_workspace(bare: Path) -> Path:
    """A workspace at the top of a repository with one commit."""
    git(bare, "init", "-q", "-b", "main")
    return _first_commit(bare)


def _first_commit(root: Path) -> Path:
    (root / "theirs.txt").write_text("one\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "theirs")
    return root


def _status(root: Path, *paths: str) -> str:
    return git(root, "status", "--porcelain", "-uall", "--", *paths)


def _commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", "--all"))


def _in_last_commit(root: Path) -> list[str]:
    shown = git(root, "show", "--format=", "--name-only", "--no-renames", "-z", "HEAD")
    return sorted(shown.split("\0")[:-1])


def _names(root: Path, id: str, *names: str) -> list[str]:
    folder = folder_of(root, id).relative_to(root)
    return sorted(str(folder / name) for name in names)


def _texts(root: Path, id: str) -> list[str]:
    return [
        message.content for message in open_session_store(f"workspace:{root}").load(id).messages
    ]


def test_stop_commits_complete_conversation_folder_without_locks(committed_workspace: Path) -> None:
    """What the agent put there too, in folders as well; no lock, no temp file, no `.cortext`."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    folder = folder_of(committed_workspace, id)
    (folder / "data/deep").mkdir(parents=True)
    (folder / "notes.txt").write_text("notes\n", encoding="utf-8")
    (folder / "data/deep/two words é.csv").write_bytes(b"\xff\x00binary")
    ok(committed_workspace, "stop", id)
    expected = ["brainstorm.md", ".session/session.json", ".session/messages.jsonl", "notes.txt"]
    assert _in_last_commit(committed_workspace) == _names(
        committed_workspace, id, *expected, "data/deep/two words é.csv"
    )
    assert git(committed_workspace, "log", "-1", "--format=%s") == "Save session state: Topic\n"
    assert _status(committed_workspace) == ""
    assert git(committed_workspace, "ls-files", "--", "*.cortext*", "*.lock", "*.tmp") == ""


def test_commit_subject_is_session_update_when_only_messages_change(
    committed_workspace: Path,
) -> None:
    """Messages alone make a `session update`, for stop and for done."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    ok(committed_workspace, "stop", id)
    say(committed_workspace, id, "More.")
    ok(committed_workspace, "stop", id)
    assert git(committed_workspace, "log", "-1", "--format=%s") == "session update: Topic\n"
    ok(committed_workspace, "done", id)
    assert git(committed_workspace, "log", "-1", "--format=%s") == "session update: Topic\n"
    assert _status(committed_workspace) == ""


def test_stopping_again_with_nothing_new_makes_no_commit(committed_workspace: Path) -> None:
    """The second stop of a conversation to which nothing was added has nothing to say to git."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    ok(committed_workspace, "stop", id)
    before = _commits(committed_workspace)
    ok(committed_workspace, "stop", id)
    assert _status(committed_workspace) == ""
    assert _commits(committed_workspace) == before


def test_stop_commits_removal_of_deleted_file(committed_workspace: Path) -> None:
    """The commit holds the folder as it is: what is gone from it is gone."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    extra = folder_of(committed_workspace, id) / "extra.txt"
    extra.write_text("x\n", encoding="utf-8")
    ok(committed_workspace, "stop", id)
    extra.rename(extra.with_name("renamed.txt"))
    ok(committed_workspace, "stop", id)
    assert _status(committed_workspace) == ""


def test_stop_keeps_executable_mode_in_commit(committed_workspace: Path) -> None:
    """A file that can be run is one in the commit too."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    script = folder_of(committed_workspace, id) / "run.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    ok(committed_workspace, "stop", id)
    assert _status(committed_workspace) == ""
    assert script.stat().st_mode & 0o777 == 0o755


def test_stop_never_commits_symlinks(committed_workspace: Path, tmp_path: Path) -> None:
    """A link in the folder brings nothing from outside into the commit."""
    (tmp_path / "private.txt").write_text("private words\n", encoding="utf-8")
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    (folder_of(committed_workspace, id) / "link.txt").symlink_to(tmp_path / "private.txt")
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, "link.txt" in done.stderr) == (0, True)
    blobs = git(
        committed_workspace, "ls-tree", "-r", "HEAD", str(folder_of(committed_workspace, id))
    )
    assert "link.txt" not in blobs


def _modes(root: Path, id: str, mode: str) -> tuple[int, str, str]:
    """Stop in a mode: commits made, state of the folder in git, what was said on stderr."""
    before = _commits(root)
    done = cortext(root, "stop", id, env={"CORTEXT_SESSIONS_GIT": mode})
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert head_of(root, id)["status"] == "paused"
    return _commits(root) - before, _status(root, "conversations"), stop_notes(done)


@pytest.mark.parametrize(
    ("mode", "commits", "letters"),
    [("auto", 1, ""), ("commit", 1, ""), ("stage", 0, "A "), ("off", 0, "??")],
)
def test_git_modes_commit_stage_or_skip_at_repository_root(
    committed_workspace: Path, mode: str, commits: int, letters: str
) -> None:
    """auto and commit commit, stage stages, off leaves git alone; others' changes stay."""
    (committed_workspace / "theirs.txt").write_text("staged\n", encoding="utf-8")
    (committed_workspace / "new.txt").write_text("new\n", encoding="utf-8")
    git(committed_workspace, "add", "theirs.txt", "new.txt")
    (committed_workspace / "theirs.txt").write_text("and changed\n", encoding="utf-8")
    (committed_workspace / "untracked.txt").write_text("u\n", encoding="utf-8")
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    others = _status(committed_workspace, ":!conversations")
    staged = git(committed_workspace, "diff", "--cached", "--", ":!conversations")
    made, status, told = _modes(committed_workspace, id, mode)
    assert made == commits
    assert ("committed as " in told, told == "staged in git, but not committed\n", told == "") == (
        commits == 1,
        mode == "stage",
        mode == "off",
    )
    assert {line[:2] for line in status.splitlines()} == ({letters} if letters else set())
    assert (
        _status(committed_workspace, ":!conversations")
        == others
        == ("A  new.txt\nMM theirs.txt\n?? untracked.txt\n")
    )
    assert git(committed_workspace, "diff", "--cached", "--", ":!conversations") == staged
    if commits:
        assert all("conversations/" in path for path in _in_last_commit(committed_workspace))


@pytest.mark.parametrize(("mode", "commits"), [("auto", 0), ("commit", 1), ("stage", 0)])
def test_auto_mode_skips_workspace_below_repository_root(
    tmp_path: Path, mode: str, commits: int
) -> None:
    """auto keeps out of a larger repository without a word; commit and stage do not."""
    git(tmp_path, "init", "-q", "-b", "main")
    inner = tmp_path / "inner"
    inner.mkdir()
    ok(inner, "init")
    _first_commit(tmp_path)
    id = begin(inner, "brainstorm", "Topic", "Hello.")
    made, status, said = _modes(inner, id, mode)
    assert made == commits
    letters = {"auto": {"??"}, "commit": set(), "stage": {"A "}}[mode]
    assert {line[:2] for line in status.splitlines()} == letters
    assert mode != "auto" or said == ""


@pytest.mark.parametrize("mode", ["auto", "commit", "stage", "off"])
def test_stop_pauses_conversation_without_repository(bare: Path, mode: str) -> None:
    """Without a repository the conversation is paused; who asked for a commit is told."""
    id = begin(bare, "brainstorm", "Topic", "Hello.")
    done = cortext(bare, "stop", id, env={"CORTEXT_SESSIONS_GIT": mode})
    assert done.returncode == 0
    assert head_of(bare, id)["status"] == "paused"
    assert ("is not in a repository" in done.stderr) == (mode in ("commit", "stage"))
    assert len(stop_notes(done).splitlines()) == (mode in ("commit", "stage"))


@pytest.mark.parametrize("mode", ["auto", "commit"])
def test_stop_pauses_conversation_when_git_is_not_installed(
    committed_workspace: Path, tmp_path: Path, mode: str
) -> None:
    """Without the program the conversation is paused, and one line says why there is no commit."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {"PATH": str(empty), "CORTEXT_SESSIONS_GIT": mode}
    done = cortext(committed_workspace, "stop", id, env=env)
    assert (done.returncode, head_of(committed_workspace, id)["status"]) == (0, "paused")
    assert stop_notes(done) == "not recorded in git: git is not installed\n"
    assert _commits(committed_workspace) == 1


def test_stop_explains_missing_git_identity_and_next_stop_commits(
    committed_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says how to tell git; the conversation is paused; the next stop commits."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    git(committed_workspace, "config", "user.useConfigOnly", "true")
    with monkeypatch.context() as patch:
        for who in ("AUTHOR", "COMMITTER"):
            patch.delenv(f"GIT_{who}_NAME")
            patch.delenv(f"GIT_{who}_EMAIL")
        done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, head_of(committed_workspace, id)["status"]) == (0, "paused")
    assert "git config --global user.name" in done.stderr
    assert len(stop_notes(done).splitlines()) == 1
    assert _commits(committed_workspace) == 1
    ok(committed_workspace, "stop", id)
    assert _status(committed_workspace) == ""


def test_second_done_commits_after_git_failure(
    committed_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice to `stop again` leads somewhere for a completed conversation too."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    git(committed_workspace, "config", "user.useConfigOnly", "true")
    with monkeypatch.context() as patch:
        for who in ("AUTHOR", "COMMITTER"):
            patch.delenv(f"GIT_{who}_NAME")
            patch.delenv(f"GIT_{who}_EMAIL")
        ok(committed_workspace, "done", id)
    again = cortext(committed_workspace, "done", id)
    assert (again.returncode, again.stderr.startswith("error")) == (0, False), again.stderr
    assert head_of(committed_workspace, id)["status"] == "completed"
    assert _status(committed_workspace) == ""


def test_stop_names_ignored_session_files_and_commits_other_files(
    committed_workspace: Path,
) -> None:
    """`.session/` in .gitignore: the markdown is committed, and one line names what is not."""
    (committed_workspace / ".gitignore").write_text(".session/\n", encoding="utf-8")
    git(committed_workspace, "add", ".gitignore")
    git(committed_workspace, "commit", "-q", "-m", "ignore")
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    done = cortext(committed_workspace, "stop", id)
    assert done.returncode == 0
    assert _in_last_commit(committed_workspace) == _names(committed_workspace, id, "brainstorm.md")
    assert ".session/session.json" in done.stderr
    assert "ignored" in done.stderr
    assert _status(committed_workspace) == ""


def test_stop_makes_no_commit_when_git_ignores_every_file(committed_workspace: Path) -> None:
    """Nothing is committed, and that is said."""
    (committed_workspace / ".git/info/exclude").write_text("conversations/\n", encoding="utf-8")
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, "ignored by git" in done.stderr) == (0, True)
    assert (_commits(committed_workspace), _status(committed_workspace)) == (1, "")
    assert head_of(committed_workspace, id)["status"] == "paused"


def test_stop_makes_first_commit_of_empty_repository(bare: Path) -> None:
    """The first commit of a repository may be ours, and holds nothing else."""
    git(bare, "init", "-q", "-b", "main")
    id = begin(bare, "brainstorm", "Topic", "Hello.")
    ok(bare, "stop", id)
    files = ("brainstorm.md", ".session/session.json", ".session/messages.jsonl")
    assert git(bare, "ls-tree", "-r", "--name-only", "HEAD").split() == _names(bare, id, *files)


def test_stop_commits_to_current_head_and_moves_no_other_branch(
    committed_workspace: Path, tmp_path: Path
) -> None:
    """The commit goes where HEAD is; no other branch moves."""
    main = git(committed_workspace, "rev-parse", "main")
    git(committed_workspace, "checkout", "-q", "-b", "feature/other")
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    ok(committed_workspace, "stop", id)
    assert git(committed_workspace, "rev-parse", "feature/other~1") == main
    git(committed_workspace, "checkout", "-q", "--detach")
    say(committed_workspace, id, "More.")
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, "detached" in done.stderr) == (0, True)
    assert _status(committed_workspace) == ""
    tree = tmp_path / "tree"
    git(committed_workspace, "worktree", "add", "-q", "-b", "third", str(tree), "main")
    there = begin(tree, "plan", "There", "Hello.")
    ok(tree, "stop", there)
    assert _status(tree) == ""
    assert git(committed_workspace, "rev-parse", "third~1", "main") == main * 2


@pytest.mark.parametrize(("title", "verb"), [*zip(HOSTILE, cycle(["stop", "done"]))])
def test_hostile_title_stays_single_clean_line_in_commit_message(
    committed_workspace: Path, title: str, verb: str
) -> None:
    """A title is one clean line in the confirmation and in the commit; nothing of it runs."""
    id = begin(committed_workspace, "brainstorm", "Topic", f"Say {title}")
    change_head(committed_workspace, id, title=title)
    done = cortext(committed_workspace, verb, id, "--summary", f"sum {title}")
    assert done.returncode == 0, done.stderr
    bad = {chr(n) for n in (*range(32), *range(127, 160))} - {"\n"} | set("\u202e\u200b\u2060")
    assert not bad & set(done.stdout + done.stderr)
    assert len(done.stdout.splitlines()) == 6
    said = git(committed_workspace, "log", "-1", "--format=%B")
    assert not bad & set(said)
    assert said.splitlines()[0].startswith("Save session state: ")
    assert said.splitlines()[1:4] == ["", f"Conversation: {id}", f"Saved by: cortext {verb}"]
    assert (
        git(committed_workspace, "log", "-1", "--format=%(trailers:key=Signed-off-by)").strip()
        == ""
    )
    assert list(committed_workspace.rglob("owned")) == []


def test_stop_commits_in_workspace_of_conversation(
    committed_workspace: Path, tmp_path: Path
) -> None:
    """Found everywhere, committed where it is, by the settings that hold there."""
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    git(other, "init", "-q", "-b", "main")
    _first_commit(other)
    id = begin(other, "plan", "Far away", "Hello.")
    ok(committed_workspace, "stop", id)
    assert (_commits(committed_workspace), _commits(other)) == (1, 2)
    assert _status(other) == ""
    assert head_of(other, id)["status"] == "paused"


def test_stop_creates_and_commits_missing_session(committed_workspace: Path) -> None:
    """Stopping a folder whose `.session/` is gone makes one, and commits it."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    ok(committed_workspace, "stop", id)
    shutil.rmtree(folder_of(committed_workspace, id) / ".session")
    ok(committed_workspace, "stop", id)
    head = head_of(committed_workspace, id)
    assert (head["conversation_id"], head["status"]) == (id, "paused")
    assert _status(committed_workspace) == ""


@pytest.mark.parametrize("damage", [b'{"version": "1.0", "conv', b"", b"\0" * 200, b"[1]\n"])
def test_stop_refuses_damaged_session_json_and_changes_nothing(
    committed_workspace: Path, damage: bytes
) -> None:
    """One sentence names the file; nothing is changed, nothing committed; others still stop."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    other = begin(committed_workspace, "plan", "Other", "Hello.")
    head = folder_of(committed_workspace, id) / ".session/session.json"
    head.write_bytes(damage)
    lines = (head.parent / "messages.jsonl").read_bytes()
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, "Traceback" in done.stderr) == (5, False), done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [str(head) in line for line in errors] == [True]
    assert (head.read_bytes(), (head.parent / "messages.jsonl").read_bytes()) == (damage, lines)
    assert _commits(committed_workspace) == 1
    ok(committed_workspace, "stop", other)
    assert head_of(committed_workspace, other)["status"] == "paused"


def test_stop_names_damaged_line_and_keeps_every_byte(committed_workspace: Path) -> None:
    """A bad line hides itself only: it is named with file and number, and every byte stays."""
    id = begin(committed_workspace, "brainstorm", "Topic", "One.", "Two.", "Three.")
    path = folder_of(committed_workspace, id) / ".session/messages.jsonl"
    lines = path.read_bytes().split(b"\n")
    damaged = b"\n".join([lines[0], b'{"role": "us' + b"\0" * 9, *lines[2:]])
    path.write_bytes(damaged)
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, head_of(committed_workspace, id)["status"]) == (0, "paused")
    assert f"{path}, line 2" in done.stderr
    assert path.read_bytes() == damaged


def test_damaged_conversation_hint_names_no_python_method(committed_workspace: Path) -> None:
    """Who types commands is told a command, not the name of a Python method."""
    id = begin(committed_workspace, "brainstorm", "Topic", "One.", "Two.")
    (folder_of(committed_workspace, id) / ".session/session.json").write_bytes(b"{")
    done = cortext(committed_workspace, "stop", id)
    assert "hint: " in done.stderr
    assert "read()" not in done.stderr


def test_stop_succeeds_with_torn_last_line_and_keeps_its_bytes(committed_workspace: Path) -> None:
    """A last line that a crash cut off keeps nobody from stopping, and stays on disk."""
    id = begin(committed_workspace, "brainstorm", "Topic", "One.", "Two.")
    path = folder_of(committed_workspace, id) / ".session/messages.jsonl"
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": "Thr')
    done = cortext(committed_workspace, "stop", id)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert b'"content": "Thr' in b"".join(p.read_bytes() for p in path.parent.glob("messages*"))
    assert _status(committed_workspace) == ""


def test_stop_reports_missing_messages_file_and_keeps_session_json(
    committed_workspace: Path,
) -> None:
    """Without messages.jsonl: one sentence, or a stop that says so; the head is not lost."""
    id = begin(committed_workspace, "brainstorm", "Topic", "Hello.")
    session = folder_of(committed_workspace, id) / ".session"
    (session / "messages.jsonl").unlink()
    done = cortext(committed_workspace, "stop", id)
    assert "Traceback" not in done.stderr
    assert "messages.jsonl" in done.stderr
    assert json.loads((session / "session.json").read_bytes())["title"] == "Topic"


def test_stop_names_shell_command_after_slash_command(bare: Path) -> None:
    id = begin(bare, "plan", "later", "hello")
    shown = terminal(bare, ["stop", id]).text.splitlines()
    at = shown.index("You can continue later with /workspace.resume")
    assert shown[at + 1 : at + 3] == [f"In a shell: cortext resume {id}", ""]


def test_stop_names_shell_command_on_stderr_in_a_pipe(bare: Path) -> None:
    id = begin(bare, "plan", "later", "hello")
    done = cortext(bare, "stop", id)
    assert done.stderr == f"In a shell: cortext resume {id}\n"
    assert "You can continue later with /workspace.resume\n\nSummary: " in done.stdout


def test_done_names_shell_command_that_reopens(bare: Path) -> None:
    id = begin(bare, "plan", "later", "hello")
    assert cortext(bare, "done", id).stderr == f"In a shell: cortext resume {id} --reopen\n"


def test_stop_names_shell_command_for_conversation_without_messages(bare: Path) -> None:
    id = begin(bare, "plan", "later")
    assert cortext(bare, "stop", id).stderr == f"In a shell: cortext resume {id}\n"
