"""One commit holds the conversation's files, and nothing else is touched."""

import os
from pathlib import Path

import pytest

from cortext.errors import CortextError
from tests.git.space import HEAD, ID, MARKDOWN, MESSAGES, NAMES, PLACE, Space


def test_commit_holds_conversation_files_as_on_disk(repository_space: Space) -> None:
    """Markdown and session, as they are on disk; the work tree is clean after it."""
    recorded = repository_space.record()
    assert (recorded.outcome, recorded.note) == ("committed", "")
    assert recorded.commit == repository_space.git("rev-parse", "HEAD").strip()
    assert recorded.paths == repository_space.committed() == repository_space.paths
    assert [repository_space.content(name) for name in NAMES] == [
        f"{name}, first\n" for name in NAMES
    ]
    assert repository_space.status() == ""
    assert repository_space.git("rev-parse", "--abbrev-ref", "HEAD") == "main\n"


def test_commit_message_names_title_conversation_and_verb(repository_space: Space) -> None:
    """Subject, the conversation's id and the verb; the reflog tells too."""
    repository_space.record(verb="done")
    said = repository_space.git("log", "-1", "--format=%B").rstrip("\n")
    assert said == f"Save session state: API design\n\nConversation: {ID}\nSaved by: cortext done"
    assert "cortext done: save a conversation" in repository_space.git("reflog", "-1")
    assert (
        repository_space.git("log", "-1", "--format=%an <%ae>")
        == "A Tester <tester@example.invalid>\n"
    )


def test_commit_of_session_only_change_has_session_update_subject(repository_space: Space) -> None:
    """When the markdown is as it was, the subject says so; when it is not, not."""
    repository_space.record()
    repository_space.write(HEAD, "second\n")
    assert repository_space.record().paths == [f"{PLACE}/{HEAD}"]
    assert repository_space.subject() == "session update: API design"
    repository_space.write(HEAD, "third\n")
    repository_space.write(MARKDOWN, "third\n")
    repository_space.record()
    assert repository_space.subject() == "Save session state: API design"


def test_record_without_change_makes_no_commit(repository_space: Space) -> None:
    """A second stop without a change leaves HEAD where it is."""
    first = repository_space.record().commit
    again = repository_space.record()
    assert (again.outcome, again.commit, again.paths) == ("unchanged", "", [])
    assert repository_space.git("rev-parse", "HEAD").strip() == first


def test_commit_keeps_staged_and_unstaged_changes_of_user(repository_space: Space) -> None:
    """Staged, half staged, removed, renamed and unstaged changes of other files are as before."""
    for name in ("half", "gone", "moved", "loose"):
        (repository_space.root / name).write_text("1\n")
    repository_space.git("add", ".", ":!conversations")
    repository_space.git("commit", "-q", "-m", "more")
    (repository_space.root / "new").write_text("new\n")
    (repository_space.root / "half").write_text("1\n2\n")
    repository_space.git("add", "new", "half")
    (repository_space.root / "half").write_text("1\n2\n3\n")
    repository_space.git("rm", "-q", "gone")
    repository_space.git("mv", "moved", "moved2")
    (repository_space.root / "loose").write_text("2\n")
    (repository_space.root / "intended").write_text("x")
    repository_space.git("add", "-N", "intended")
    before = repository_space.git("status", "--porcelain", "--", ":!conversations")
    staged = repository_space.git("diff", "--cached", "-p")
    assert "half" in staged
    repository_space.record()
    assert repository_space.committed() == repository_space.paths
    assert repository_space.status() == before
    assert repository_space.git("diff", "--cached", "-p") == staged


def test_commit_excludes_other_files_of_conversation_folder(repository_space: Space) -> None:
    """Only what is named: no locks, no temp files."""
    for name in (".session/x.lock", ".session/.session.json.0123456789abcdef.tmp", "notes.txt"):
        repository_space.write(name, "x")
    repository_space.record()
    assert repository_space.committed() == repository_space.paths


def test_commit_takes_file_on_disk_over_staged_version(repository_space: Space) -> None:
    """As in `git commit FILE`."""
    repository_space.write(MARKDOWN, "staged\n")
    repository_space.git("add", f"{PLACE}/{MARKDOWN}")
    repository_space.write(MARKDOWN, "on disk\n")
    repository_space.record()
    assert repository_space.content(MARKDOWN) == "on disk\n"
    assert repository_space.status() == ""


