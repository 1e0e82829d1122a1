"""Find the git repository of a folder, and check whether cortext may commit to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from cortext.git.commit_outcome import GitFailed, NotRecorded
from cortext.git.run_git import Git, GitResult, reason

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisection",
}
_FALSE = ("false", "no", "off", "0", "")


class Repository(NamedTuple):
    """A git work tree and its git folder.

    `top` is the real path of the work tree, without links. `algorithm` is sha1 or sha256.
    `must_run` has the names of required filters: git refuses a file whose required filter does not
    run. `keeps_modes` says whether the file system stores the executable bit of files.
    """

    git: Git
    top: str
    git_dir: str
    algorithm: str
    must_run: set[str]
    keeps_modes: bool

    @property
    def index_lock(self) -> str:
        return f"{self.git_dir}/index.lock"

    @property
    def no_id(self) -> str:
        """The object id of all zeros, which means "no object" to git."""
        return "0" * (64 if self.algorithm == "sha256" else 40)

    @property
    def is_detached(self) -> bool:
        """Whether HEAD is a commit and not a branch."""
        try:
            with open(f"{self.git_dir}/HEAD", "rb") as head:
                return not head.read(5).startswith(b"ref:")
        except OSError:
            return False


def has_git_above(folder: str) -> bool:
    """Return whether a folder or one of its parents contains `.git`, without running git."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False
    return True


def find_repository(program: str, folder: str) -> Repository:
    """Return the repository that contains a folder.

    `program` is the path of git, and `folder` must be a real path. Raises NotRecorded if there is
    no repository, or if cortext must not use the repository.
    """
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    asked = Git(program, folder).run(
        "rev-parse",
        "--is-bare-repository",
        "--show-object-format",
        "--path-format=absolute",
        "--git-dir",
        "--git-common-dir",
        "--show-toplevel",
    )
    lines = os.fsdecode(asked.out).split("\n")
    if lines[0] == "true":
        raise NotRecorded("no-repository", f"{folder} is in a bare repository, without files")
    if asked.code:
        raise _refusal(asked, folder)
    if len(lines) != 6:
        raise GitFailed("rev-parse", "a folder's name has a line break, or git is before 2.31")
    _, algorithm, git_dir, common, top, _ = lines
    top, git_dir = os.path.realpath(top), os.path.realpath(git_dir)
    if os.path.commonpath([top, folder]) != top:
        raise NotRecorded("refused", f"{git_dir} belongs to {top}, and not to {folder}")
    _refuse_borrowed(top, git_dir, os.path.realpath(common))
    settings = _settings(Git(program, top, git_dir=git_dir))
    filters = _filters(settings)
    disarmed = {**_disable_filters(filters), **_disable_hooks(settings)}
    git = Git(program, top, git_dir=git_dir, settings=disarmed)
    must_run = {name for name, required in filters.items() if required}
    keeps_modes = _is_true(settings.get("core.filemode"))
    return Repository(git, top, git_dir, algorithm, must_run, keeps_modes)


def refuse_under_way(repository: Repository) -> None:
    """Raise NotRecorded if a merge, a rebase or the like is in progress.

    Aborting that operation would undo changes that cortext recorded, even on disk.
    """
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(f"{repository.git_dir}/{name}"):
            raise NotRecorded("busy", f"{what} is in progress; finish it, then stop again")


def _settings(git: Git) -> dict[str, str | None]:
    """Return the git settings about filters, hooks and file modes; None for a key without value."""
    asked = git.run("config", "-z", "--get-regexp", r"^(filter\.|hook\.|core\.filemode$)")
    if asked.code not in (0, 1):
        raise GitFailed("config", reason(asked.err))
    rows = (row.partition("\n") for row in os.fsdecode(asked.out).split("\0")[:-1])
    return {key: value if newline else None for key, newline, value in rows}


def _is_true(value: str | None) -> bool:
    return value is None or value.lower() not in _FALSE


def _filters(settings: dict[str, str | None]) -> dict[str, bool]:
    """Return the names of the configured filters, and whether each of them is required."""
    filters: dict[str, bool] = {}
    for key, value in settings.items():
        name, dot, what = key.removeprefix("filter.").rpartition(".")
        if not dot or not key.startswith("filter."):
            continue
        if what == "required":
            filters[name] = _is_true(value)
        else:
            filters.setdefault(name, False)
    return filters


def _disable_filters(filters: Iterable[str]) -> dict[str, str]:
    """Return settings that disable these filters, so that git does not run their programs.

    When git writes an index, it filters every file that changed within the last clock tick, even
    files that the command does not name.
    """
    return {
        f"filter.{name}.{what}": value
        for name in filters
        for what, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _disable_hooks(settings: Iterable[str]) -> dict[str, str]:
    """Return settings that disable hooks from the configuration.

    Since git 2.54, such hooks run independently of `core.hooksPath`.
    """
    sections = {key.rpartition(".")[0] for key in settings if key.startswith("hook.")}
    return {f"{section}.enabled": "false" for section in sections if section != "hook"}


def _refusal(asked: GitResult, folder: str) -> NotRecorded:
    """Return the error to raise after `git rev-parse` failed in a folder."""
    why = reason(asked.err)
    if "not a git repository" in why and has_git_above(folder):
        return GitFailed("rev-parse", why)  # the repository cannot be read, or is damaged
    if "not a git repository" in why:
        return NotRecorded("no-repository", f"{folder} is in no repository (`git init` makes one)")
    if "safe.bareRepository" in why:
        return NotRecorded("no-repository", f"{folder} looks like a bare repository")
    if "dubious ownership" in asked.err or "unsafe repository" in asked.err:
        return NotRecorded(
            "not-ours",
            "the repository belongs to another user; if you trust it: "
            f"git config --global --add safe.directory {shlex.quote(_owned(asked.err, folder))}",
        )
    return GitFailed("rev-parse", why)


def _owned(err: str, folder: str) -> str:
    """Return the folder that git's message quotes, for `safe.directory`; otherwise `folder`."""
    found = err.partition("'")[2].partition("'")[0]
    return found if os.path.isabs(found) else folder


def _refuse_borrowed(top: str, git_dir: str, common: str) -> None:
    """Raise NotRecorded if `.git` leads to the repository of another work tree.

    A `.git` that is a file or a link may lead to any repository of the user. Linked work trees,
    submodules and `--separate-git-dir` are accepted.
    """
    owner = top
    if git_dir != common:
        try:
            with open(f"{git_dir}/gitdir", encoding="utf-8", errors="surrogateescape") as back:
                written = back.read().rstrip("\n")
        except OSError as error:
            raise GitFailed("worktree", str(error)) from error
        owner = os.path.dirname(os.path.realpath(os.path.join(git_dir, written)))
    elif os.path.basename(git_dir) == ".git":
        owner = os.path.dirname(git_dir)
    if owner != top:
        raise NotRecorded(
            "refused",
            f"{top}/.git leads to the repository of {owner} "
            "(if a work tree was moved: git worktree repair)",
        )
