"""Every shape that a repository comes in: recorded right, or clearly refused."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.git.space import HEAD, MARKDOWN, NAMES, PLACE, Space


def test_record_makes_first_commit_of_empty_repository(plain_space: Space) -> None:
    """The first commit of all, on the branch that HEAD names; what is staged stays staged."""
    plain_space.init()
    (plain_space.root / "theirs.txt").write_text("x")
    plain_space.git("add", "theirs.txt")
    assert plain_space.record().outcome == "committed"
    assert plain_space.committed() == plain_space.paths
    assert plain_space.git("rev-list", "--count", "main") == "1\n"
    assert plain_space.status() == "A  theirs.txt\n"


@pytest.mark.parametrize("branch", ["topic/x", "日本語", "-x.y"])
def test_commit_moves_only_checked_out_branch(repository_space: Space, branch: str) -> None:
    """The branch that is checked out moves, and no other."""
    repository_space.git("update-ref", f"refs/heads/{branch}", "HEAD")
    repository_space.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    commit = repository_space.record().commit
    assert repository_space.git("rev-parse", f"refs/heads/{branch}").strip() == commit
    assert repository_space.git("log", "-1", "--format=%s", "main") == "theirs\n"


def test_commit_on_detached_head_is_noted(repository_space: Space) -> None:
    """It is committed, and said that no branch has it."""
    repository_space.git("checkout", "-q", "--detach")
    recorded = repository_space.record()
    assert recorded.outcome == "committed"
    assert recorded.note == "HEAD is detached, so no branch contains this commit"
    assert repository_space.git("rev-parse", "HEAD").strip() == recorded.commit
    assert repository_space.git("log", "-1", "--format=%s", "main") == "theirs\n"
    assert repository_space.record().note == ""


def test_commit_in_linked_worktree_leaves_main_worktree_unchanged(
    repository_space: Space, tmp_path: Path
) -> None:
    """It has a branch and an index of its own; the main one's are not touched."""
    (repository_space.root / "theirs.txt").write_text("staged in main\n")
    repository_space.git("add", "theirs.txt")
    main = repository_space.status()
    repository_space.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Space(tmp_path / "side")
    commit = side.record().commit
    assert repository_space.git("rev-parse", "side").strip() == commit
    assert (side.status(), repository_space.status()) == ("", main)
    assert repository_space.subject() == "theirs"


def test_commit_in_moved_worktree_is_refused_with_repair_hint(
    repository_space: Space, tmp_path: Path
) -> None:
    """Its repository has it elsewhere; git can repair that."""
    repository_space.git("worktree", "add", "-q", str(tmp_path / "side"))
    (tmp_path / "side").rename(tmp_path / "moved")
    side = Space(tmp_path / "moved")
    recorded = side.record()
    assert recorded.outcome == "refused"
    assert "git worktree repair" in recorded.note
    side.git("worktree", "repair", str(side.root))
    assert side.record().outcome == "committed"


def test_commit_in_submodule_workspace_succeeds(repository_space: Space, tmp_path: Path) -> None:
    """A workspace that is a submodule is the top of its own repository."""
    repository_space.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
              str(repository_space.root), "sub", at=_repository(tmp_path / "outer"))  # fmt: skip
    sub = Space(tmp_path / "outer/sub")
    assert sub.record().outcome == "committed"
    assert (sub.committed(), sub.status()) == (sub.paths, "")


def test_commit_mode_uses_nested_repository_of_conversations(repository_space: Space) -> None:
    """They belong to that one: auto leaves it alone, `commit` commits there."""
    _repository(repository_space.root / "conversations")
    assert repository_space.record().outcome == "not-root"
    assert repository_space.record("commit").outcome == "committed"
    assert repository_space.subject() == "theirs"
    inner = repository_space.git("log", "--format=%s", at=repository_space.root / "conversations")
    assert inner.startswith("Save session state")


def test_commit_leaves_out_files_of_nested_clone(repository_space: Space) -> None:
    """A clone that an agent made there: what is in it, however deep, is left out and named."""
    _repository(repository_space.folder / "clone")
    (repository_space.folder / "clone/src").mkdir()
    repository_space.write("clone/src/x.py", "x")
    recorded = repository_space.record("auto", *NAMES, "clone/src/x.py")
    assert recorded.paths == repository_space.committed() == repository_space.paths
    assert recorded.note.endswith(": clone/src/x.py")


