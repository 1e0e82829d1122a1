"""When it is not the time, or not the place: nothing changes, and a note says what to do."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from cortext.git import commit_conversation as git_module
from cortext.git import git_index
from tests.git.space import HEAD, MARKDOWN, PLACE, Space


def _diverge(space: Space) -> None:
    """A branch `side` that conflicts with main in theirs.txt."""
    space.git("checkout", "-q", "-b", "side")
    (space.root / "theirs.txt").write_text("side\n")
    space.git("commit", "-q", "-a", "-m", "side")
    space.git("checkout", "-q", "main")
    (space.root / "theirs.txt").write_text("main\n")
    space.git("commit", "-q", "-a", "-m", "main")


@pytest.mark.parametrize("mode", ["auto", "stage"])
@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["merge", "side"], "a merge"),
        (["rebase", "side"], "a rebase"),
        (["rebase", "--apply", "side"], "a rebase"),
        (["cherry-pick", "side"], "a cherry-pick"),
        (["revert", "HEAD~1", "--no-edit"], "a revert"),
        (["bisect", "start"], "a bisection"),
    ],
)
def test_record_is_refused_during_merge_rebase_or_bisect(
    repository_space: Space, command: list[str], what: str, mode: str
) -> None:
    """A merge, rebase and the like are finished first; after that the same stop commits."""
    _diverge(repository_space)
    repository_space.git(*command, check=False)
    before = (repository_space.git("rev-parse", "HEAD"), repository_space.status())
    recorded = repository_space.record(mode)
    assert recorded.outcome == "busy"
    assert recorded.note == (
        f"not recorded in git: {what} is in progress; finish it, then stop again"
    )
    assert (repository_space.git("rev-parse", "HEAD"), repository_space.status()) == before
    repository_space.git(
        *(["bisect", "reset"] if what == "a bisection" else [command[0], "--abort"])
    )
    assert repository_space.record().outcome == "committed"


def test_merge_abort_after_refused_record_keeps_conversation_files(repository_space: Space) -> None:
    """Had we staged them, `git merge --abort` would have deleted them."""
    _diverge(repository_space)
    repository_space.git("merge", "side", check=False)
    repository_space.record()
    repository_space.git("merge", "--abort")
    assert (repository_space.folder / MARKDOWN).read_text() == f"{MARKDOWN}, first\n"


def test_record_refuses_conversation_file_with_conflict(repository_space: Space) -> None:
    """Without a merge in progress too, as after `git stash pop`."""
    repository_space.record()
    repository_space.write(HEAD, "stashed\n")
    repository_space.git("stash", "-q")
    repository_space.write(HEAD, "committed\n")
    repository_space.record()
    repository_space.git("stash", "pop", check=False)
    recorded = repository_space.record()
    assert recorded.outcome == "busy"
    assert f"{PLACE}/{HEAD} has a conflict" in recorded.note


def test_commit_keeps_conflict_in_other_file_unresolved(repository_space: Space) -> None:
    """Somebody's unresolved file stays unresolved."""
    (repository_space.root / "theirs.txt").write_text("stashed\n")
    repository_space.git("stash", "-q")
    (repository_space.root / "theirs.txt").write_text("committed\n")
    repository_space.git("commit", "-q", "-a", "-m", "x")
    repository_space.git("stash", "pop", check=False)
    before = repository_space.git("ls-files", "-s", "theirs.txt")
    assert repository_space.record().outcome == "committed"
    assert repository_space.git("ls-files", "-s", "theirs.txt") == before
    assert before.count("theirs.txt") == 3


