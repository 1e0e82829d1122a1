"""Repositories, disks and programs that do not do what they should: one sentence, nothing lost."""

import os
import subprocess

import pytest

from cortext.git import record as git_module
from cortext.git import repository, run_git
from tests.git.space import Space


def test_broken_repositories(space: Space) -> None:
    """Whatever git cannot read becomes one sentence in its words."""
    config = space.root / ".git/config"
    kept = config.read_text()
    config.write_text(kept + "[broken\n")
    assert "bad config line" in space.record().note
    config.write_text(kept.replace("repositoryformatversion = 0", "repositoryformatversion = 99"))
    assert space.record().outcome == "failed"
    config.write_text(kept)
    (space.root / ".git/index").write_bytes(b"DIRC\0\0\0\x63 not an index")
    recorded = space.record()
    assert (recorded.outcome, recorded.note.count("\n")) == ("failed", 0)
    assert space.subject() == "theirs"


@pytest.mark.parametrize("kind", ["commit", "tree", "branch"])
def test_damaged_head(space: Space, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What HEAD had is never replaced by a commit that lacks it."""
    monkeypatch.setattr(git_module, "_PATIENCE", 0.0)
    branch = space.root / ".git/refs/heads/main"
    before = branch.read_text()
    if kind == "branch":
        branch.write_text(before := "0" * 7 + "\n")
    else:
        oid = space.git("rev-parse", "HEAD" if kind == "commit" else "HEAD^{tree}").strip()
        (space.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    assert space.record().outcome in ("failed", "busy")
    assert branch.read_text() == before


def test_read_only_object_store(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where a folder of objects should be stands for any disk that says no."""
    objects = space.root / ".git/objects"
    for name in [f"{number:02x}" for number in range(256)]:
        if not (objects / name).exists():
            (objects / name).touch()
    recorded = space.record()
    assert recorded.outcome == "failed"
    assert recorded.note.startswith("not recorded in git: git hash-object failed: ")
    assert space.subject() == "theirs"


def test_git_that_hangs_is_ended(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe in the place of a file that git reads; no process and no lock is left."""
    monkeypatch.setattr(run_git, "TIMEOUT", 0.3)
    os.mkfifo(space.root / "pipe")
    space.git("config", "core.excludesFile", str(space.root / "pipe"))
    started: list[int] = []
    communicate = run_git._communicate

    def note_pid(process: subprocess.Popen[bytes], *rest: object) -> run_git.Result:
        started.append(process.pid)
        return communicate(process, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(run_git, "_communicate", note_pid)
    recorded = space.record()
    assert recorded.outcome == "failed"
    assert "check-ignore failed: it took longer than 0.3 s" in recorded.note
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert space.locks == []


def test_git_is_found_only_by_absolute_paths(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called git in a workspace is not git, also with `.` on the PATH."""
    fake = space.root / "git"
    fake.write_text(f"#!/bin/sh\ntouch {space.root}/ran\n")
    fake.chmod(0o755)
    monkeypatch.chdir(space.root)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert space.record().outcome == "committed"
    assert not (space.root / "ran").exists()
    monkeypatch.setenv("PATH", ".:")
    assert space.record().outcome == "no-git"


def test_looking_for_a_repository_runs_no_git(plain_space: Space) -> None:
    """Where auto has nothing to do, it starts nothing."""
    assert not repository.has_git_above(str(plain_space.root))
    plain_space.init()
    assert repository.has_git_above(str(plain_space.folder))