def test_commit_does_not_replace_gitlink(repository_space: Space) -> None:
    """What the last commit has as a submodule is not replaced by files."""
    head = repository_space.git("rev-parse", "HEAD").strip()
    repository_space.git("update-index", "--add", "--cacheinfo", f"160000,{head},conversations")
    repository_space.git("commit", "-q", "-m", "gitlink")
    recorded = repository_space.record()
    assert recorded.outcome == "failed"
    assert "is in submodule 'conversations'" in recorded.note
    repository_space.git("rm", "-q", "--cached", "conversations")
    recorded = repository_space.record()
    assert recorded.outcome == "refused"
    assert "conversations is a submodule" in recorded.note
    assert repository_space.subject() == "gitlink"


@pytest.mark.parametrize("path", ["conversations", f"{PLACE}/{MARKDOWN}/below"])
def test_commit_refuses_file_and_folder_in_place_of_each_other(
    repository_space: Space, path: str
) -> None:
    """Recording would take other files out of git."""
    blob = repository_space.git("hash-object", "-w", "theirs.txt").strip()
    repository_space.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    repository_space.git("commit", "-q", "-m", "in the way")
    assert repository_space.record().outcome == "refused"
    assert repository_space.subject() == "in the way"
    assert path in repository_space.git("ls-files")


def test_record_finds_no_repository_in_bare_repository(
    repository_space: Space, tmp_path: Path
) -> None:
    """A conversation inside one, or inside the git folder itself, has no work tree."""
    repository_space.git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    assert Space(tmp_path / "bare.git").record("commit").outcome == "no-repository"
    repository_space.git("config", "core.bare", "true")
    recorded = repository_space.record()
    assert recorded.outcome == "no-repository"
    assert repository_space.record("commit").note.endswith(
        "is in a bare repository, which has no work tree"
    )


def test_commit_succeeds_with_separate_git_dir(plain_space: Space, tmp_path: Path) -> None:
    """A repository that was set apart on purpose."""
    plain_space.init("--separate-git-dir", str(tmp_path / "apart"))
    assert plain_space.record().outcome == "committed"
    assert plain_space.status() == ""


@pytest.mark.parametrize("how", ["file", "link"])
def test_commit_refuses_dot_git_of_another_repository(
    plain_space: Space, tmp_path: Path, how: str
) -> None:
    """A `.git` in an unpacked archive must not commit into a repository of the person's."""
    other = _repository(tmp_path / "other")
    if how == "file":
        (plain_space.root / ".git").write_text(f"gitdir: {other}/.git\n")
    else:
        (plain_space.root / ".git").symlink_to(other / ".git")
    recorded = plain_space.record("commit")
    assert recorded.outcome == "refused"
    assert str(other) in recorded.note
    assert not (other / ".git/index").exists()


def test_commit_refuses_dot_git_of_another_worktree(
    repository_space: Space, tmp_path: Path
) -> None:
    """The same by way of a linked work tree's folder."""
    repository_space.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    fake = Space(tmp_path / "fake")
    shutil.copy(tmp_path / "side/.git", fake.root / ".git")
    assert fake.record("commit").outcome == "refused"
    assert repository_space.git("log", "-1", "--format=%s", "side") == "theirs\n"


@pytest.mark.parametrize("mode", ["auto", "commit"])
def test_commit_refuses_core_worktree_of_other_folder(
    repository_space: Space, tmp_path: Path, mode: str
) -> None:
    """`core.worktree` points to a folder that the conversation is not in."""
    (tmp_path / "elsewhere").mkdir()
    repository_space.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    recorded = repository_space.record(mode)
    assert recorded.outcome == "refused"
    assert str(tmp_path / "elsewhere") in recorded.note
    assert os.listdir(tmp_path / "elsewhere") == []
    repository_space.git("config", "core.worktree", str(tmp_path))
    assert repository_space.record(mode).outcome == "refused"
    repository_space.git("config", "--unset", "core.worktree")
    assert repository_space.subject() == "theirs"


def test_commit_succeeds_in_symlinked_workspace(repository_space: Space, tmp_path: Path) -> None:
    """The workspace is reached by a link."""
    (tmp_path / "link").symlink_to(repository_space.root)
    linked = Space.__new__(Space)
    linked.root, linked.place, linked.folder = tmp_path / "link", PLACE, tmp_path / "link" / PLACE
    assert linked.record().paths == repository_space.paths
    assert repository_space.status() == ""