def test_record_reports_locked_index_and_keeps_lock(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a short wait, busy, with the file to look at; the lock is not ours to remove."""
    monkeypatch.setattr(git_index, "WAIT", 0.05)
    lock = repository_space.root / ".git/index.lock"
    lock.touch()
    recorded = repository_space.record()
    assert recorded.outcome == "busy"
    assert str(lock) in recorded.note
    assert lock.exists()
    assert repository_space.subject() == "theirs"


def test_record_waits_for_index_lock_to_go_away(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another git at work for a moment is no obstacle."""
    monkeypatch.setattr(git_index, "WAIT", 60)
    lock = repository_space.root / ".git/index.lock"
    lock.touch()
    looked = threading.Event()
    exists = os.path.lexists

    def look(path: str) -> bool:
        if str(path).endswith("index.lock"):
            looked.set()
        return exists(path)

    monkeypatch.setattr(git_index.os.path, "lexists", look)
    thread = threading.Thread(target=lambda: looked.wait(30) and lock.unlink())
    thread.start()
    recorded = repository_space.record()
    thread.join()
    assert recorded.outcome == "committed"


def test_commit_stands_when_index_is_locked_afterwards(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit stands; the note has the command that brings the index in step."""
    monkeypatch.setattr(git_index, "WAIT", 0.05)
    lock = repository_space.root / ".git/index.lock"
    move = git_module._move_head

    def move_and_lock(*args: object) -> None:
        move(*args)  # type: ignore[arg-type]
        lock.touch()

    monkeypatch.setattr(git_module, "_move_head", move_and_lock)
    recorded = repository_space.record()
    assert recorded.outcome == "committed"
    assert repository_space.git("rev-parse", "HEAD").strip() == recorded.commit
    lock.unlink()
    command = recorded.note.partition("; then run `")[2].rstrip("`")
    assert command == f"git reset -q -- {repository_space.folder}"
    subprocess.run(command.split(), cwd=repository_space.root, check=True)
    assert repository_space.status() == ""


def test_record_reports_locked_branch_and_leaves_index_unchanged(repository_space: Space) -> None:
    """Another git about to move the branch; the index is as it was."""
    (repository_space.root / ".git/refs/heads/main.lock").touch()
    recorded = repository_space.record()
    assert recorded.outcome == "busy"
    assert "main.lock" in recorded.note
    assert repository_space.status() == "".join(f"?? {path}\n" for path in repository_space.paths)


def test_commit_keeps_concurrent_commit_on_branch(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody commits between our look and our commit: both commits are there."""
    move = git_module._move_head
    moved: list[str] = []

    def move_late(*args: object) -> None:
        if not moved:
            moved.append(repository_space.git("commit", "-q", "--allow-empty", "-m", "meanwhile"))
        move(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(git_module, "_move_head", move_late)
    assert repository_space.record().outcome == "committed"
    said = repository_space.git("log", "--format=%s").splitlines()
    assert said == ["Save session state: API design", "meanwhile", "theirs"]


def test_record_gives_up_when_head_keeps_moving(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is an end to trying again."""
    monkeypatch.setattr(git_module, "_RETRY_SECONDS", 0.0)
    move = git_module._move_head

    def move_late(*args: object) -> None:
        repository_space.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
        move(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(git_module, "_move_head", move_late)
    assert repository_space.record().outcome == "busy"
    assert repository_space.subject() == "meanwhile"


@pytest.mark.parametrize(
    "config",
    ["[user]\nuseConfigOnly = true\n", "[user]\nname =\nemail = a@b\n",
     "[user]\nname = ,.\nemail = a@b\n", "[user]\nname = A\nuseConfigOnly = true\n"],
)  # fmt: skip
def test_record_hints_git_config_when_identity_is_missing(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: str
) -> None:
    """git does not know who commits: what to type is in the note; nothing is staged."""
    for name in [name for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        monkeypatch.delenv(name)
    (tmp_path / "gitconfig").write_text(config)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    recorded = repository_space.record()
    assert recorded.outcome == "no-identity"
    assert "git config --global user.name" in recorded.note
    assert "git config --global user.email" in recorded.note
    assert repository_space.status() == "".join(f"?? {path}\n" for path in repository_space.paths)


def test_commit_inside_gemini_uses_identity_of_user(
    repository_space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI hides a person's configuration from git; their commit has their name."""
    home = tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_NAME")
        monkeypatch.delenv(f"GIT_{who}_EMAIL")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GEMINI_CLI", "1")
    assert repository_space.record().outcome == "committed"
    assert repository_space.git("log", "-1", "--format=%an") == "Ada\n"


def test_commit_uses_identity_of_repository(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who commits is who git says, here by the repository's own configuration."""
    for name in [name for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        monkeypatch.delenv(name)
    repository_space.git("config", "user.name", "Émilie")
    repository_space.git("config", "user.email", "e@example.invalid")
    repository_space.record()
    assert (
        repository_space.git("log", "-1", "--format=%an %cn %ae")
        == "Émilie Émilie e@example.invalid\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="kernel: only root can give files away")
def test_record_hints_safe_directory_for_repository_of_another_user(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git's own protection is kept, and the way out of it named."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    for path in (repository_space.root, repository_space.root / ".git"):
        os.chown(path, 12345, 12345)
    recorded = repository_space.record()
    assert recorded.outcome == "not-ours"
    assert f"git config --global --add safe.directory {repository_space.root}" in recorded.note
    for path in (repository_space.root, repository_space.root / ".git"):
        os.chown(path, 0, 0)
    assert repository_space.subject() == "theirs"


@pytest.mark.parametrize("required", ["true", "1", "yes please"])
def test_record_refuses_file_with_required_filter(repository_space: Space, required: str) -> None:
    """git-crypt and its like: without them the text would be public; so nothing is recorded."""
    (repository_space.root / ".gitattributes").write_text("*.jsonl filter=crypt\n")
    repository_space.git("config", "filter.crypt.clean", "false")
    repository_space.git("config", "filter.crypt.required", required)
    recorded = repository_space.record()
    assert recorded.outcome == "refused"
    assert "filter crypt" in recorded.note
    objects = repository_space.git("cat-file", "--batch-all-objects", "--batch-check")
    assert len(objects.splitlines()) == 3


def test_commit_ignores_required_filter_of_other_files(repository_space: Space) -> None:
    """What is required for other files, or not required, is no obstacle."""
    (repository_space.root / ".gitattributes").write_text(
        "*.png filter=lfs\n*.md filter=optional\n"
    )
    repository_space.git("config", "filter.lfs.required", "true")
    repository_space.git("config", "filter.optional.clean", "false")
    repository_space.git("config", "filter.optional.required", "off")
    assert repository_space.record().outcome == "committed"
    assert repository_space.content(MARKDOWN) == f"{MARKDOWN}, first\n"
