"""Find the git repository of a folder, and check whether cortext may commit to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

import msgspec

from cortext.git.commit_outcome import GitFailedError, NotRecordedError
from cortext.git.run_git import Git, GitResult, reason

_OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisection",
}
_FALSE = ("false", "no", "off", "0", "")


class Repository(msgspec.Struct, frozen=True):
    """A git work tree and its git folder.

    - `git`: runs git commands in the work tree
    - `top`: the real path of the work tree, without links
    - `algorithm`: sha1 or sha256
    - `required_filters`: the names of the filters that must run before git may store a file
    - `keeps_modes`: whether the file system stores the executable bit of files
    """

    git: Git
    top: str
    git_dir: str
    algorithm: str
    required_filters: set[str]
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
        """Whether HEAD points to a commit directly, and not to a branch."""
        try:
            with open(f"{self.git_dir}/HEAD", "rb") as head:
                return not head.read(5).startswith(b"ref:")
        except OSError:
            return False


def has_git_above(folder: str) -> bool:
    """Return whether a folder or one of its parents contains `.git`, without running git."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, child = os.path.dirname(folder), folder
        if folder == child:
            return False
    return True


def find_repository(program: str, folder: str) -> Repository:
    """Return the repository that contains a folder.

    `program` is the path of git, and `folder` must be a real path. Raises NotRecordedError if there
    is no repository, or if cortext must not use the repository.
    """
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    result = Git(program, folder).run(
        "rev-parse",
        "--is-bare-repository",
        "--show-object-format",
        "--path-format=absolute",
        "--git-dir",
        "--git-common-dir",
        "--show-toplevel",
    )
    lines = os.fsdecode(result.out).split("\n")
    if lines[0] == "true":
        raise NotRecordedError(
            "no-repository", f"{folder} is in a bare repository, which has no work tree"
        )
    if result.code:
        raise _rev_parse_error(result, folder)
    if len(lines) != 6:
        raise GitFailedError(
            "rev-parse", "the name of a folder contains a line break, or git is older than 2.31"
        )
    _, algorithm, git_dir, common, top, _ = lines
    top, git_dir = os.path.realpath(top), os.path.realpath(git_dir)
    if os.path.commonpath([top, folder]) != top:
        raise NotRecordedError("refused", f"{git_dir} belongs to {top}, not to {folder}")
    _refuse_other_work_tree(top, git_dir, os.path.realpath(common))
    settings = _read_settings(Git(program, top, git_dir=git_dir))
    filters = _find_filters(settings)
    overrides = {**_disable_filters(filters), **_disable_hooks(settings)}
    git = Git(program, top, git_dir=git_dir, settings=overrides)
    required_filters = {name for name, required in filters.items() if required}
    keeps_modes = _is_true(settings.get("core.filemode"))
    return Repository(git, top, git_dir, algorithm, required_filters, keeps_modes)


def refuse_during_operation(repository: Repository) -> None:
    """Raise NotRecordedError if a merge, a rebase or a similar operation is in progress.

    If the user aborted the operation later, git would remove what cortext recorded meanwhile, even
    from the files on disk.
    """
    for name, operation in _OPERATIONS.items():
        if os.path.lexists(f"{repository.git_dir}/{name}"):
            raise NotRecordedError(
                "busy", f"{operation} is in progress; finish it, then stop again"
            )


def _read_settings(git: Git) -> dict[str, str | None]:
    """Return the git settings about filters, hooks and file modes, by name.

    A setting without a value is None, which means "true" to git.
    """
    result = git.run("config", "-z", "--get-regexp", r"^(filter\.|hook\.|core\.filemode$)")
    if result.code not in (0, 1):
        raise GitFailedError("config", reason(result.err))
    rows = (row.partition("\n") for row in os.fsdecode(result.out).split("\0")[:-1])
    return {key: value if newline else None for key, newline, value in rows}


def _is_true(value: str | None) -> bool:
    return value is None or value.lower() not in _FALSE


def _find_filters(settings: dict[str, str | None]) -> dict[str, bool]:
    """Return the names of the filters in git's settings, and whether each of them is required."""
    filters: dict[str, bool] = {}
    for key, value in settings.items():
        name, dot, option = key.removeprefix("filter.").rpartition(".")
        if not dot or not key.startswith("filter."):
            continue
        if option == "required":
            filters[name] = _is_true(value)
        else:
            filters.setdefault(name, False)
    return filters


def _disable_filters(filters: Iterable[str]) -> dict[str, str]:
    """Return git settings that disable these filters, so that git does not run their programs.

    A git command can run filters even on files that it does not name: when git writes its index, it
    filters every file that changed within the last clock tick.
    """
    return {
        f"filter.{name}.{what}": value
        for name in filters
        for what, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _disable_hooks(settings: Iterable[str]) -> dict[str, str]:
    """Return git settings that disable the hooks which `settings` define.

    Since git 2.54, settings can define hooks. `core.hooksPath` does not disable these hooks.
    """
    sections = {key.rpartition(".")[0] for key in settings if key.startswith("hook.")}
    return {f"{section}.enabled": "false" for section in sections if section != "hook"}


def _rev_parse_error(result: GitResult, folder: str) -> NotRecordedError:
    """Return the error to raise after `git rev-parse` failed in `folder` with this result."""
    why = reason(result.err)
    if "not a git repository" in why and has_git_above(folder):
        return GitFailedError("rev-parse", why)  # the repository cannot be read, or is damaged
    if "not a git repository" in why:
        why = f"{folder} is not in a repository; create one with `git init`"
        return NotRecordedError("no-repository", why)
    if "safe.bareRepository" in why:
        return NotRecordedError("no-repository", f"{folder} looks like a bare repository")
    if "dubious ownership" in result.err or "unsafe repository" in result.err:
        return NotRecordedError(
            "not-ours",
            "the repository belongs to another user; if you trust it, run `git config --global "
            f"--add safe.directory {shlex.quote(_quoted_folder(result.err, folder))}`",
        )
    return GitFailedError("rev-parse", why)


def _quoted_folder(err: str, folder: str) -> str:
    """Return the absolute path that git's error message `err` quotes; `folder` if there is none."""
    quoted = err.partition("'")[2].partition("'")[0]
    return quoted if os.path.isabs(quoted) else folder


def _refuse_other_work_tree(top: str, git_dir: str, common: str) -> None:
    """Raise NotRecordedError if the repository belongs to another work tree than `top`.

    The `.git` of a work tree may be a file or a link that leads to any repository of the user.
    `git_dir` and `common` are the folders that git reports for the work tree `top`. Linked work
    trees, submodules and `--separate-git-dir` are accepted.
    """
    owner = top
    if git_dir != common:
        try:
            with open(f"{git_dir}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
                recorded = file.read().rstrip("\n")
        except OSError as error:
            raise GitFailedError("worktree", str(error)) from error
        owner = os.path.dirname(os.path.realpath(os.path.join(git_dir, recorded)))
    elif os.path.basename(git_dir) == ".git":
        owner = os.path.dirname(git_dir)
    if owner != top:
        raise NotRecordedError(
            "refused",
            f"{top}/.git points to the repository of {owner}; "
            "if you moved a work tree, run `git worktree repair`",
        )
