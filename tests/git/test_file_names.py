"""File and folder names of every kind."""

from pathlib import Path

import pytest

from tests.git.space import ID, MARKDOWN, PLACE, Space


@pytest.mark.parametrize(
    "name",
    ["-rf", "--", ":(glob)*", ":!x", ":", "a\nb", 'quo"te', "it's", "back\\slash", "tab\there",
     " space ", "*?[x]", "日本語 é", "é", b"\xff\xfe.md".decode("utf-8", "surrogateescape"),
     "$(touch x)", "HEAD", "@{-1}", "a" * 250, "x~1^2", "#x", "!x"],
)  # fmt: skip
def test_commit_accepts_any_file_name(repository_space: Space, name: str) -> None:
    """A name is a name: never an option, a pattern, a revision or a command."""
    repository_space.write(name, "content")
    recorded = repository_space.record("auto", name)
    assert recorded.paths == repository_space.committed() == [f"{PLACE}/{name}"]
    assert repository_space.git("status", "--porcelain", "--", f":(literal){PLACE}/{name}") == ""
    (repository_space.folder / name).unlink()
    assert repository_space.record("auto", name).paths == [f"{PLACE}/{name}"]


@pytest.mark.parametrize("name", ["-x", ":(top)y", "日本語 é", '"q"', "a b", "\udcff"])
def test_commit_accepts_any_folder_name(tmp_path: Path, name: str) -> None:
    """The same for folders, above the repository and in it."""
    space = Space(tmp_path / name / "work", f"{name}/{ID}").begin()
    assert space.record().paths == space.committed() == space.paths
    assert space.status() == ""


def test_commit_refuses_folder_name_with_line_break(tmp_path: Path) -> None:
    """They cannot be told to git in every place, so they are told to the person."""
    inside = Space(tmp_path / "work", f"a\nb/{ID}").begin().record()
    above = Space(tmp_path / "c\nd").begin().record()
    assert [inside.outcome, above.outcome] == ["refused", "failed"]
    for recorded in (inside, above):
        assert "line break" in recorded.note
        assert "\n" not in recorded.note


def test_ignored_file_with_pathspec_magic_is_matched_by_name(repository_space: Space) -> None:
    """Pathspec magic in a file's name does not reach the question what is ignored."""
    (repository_space.root / ".gitignore").write_text("*.log\n")
    repository_space.write(":(top)x.log", "x")
    recorded = repository_space.record("auto", ":(top)x.log", MARKDOWN)
    assert recorded.ignored == [f"{PLACE}/:(top)x.log"]
    top = Space.__new__(Space)
    top.root = top.folder = repository_space.root
    (repository_space.root / ":(top)y.log").write_text("y")
    assert top.record("auto", ":(top)y.log").ignored == [":(top)y.log"]