def test_commit_includes_files_staged_before(repository_space: Space) -> None:
    """An index that is already right is not in the way."""
    repository_space.git("add", PLACE)
    assert repository_space.record().outcome == "committed"
    assert repository_space.status() == ""


def test_commit_records_deleted_files(repository_space: Space) -> None:
    """If git had them; what git never had and is not there is no matter."""
    repository_space.record()
    for name in (HEAD, MESSAGES):
        (repository_space.folder / name).unlink()
    (repository_space.folder / ".session").rmdir()
    recorded = repository_space.record("auto", *NAMES, ".session/never")
    assert recorded.paths == sorted(f"{PLACE}/{name}" for name in (HEAD, MESSAGES))
    listed = repository_space.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert listed == [f"{PLACE}/{MARKDOWN}", "theirs.txt"]
    assert repository_space.status() == ""


def test_commit_of_deleted_folder_leaves_no_empty_tree(repository_space: Space) -> None:
    """No empty trees are left in the commit."""
    repository_space.record()
    for name in NAMES:
        (repository_space.folder / name).unlink()
    os.removedirs(repository_space.folder / ".session")
    assert repository_space.record().outcome == "committed"
    assert repository_space.git("ls-tree", "-r", "-t", "--name-only", "HEAD") == "theirs.txt\n"
    assert repository_space.status() == ""


def test_commit_records_private_files_with_mode_100644(repository_space: Space) -> None:
    """0600 on disk is 100644 in git, and status does not mind."""
    for name in NAMES:
        (repository_space.folder / name).chmod(0o600)
    repository_space.record()
    modes = {
        row.split()[0] for row in repository_space.git("ls-tree", "-r", "HEAD", PLACE).splitlines()
    }
    assert modes == {"100644"}
    assert repository_space.status() == ""


def test_commit_leaves_out_and_names_ignored_files(repository_space: Space) -> None:
    """`.session/` in .gitignore: the markdown alone is committed."""
    (repository_space.root / ".gitignore").write_text(".session/\n")
    recorded = repository_space.record()
    assert recorded.outcome == "committed"
    assert recorded.ignored == sorted(f"{PLACE}/{name}" for name in (HEAD, MESSAGES))
    assert repository_space.committed() == [f"{PLACE}/{MARKDOWN}"]
    assert recorded.note == f"ignored by git, so not recorded: {MESSAGES}, {HEAD}"
    assert repository_space.subject() == "Save conversation: API design"


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude", "conversations/.gitignore"])
def test_record_makes_no_commit_when_all_files_are_ignored(
    repository_space: Space, where: str
) -> None:
    """No commit, and a note; wherever git reads it from."""
    (repository_space.root / where).write_text("2026-*/\n")
    head = repository_space.git("rev-parse", "HEAD")
    recorded = repository_space.record()
    assert (recorded.outcome, recorded.ignored) == ("ignored", repository_space.paths)
    assert "ignored by git" in recorded.note
    assert repository_space.git("rev-parse", "HEAD") == head


def test_commit_includes_ignored_file_while_git_tracks_file(repository_space: Space) -> None:
    """git goes on with what it tracks, and so do we; until it is taken out of git."""
    repository_space.record()
    (repository_space.root / ".gitignore").write_text(".session/\n")
    repository_space.write(HEAD, "second\n")
    assert repository_space.record().paths == [f"{PLACE}/{HEAD}"]
    repository_space.git("rm", "-r", "-q", "--cached", f"{PLACE}/.session")
    repository_space.write(HEAD, "third\n")
    staged = repository_space.git("diff", "--cached", "--name-status")
    assert repository_space.record().outcome == "unchanged"
    assert repository_space.git("diff", "--cached", "--name-status") == staged


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_commit_leaves_out_assume_unchanged_and_skip_worktree_files(
    repository_space: Space, flag: str
) -> None:
    """The person's word to git counts, present or not."""
    repository_space.record()
    repository_space.git("update-index", flag, f"{PLACE}/{HEAD}")
    repository_space.write(HEAD, "second\n")
    repository_space.write(MESSAGES, "second\n")
    recorded = repository_space.record()
    assert recorded.paths == [f"{PLACE}/{MESSAGES}"]
    assert HEAD in recorded.note
    (repository_space.folder / HEAD).unlink()
    assert repository_space.record().outcome == "unchanged"
    assert repository_space.content(HEAD) == f"{HEAD}, first\n"


