"""Repositories, disks and programs that do not do what they should: one sentence, nothing lost."""

import os
import subprocess

import pytest

from cortext.git import commit_conversation as git_module
from cortext.git import repository, run_git
from tests.git.space import Space


def test_record_reports_broken_repository_in_one_sentence(repository_space: Space) -> None:
    """Whatever git cannot read becomes one sentence in its words."""
    config = repository_space.root / ".git/config"
    kept = config.read_text()
    config.write_text(kept + "[broken\n")
    assert "bad config line" in repository_space.record().note
    config.write_text(kept.replace("repositoryformatversion = 0", "repositoryformatversion = 99"))
    assert repository_space.record().outcome == "failed"
    config.write_text(kept)
    (repository_space.root / ".git/index").write_bytes(b"DIRC\0\0\0\x63 not an index")
    recorded = repository_space.record()
    assert (recorded.outcome, recorded.note.count("\n")) == ("failed", 0)
    assert repository_space.subject() == "theirs"


@pytest.mark.parametrize("kind", ["commit", "tree", "branch"])
def test_record_makes_no_commit_on_damaged_head(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """What HEAD had is never replaced by a commit that lacks it."""
    monkeypatch.setattr(git_module, "_RETRY_SECONDS", 0.0)
    branch = repository_space.root / ".git/refs/heads/main"
    before = branch.read_text()
    if kind == "branch":
        branch.write_text(before := "0" * 7 + "\n")
    else:
        oid = repository_space.git(
            "rev-parse", "HEAD" if kind == "commit" else "HEAD^{tree}"
        ).strip()
        (repository_space.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    assert repository_space.record().outcome in ("failed", "busy")
    assert branch.read_text() == before


def test_record_reports_unwritable_object_store(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where a folder of objects should be stands for any disk that says no."""
    objects = repository_space.root / ".git/objects"
    for name in [f"{number:02x}" for number in range(256)]:
        if not (objects / name).exists():
            (objects / name).touch()
    recorded = repository_space.record()
    assert recorded.outcome == "failed"
    assert recorded.note.startswith("not recorded in git: git hash-object failed: ")
    assert repository_space.subject() == "theirs"


def test_record_kills_git_that_hangs(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe in the place of a file that git reads; no process and no lock is left."""
    monkeypatch.setattr(run_git, "TIMEOUT", 0.3)
    os.mkfifo(repository_space.root / "pipe")
    repository_space.git("config", "core.excludesFile", str(repository_space.root / "pipe"))
    started: list[int] = []
    communicate = run_git._communicate

    def note_pid(process: subprocess.Popen[bytes], *rest: object) -> run_git.GitResult:
        started.append(process.pid)
        return communicate(process, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(run_git, "_communicate", note_pid)
    recorded = repository_space.record()
    assert recorded.outcome == "failed"
    assert "check-ignore failed: no result within 0.3 s" in recorded.note
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert repository_space.locks == []


def test_record_ignores_git_found_by_relative_path(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program called git in a workspace is not git, also with `.` on the PATH."""
    fake = repository_space.root / "git"
    fake.write_text(f"#!/bin/sh\ntouch {repository_space.root}/ran\n")
    fake.chmod(0o755)
    monkeypatch.chdir(repository_space.root)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert repository_space.record().outcome == "committed"
    assert not (repository_space.root / "ran").exists()
    monkeypatch.setenv("PATH", ".:")
    assert repository_space.record().outcome == "no-git"


def test_has_git_above_finds_repository_without_running_git(plain_space: Space) -> None:
    """Where auto has nothing to do, it starts nothing."""
    assert not repository.has_git_above(str(plain_space.root))
    plain_space.init()
    assert repository.has_git_above(str(plain_space.folder))
