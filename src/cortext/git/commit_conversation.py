"""Commit the files of one conversation to git, and no other file.

The commit is built without git's index: first the blobs, then the trees that change, then the
commit object. After that the branch moves to the commit, if the branch has not moved meanwhile.
Last, the index gets the same blobs, for these paths only.

If the process is killed before the branch moves, git has only unused objects. If it is killed after
that, the commit is complete, but the index is behind: `git status` shows staged changes that would
undo the commit. The next stop of the conversation repairs the index, and so does `git reset --
FOLDER`.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.errors import CortextError
from cortext.git.commit_message import message, what_is_saved
from cortext.git.commit_outcome import GitFailed, NotAllowed, NotRecorded, Recorded, one_line
from cortext.git.files_to_commit import (
    hash_files,
    ignored_paths,
    names_elsewhere,
    names_inside,
    refuse_required_filters,
)
from cortext.git.repository import Repository, find_repository, has_git_above, refuse_under_way
from cortext.git.run_git import find_git, reason
from cortext.git.staging import StagedFiles, read_index, wait_for_index, write_index
from cortext.git.trees import FILE, Head, HeadMovedError, TreeEntry, build_tree, read_head

MODES = ("auto", "commit", "stage", "off")
_PATIENCE = 5.0
_PAUSE = 0.02
_UNKNOWN_PERSON = re.compile(
    r"tell me who you are|ident(ity)? (name|unknown)|auto-detect|no (name|email) was given"
    r"|disallowed characters"
)


class _Task(NamedTuple):
    """The files of a conversation to record in git.

    `inside` is the conversation's folder relative to the repository, and all paths start with it.
    In `files`, a deleted file has None instead of an entry. `had` has the entries of the index.
    `ignored` and `left_out` are paths that are not recorded.
    """

    repository: Repository
    folder: str
    inside: str
    files: dict[str, TreeEntry | None]
    had: StagedFiles
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
    """Record files of a conversation's folder in git, as they are on disk.

    With the mode `auto`, commit only if the workspace `root` is the top folder of its repository.
    With `commit`, commit in any repository. With `stage`, only add the files to the index. With
    `off`, do nothing. The files on disk replace staged versions, as in `git commit FILE`. Files of
    the folder that are in the index, but not on disk, are recorded as deleted.

    `title`, `id` and `verb` (the command that saves, such as "stop") are for the commit message.
    `allow` is called for each file with its name in the folder and the bytes to store. If it
    returns False for one file, nothing is recorded. A failure of git is returned as an outcome with
    a note. Raises CortextError only for an unknown mode and for a file outside the folder.
    """
    if mode not in MODES:
        raise CortextError(f"sessions.git is {mode!r}", hint=f"it is one of {', '.join(MODES)}")
    names = names_inside(folder, files)
    if mode == "off":
        return Recorded("off", "", [], [], "")
    try:
        repository = _repository(os.path.realpath(root), os.path.realpath(folder), mode)
        refuse_under_way(repository)
        wait_for_index(repository)
        task = _prepare(repository, os.path.realpath(folder), names, allow)
        if not task.files:
            outcome = "ignored" if task.ignored else "refused" if task.left_out else "unchanged"
            return Recorded(outcome, "", [], task.ignored, _note(task))
        if mode == "stage":
            return _stage(task)
        return _commit(task, title, id, verb)
    except NotRecorded as error:
        # `auto` is the default, so a missing repository is not worth a note.
        quiet = mode == "auto" and error.outcome in ("no-repository", "not-root")
        paths = error.paths if isinstance(error, NotAllowed) else []
        return Recorded(error.outcome, "", paths, [], "" if quiet else error.note)


def _repository(root: str, folder: str, mode: str) -> Repository:
    if mode == "auto" and not os.path.lexists(os.path.join(root, ".git")):
        raise NotRecorded("not-root" if has_git_above(root) else "no-repository", "")
    program = find_git()
    if program is None:
        raise NotRecorded("no-git", "git is not installed")
    repository = find_repository(program, folder)
    if mode == "auto" and repository.top != root:
        raise NotRecorded("not-root", "")
    return repository


def _prepare(
    repository: Repository,
    folder: str,
    names: Sequence[str],
    allow: Callable[[str, bytes], bool] | None,
) -> _Task:
    inside = os.path.relpath(folder, repository.top)
    inside = "" if inside == os.curdir else inside
    paths = {name: os.path.join(inside, name) for name in names}
    elsewhere = [paths.pop(name) for name in names_elsewhere(folder, names)]
    ignored = ignored_paths(repository, list(paths.values()))
    had = read_index(repository, inside, set(paths.values()))
    unwanted = had.skipped.union(ignored)
    wanted = {name: path for name, path in paths.items() if path not in unwanted}
    refuse_required_filters(repository, list(wanted.values()))
    hashed = hash_files(repository, folder, wanted, allow)
    missing = [path for path in had.others if not os.path.lexists(f"{repository.top}/{path}")]
    entries = hashed.entries
    if not repository.keeps_modes:
        modes = {path: entry.mode for path, entry in had.entries.items()}
        entries = {p: TreeEntry(modes.get(p, FILE), e.oid) for p, e in entries.items()}
    files: dict[str, TreeEntry | None] = {**dict.fromkeys([*hashed.gone, *missing]), **entries}
    left_out = sorted([*elsewhere, *hashed.odd, *had.skipped])
    return _Task(repository, folder, inside, files, had, ignored, left_out)


def _stage(task: _Task) -> Recorded:
    changed = _bring_index_in_step(task)
    outcome = "staged" if changed else "unchanged"
    return Recorded(outcome, "", changed, task.ignored, _note(task))


def _commit(task: _Task, title: str, id: str, verb: str) -> Recorded:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            head = read_head(task.repository, task.files)
            changes = {path: e for path, e in task.files.items() if head.entry(path) != e}
            if not changes:
                _bring_index_in_step(task)
                return Recorded("unchanged", "", [], task.ignored, _note(task))
            commit = _commit_object(task, head, changes, title, id, verb)
            _move_head(task.repository, head, commit, verb)
            break
        except HeadMovedError:
            if time.monotonic() >= deadline:
                raise NotRecorded(
                    "busy", "HEAD keeps changing, or cannot be read (`git fsck` tells)"
                ) from None
            time.sleep(_PAUSE)
    detached = "HEAD is detached, so no branch has this commit"
    note = _note(task, detached if task.repository.is_detached else "")
    try:
        _bring_index_in_step(task)
    except NotRecorded as error:
        reset = f"git reset -q -- {shlex.quote(task.folder)}"
        note = one_line(f"committed, but git's index is behind: {error}; then: {reset}")
    return Recorded("committed", commit, sorted(changes), task.ignored, note)


def _commit_object(
    task: _Task,
    head: Head,
    changes: dict[str, TreeEntry | None],
    title: str,
    id: str,
    verb: str,
) -> str:
    session = os.path.join(task.inside, ".session", "")
    said = message(title, id, verb, what_is_saved(changes, session))
    tree = build_tree(task.repository, head, changes)
    parent = ["-p", head.commit] if head.commit else []
    result = task.repository.git.run(
        "commit-tree", "--no-gpg-sign", tree, *parent, "-F", "-", given=said
    )
    if result.code and _UNKNOWN_PERSON.search(result.err):
        raise NotRecorded(
            "no-identity",
            "git does not know who you are; tell it with `git config --global user.name NAME` "
            "and `git config --global user.email ADDRESS`, then stop again",
        )
    if result.code:
        raise GitFailed("commit-tree", reason(result.err))
    return result.out.decode("ascii").strip()


def _move_head(repository: Repository, head: Head, commit: str, verb: str) -> None:
    """Move HEAD and its branch to the commit. Raises HeadMovedError if HEAD changed meanwhile."""
    old = head.commit or repository.no_id
    why = f"cortext {one_line(verb)}: save a conversation"
    result = repository.git.run("update-ref", "-m", why, "HEAD", commit, old)
    if not result.code:
        return
    now = repository.git.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}").out
    if now.decode("ascii").strip() != head.commit:
        raise HeadMovedError
    if "File exists" in result.err:
        raise NotRecorded("busy", f"another git process is at work: {reason(result.err)}")
    raise GitFailed("update-ref", reason(result.err))


def _bring_index_in_step(task: _Task) -> list[str]:
    """Update the index entries that differ from the recorded files, and return their paths."""
    had, others = task.had.entries, task.had.others
    behind = {
        path: entry
        for path, entry in task.files.items()
        if had.get(path) != entry or path in others
    }
    if behind:
        write_index(task.repository, behind)
    return sorted(behind)


def _note(task: _Task, more: str = "") -> str:
    """Return a note about the files that are not recorded, with the reasons; "" if there are none.

    `more` is a text that comes first.
    """
    parts = [more] if more else []
    if task.ignored:
        parts.append(f"ignored by git, so not recorded: {_names(task, task.ignored)}")
    if task.left_out:
        names = _names(task, task.left_out)
        parts.append(f"left out, being links, another repository's or skipped by git: {names}")
    return one_line("; ".join(parts))


def _names(task: _Task, paths: Sequence[str]) -> str:
    return ", ".join(path.removeprefix(task.inside).lstrip("/") for path in paths)