def test_stage_mode_changes_only_index(repository_space: Space) -> None:
    """HEAD stays; a second time there is nothing to do; a file that is gone is staged as gone."""
    head = repository_space.git("rev-parse", "HEAD")
    recorded = repository_space.record("stage")
    assert (recorded.outcome, recorded.commit, recorded.paths) == (
        "staged",
        "",
        repository_space.paths,
    )
    assert repository_space.git("rev-parse", "HEAD") == head
    assert repository_space.status() == "".join(f"A  {path}\n" for path in repository_space.paths)
    assert repository_space.record("stage").outcome == "unchanged"
    (repository_space.folder / HEAD).unlink()
    assert repository_space.record("stage").paths == [f"{PLACE}/{HEAD}"]
    assert HEAD not in repository_space.git("ls-files")


def test_off_mode_changes_nothing(repository_space: Space) -> None:
    """Not even a look."""
    assert repository_space.record("off").outcome == "off"
    assert repository_space.status() == "".join(f"?? {path}\n" for path in repository_space.paths)


def test_auto_mode_does_not_commit_into_larger_repository(tmp_path: Path) -> None:
    """A workspace below the top: nothing is committed, nothing is said; `commit` does it."""
    outer = Space(tmp_path / "outer", f"sub/work/{PLACE}").begin()
    inner = Space.__new__(Space)
    inner.root, inner.folder = outer.root / "sub/work", outer.folder
    inner.place = PLACE
    head = outer.git("rev-parse", "HEAD")
    assert inner.record()[:] == ("not-root", "", [], [], "")
    assert outer.git("rev-parse", "HEAD") == head
    assert inner.record("commit").paths == outer.paths
    assert outer.committed() == outer.paths
    assert outer.status() == ""


def test_record_without_repository_hints_git_init_only_in_commit_mode(plain_space: Space) -> None:
    """Quiet by itself; told to commit, it says what is missing."""
    assert plain_space.record()[:] == ("no-repository", "", [], [], "")
    recorded = plain_space.record("commit")
    assert recorded.outcome == "no-repository"
    assert "git init" in recorded.note


def test_record_without_git_notes_git_is_not_installed(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A repository without git to serve it is worth a note."""
    monkeypatch.setenv("PATH", str(tmp_path))
    recorded = repository_space.record()
    assert recorded.outcome == "no-git"
    assert recorded.note == "not recorded in git: git is not installed"


def test_unknown_mode_is_rejected_with_list_of_modes(repository_space: Space) -> None:
    """One sentence and the modes there are."""
    with pytest.raises(CortextError, match="sometimes") as caught:
        repository_space.record("sometimes")
    assert "auto, commit, stage, off" in caught.value.hint


@pytest.mark.parametrize("name", ["../other/x", "../../../theirs.txt", ".", ".session/.GIT/x"])
def test_record_rejects_file_outside_conversation_folder(
    repository_space: Space, name: str
) -> None:
    """What is not the conversation's is never recorded in its name."""
    with pytest.raises(CortextError, match="not a file of the conversation"):
        repository_space.record("commit", MARKDOWN, name)
    assert repository_space.subject() == "theirs"


def test_record_stores_no_object_when_allow_refuses_file(repository_space: Space) -> None:
    """Each file is asked about by the very bytes that git would get; one no, and it has none."""
    asked: dict[str, bytes] = {}

    def allow(name: str, data: bytes) -> bool:
        asked[name] = data
        return name != MARKDOWN

    before = repository_space.git("count-objects")
    done = repository_space.record("commit", allow=allow)
    assert (done.outcome, [Path(path).name for path in done.paths]) == ("not-allowed", [MARKDOWN])
    assert asked[MARKDOWN] == (repository_space.folder / MARKDOWN).read_bytes()
    assert repository_space.git("count-objects") == before
    assert repository_space.record("commit", allow=lambda name, data: True).outcome == "committed"
