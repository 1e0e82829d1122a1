"""Commit the files of one conversation to git, and no other file.

The commit is built without git's index: first the blobs (file contents), then the changed trees
(folders), then the commit object. After that, the branch moves to the commit, unless the branch has
moved meanwhile. At the end, the index entries of the committed files are updated.

If the process is killed before the branch moves, only unused objects remain in git. If it is killed
between the last two steps, the commit is complete, but the index is outdated: `git status` shows
staged changes that would undo the commit. The next `cortext stop` of the conversation repairs the
index, and so does `git reset -- FOLDER`.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Sequence

import msgspec

from cortext.errors import CortextError
from cortext.git.commit_message import message, subject_prefix
from cortext.git.commit_outcome import (
    GitFailedError,
    NotAllowedError,
    NotRecordedError,
    Recorded,
    one_line,
)
from cortext.git.files_to_commit import (
    hash_files,
    ignored_paths,
    names_outside_repository,
    refuse_required_filters,
    relative_names,
)
from cortext.git.git_index import StagedFiles, read_index, wait_for_index, write_index
from cortext.git.repository import (
    Repository,
    find_repository,
    has_git_above,
    refuse_during_operation,
)
from cortext.git.run_git import find_git, reason
from cortext.git.trees import FILE, Head, HeadMovedError, TreeEntry, build_tree, read_head

MODES = ("auto", "commit", "stage", "off")
_RETRY_SECONDS = 5.0
_RETRY_PAUSE = 0.02
_IDENTITY_ERROR = re.compile(
    r"tell me who you are|ident(ity)? (name|unknown)|auto-detect|no (name|email) was given"
    r"|disallowed characters"
)


class _Task(msgspec.Struct, frozen=True):
    """The files of a conversation to record in git.

    - `relative_folder`: the conversation's folder, relative to the top of the repository. The paths
      in all other fields begin with it
    - `files`: the new git entry (mode and object id) of each path; None for a deleted file
    - `indexed`: the entries that git's index has for the folder
    - `ignored`: the paths that git ignores
    - `left_out`: the paths of links, of files of another repository and of files that git skips
    """

    repository: Repository
    folder: str
    relative_folder: str
    files: dict[str, TreeEntry | None]
    indexed: StagedFiles
    ignored: list[str]
    left_out: list[str]


def record(
    root: str,
    folder: str,
    files: Sequence[str],
    *,
    mode: str,
    title: str,
    id: str,
    verb: str,
    allow: Callable[[str, bytes], bool] | None = None,
) -> Recorded:
    """Record the current content of a conversation's files in git.

    `mode` says what to do:

    - `auto`: commit, but only if the workspace `root` is the top folder of its repository
    - `commit`: commit in any repository
    - `stage`: only add the files to git's index
    - `off`: do nothing

    `folder` is the conversation's folder, and `files` has the paths of files in it. The content on
    disk is recorded, even if another version is staged, as in `git commit FILE`. Files of the
    folder that are in the index, but not on disk, are recorded as deleted.

    `title`, `id` and `verb` (the cortext command, such as "stop") are for the commit message.
    `allow` is called for each file with its name in the folder and the bytes to store. If it
    returns False for any file, nothing is recorded.

    If git fails, no error is raised: the result has an outcome and a note about the failure. Raises
    CortextError only for an unknown mode and for a file outside the folder.
    """
    if mode not in MODES:
        raise CortextError(
            f"sessions.git cannot be {mode!r}", hint=f"set it to one of {', '.join(MODES)}"
        )
    names = relative_names(folder, files)
    if mode == "off":
        return Recorded("off", "", [], [], "")
    try:
        repository = _find_allowed_repository(
            os.path.realpath(root), os.path.realpath(folder), mode
        )
        refuse_during_operation(repository)
        wait_for_index(repository)
        task = _prepare(repository, os.path.realpath(folder), names, allow)
        if not task.files:
            outcome = "ignored" if task.ignored else "refused" if task.left_out else "unchanged"
            return Recorded(outcome, "", [], task.ignored, _omitted_note(task))
        if mode == "stage":
            return _stage(task)
        return _commit(task, title, id, verb)
    except NotRecordedError as error:
        # `auto` is the default, so users need no note about a missing repository.
        quiet = mode == "auto" and error.outcome in ("no-repository", "not-root")
        paths = error.paths if isinstance(error, NotAllowedError) else []
        return Recorded(error.outcome, "", paths, [], "" if quiet else error.note)


def _find_allowed_repository(root: str, folder: str, mode: str) -> Repository:
    if mode == "auto" and not os.path.lexists(os.path.join(root, ".git")):
        raise NotRecordedError("not-root" if has_git_above(root) else "no-repository", "")
    program = find_git()
    if program is None:
        raise NotRecordedError("no-git", "git is not installed")
    repository = find_repository(program, folder)
    if mode == "auto" and repository.top != root:
        raise NotRecordedError("not-root", "")
    return repository


def _prepare(
    repository: Repository,
    folder: str,
    names: Sequence[str],
    allow: Callable[[str, bytes], bool] | None,
) -> _Task:
    relative_folder = os.path.relpath(folder, repository.top)
    relative_folder = "" if relative_folder == os.curdir else relative_folder
    paths = {name: os.path.join(relative_folder, name) for name in names}
    elsewhere = [paths.pop(name) for name in names_outside_repository(folder, names)]
    ignored = ignored_paths(repository, list(paths.values()))
    indexed = read_index(repository, relative_folder, set(paths.values()))
    unwanted = indexed.skipped.union(ignored)
    wanted = {name: path for name, path in paths.items() if path not in unwanted}
    refuse_required_filters(repository, list(wanted.values()))
    hashed = hash_files(repository, folder, wanted, allow)
    missing = [path for path in indexed.others if not os.path.lexists(f"{repository.top}/{path}")]
    entries = hashed.entries
    if not repository.keeps_modes:
        modes = {path: entry.mode for path, entry in indexed.entries.items()}
        entries = {p: TreeEntry(modes.get(p, FILE), e.oid) for p, e in entries.items()}
    files: dict[str, TreeEntry | None] = {**dict.fromkeys([*hashed.gone, *missing]), **entries}
    left_out = sorted([*elsewhere, *hashed.odd, *indexed.skipped])
    return _Task(repository, folder, relative_folder, files, indexed, ignored, left_out)


def _stage(task: _Task) -> Recorded:
    changed = _update_index(task)
    outcome = "staged" if changed else "unchanged"
    return Recorded(outcome, "", changed, task.ignored, _omitted_note(task))


def _commit(task: _Task, title: str, id: str, verb: str) -> Recorded:
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        try:
            head = read_head(task.repository, task.files)
            changes = {path: e for path, e in task.files.items() if head.entry(path) != e}
            if not changes:
                _update_index(task)
                return Recorded("unchanged", "", [], task.ignored, _omitted_note(task))
            commit = _commit_object(task, head, changes, title, id, verb)
            _move_head(task.repository, head, commit, verb)
            break
        except HeadMovedError:
            if time.monotonic() >= deadline:
                raise NotRecordedError(
                    "busy", "HEAD keeps changing or cannot be read; check with `git fsck`"
                ) from None
            time.sleep(_RETRY_PAUSE)
    detached = "HEAD is detached, so no branch contains this commit"
    note = _omitted_note(task, detached if task.repository.is_detached else "")
    try:
        _update_index(task)
    except NotRecordedError as error:
        reset = f"git reset -q -- {shlex.quote(task.folder)}"
        note = one_line(
            f"committed, but the git index was not updated: {error}; then run `{reset}`"
        )
    return Recorded("committed", commit, sorted(changes), task.ignored, note)


def _commit_object(
    task: _Task,
    head: Head,
    changes: dict[str, TreeEntry | None],
    title: str,
    id: str,
    verb: str,
) -> str:
    session = os.path.join(task.relative_folder, ".session", "")
    text = message(title, id, verb, subject_prefix(changes, session))
    tree = build_tree(task.repository, head, changes)
    parent = ["-p", head.commit] if head.commit else []
    result = task.repository.git.run(
        "commit-tree", "--no-gpg-sign", tree, *parent, "-F", "-", given=text
    )
    if result.code and _IDENTITY_ERROR.search(result.err):
        raise NotRecordedError(
            "no-identity",
            "git does not know your name; run `git config --global user.name NAME` "
            "and `git config --global user.email ADDRESS`, then stop again",
        )
    if result.code:
        raise GitFailedError("commit-tree", reason(result.err))
    return result.out.decode("ascii").strip()


def _move_head(repository: Repository, head: Head, commit: str, verb: str) -> None:
    """Move HEAD and its branch to the commit. Raises HeadMovedError if HEAD changed meanwhile."""
    old = head.commit or repository.no_id
    why = f"cortext {one_line(verb)}: save a conversation"
    result = repository.git.run("update-ref", "-m", why, "HEAD", commit, old)
    if not result.code:
        return
    current = repository.git.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}").out
    if current.decode("ascii").strip() != head.commit:
        raise HeadMovedError
    if "File exists" in result.err:
        raise NotRecordedError("busy", f"another git process is running: {reason(result.err)}")
    raise GitFailedError("update-ref", reason(result.err))


def _update_index(task: _Task) -> list[str]:
    """Update the index entries that differ from the recorded files, and return their paths."""
    indexed, others = task.indexed.entries, task.indexed.others
    outdated = {
        path: entry
        for path, entry in task.files.items()
        if indexed.get(path) != entry or path in others
    }
    if outdated:
        write_index(task.repository, outdated)
    return sorted(outdated)


def _omitted_note(task: _Task, first: str = "") -> str:
    """Return a note for the user about the files that are not recorded, with the reasons.

    The note begins with the text `first`. If `first` is "" and all files are recorded, the note is
    "".
    """
    parts = [first] if first else []
    if task.ignored:
        parts.append(f"ignored by git, so not recorded: {_join_names(task, task.ignored)}")
    if task.left_out:
        names = _join_names(task, task.left_out)
        parts.append(f"not recorded (links, files of another repository or skipped files): {names}")
    return one_line("; ".join(parts))


def _join_names(task: _Task, paths: Sequence[str]) -> str:
    return ", ".join(path.removeprefix(task.relative_folder).lstrip("/") for path in paths)