@pytest.mark.parametrize("link", [HEAD, ".session"])
def test_commit_follows_no_link_in_conversation_folder(
    repository_space: Space, tmp_path: Path, link: str
) -> None:
    """A link in the place of a file or folder: left out, named, its target's text in no object."""
    target = tmp_path / "secret"
    if link == HEAD:
        target.write_text("a secret of this machine")
        (repository_space.folder / HEAD).unlink()
    else:
        shutil.move(repository_space.folder / ".session", target)
        (target / "session.json").write_text("a secret of this machine")
    (repository_space.folder / link).symlink_to(target)
    recorded = repository_space.record()
    assert recorded.outcome == "committed"
    assert f"{PLACE}/{HEAD}" not in recorded.paths
    assert HEAD in recorded.note
    assert "secret of this machine" not in repository_space.git(
        "cat-file", "--batch", "--batch-all-objects", check=False
    )


def test_commit_refuses_pipe_in_place_of_file(repository_space: Space) -> None:
    """Nothing waits for a writer that never comes."""
    (repository_space.folder / HEAD).unlink()
    os.mkfifo(repository_space.folder / HEAD)
    recorded = repository_space.record("auto", HEAD)
    assert (recorded.outcome, recorded.paths) == ("refused", [])
    assert HEAD in recorded.note


def test_commit_succeeds_in_sha256_repository(plain_space: Space) -> None:
    """Ids are longer; commits, deletions alone and staging work."""
    plain_space.init("--object-format=sha256")
    assert len(plain_space.record().commit) == 64
    (plain_space.folder / HEAD).unlink()
    assert plain_space.record().paths == [f"{PLACE}/{HEAD}"]
    assert plain_space.status() == ""
    plain_space.git("fsck", "--strict")


def test_commit_keeps_split_index(repository_space: Space) -> None:
    """An index in two files stays one."""
    repository_space.git("config", "core.splitIndex", "true")
    repository_space.git("update-index", "--split-index")
    (repository_space.root / "theirs.txt").write_text("two\n")
    repository_space.git("add", "theirs.txt")
    assert repository_space.record().outcome == "committed"
    assert repository_space.status() == "M  theirs.txt\n"
    assert list((repository_space.root / ".git").glob("sharedindex.*"))


@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
def test_commit_in_sparse_checkout_keeps_files_outside_cone(
    repository_space: Space, sparse_index: str
) -> None:
    """Files outside the cone are not deleted; files of ours outside the cone are recorded."""
    for folder in ("in", "out"):
        (repository_space.root / folder).mkdir()
        (repository_space.root / folder / "x").write_text("x")
    repository_space.git("add", "in", "out")
    repository_space.git("commit", "-q", "-m", "two folders")
    repository_space.git("sparse-checkout", "set", "--cone", sparse_index, "in")
    assert not (repository_space.root / "out").exists()
    assert repository_space.record().outcome == "committed"
    assert repository_space.committed() == repository_space.paths
    assert repository_space.status() == ""
    assert "out/x" in repository_space.git("ls-files")
    repository_space.git("sparse-checkout", "reapply")
    assert not repository_space.folder.exists()
    assert repository_space.record().outcome == "refused"
    assert (
        repository_space.git("ls-tree", "-r", "--name-only", "HEAD", PLACE).splitlines()
        == repository_space.paths
    )


def test_commit_accepts_workspace_root_as_conversation_folder(repository_space: Space) -> None:
    """A conversation may be the workspace's own folder."""
    top = Space(repository_space.root, ".")
    recorded = top.record()
    assert recorded.paths == sorted(NAMES)
    assert top.status() == "".join(f"?? {path}\n" for path in repository_space.paths)


def test_commit_ignores_replaced_objects(repository_space: Space) -> None:
    """A tree that `git replace` shows differently does not end up in the commit."""
    real = repository_space.git("rev-parse", "HEAD^{tree}").strip()
    empty = repository_space.git("mktree").strip()
    repository_space.git("replace", real, empty)
    repository_space.record()
    listed = repository_space.git(
        "--no-replace-objects", "ls-tree", "-r", "--name-only", "HEAD"
    ).split()
    assert "theirs.txt" in listed


def _repository(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    return path
