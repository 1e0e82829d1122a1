"""Find the last conversations of the project in which a tool session begins.

The search must be fast, even if there are ten thousand conversations. Therefore it does not update
the catalog. New sessions are found by reading the latest transcripts in the folder of the session's
own transcript.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

import msgspec

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import DOCUMENT, ConversationRow, recency
from cortext.catalog.tool_row_reader import read_session_row
from cortext.features.capture.transcripts import transcript_in_file
from cortext.features.listing.row_filters import without_copies
from cortext.git.worktrees import same_folders
from cortext.tools.deleted_sessions import forgotten
from cortext.tools.jsonl_transcripts import listed
from cortext.workspace.moved_folders import MovedFolders, moved_folders

_MAX_CANDIDATES = 40
"""The number of rows that are taken from the catalog for each folder."""
_MAX_BESIDE = 8
"""The number of transcripts that are read in the folder of the session's own transcript."""
_ENDING = ".jsonl"


class StartedSession(msgspec.Struct, frozen=True):
    """The tool session that begins now. `transcript` is the path of its transcript, or ""."""

    tool: str
    folder: str
    transcript: str = ""


def find_latest(session: StartedSession, most: int) -> list[ConversationRow]:
    """Return the last conversations in the project of a session, at most `most`, the latest first.

    The session itself is one of them, if it has messages already.
    """
    project = _Project(session.folder, moved_folders())
    with Catalog.at_home() as catalog:
        found = {row.identity: row for row in project.known_rows(catalog)}
        found |= {row.identity: row for row in _rows_beside(session)}
        rows = [row for row in found.values() if project.contains(row)]
        rows = without_copies(sorted(rows, key=recency, reverse=True), project.base)
        return [*islice(_shown(catalog, rows), most)]


class _Project:
    """The project of a session: a folder, and the same folder in other worktrees of the repository.

    Inside a workspace, the folder is the folder of the workspace. Outside, it is the folder of the
    session. A subfolder counts only if it belongs to the same repository or workspace.
    """

    def __init__(self, folder: str, moves: MovedFolders) -> None:
        root = paths.workspace_root(folder)
        self.base = folder if root == paths.personal_workspace() else root
        self._moves = moves
        self._root = _find_root(self.base)
        self._folders = list(dict.fromkeys((self.base, *same_folders(os.path.realpath(self.base)))))

    def known_rows(self, catalog: Catalog) -> Iterator[ConversationRow]:
        """Yield rows of the project's folders, and of the folders below them in a repository."""
        for folder in (*self._folders, *self._former_folders()):
            yield from catalog.known_latest(folder, _MAX_CANDIDATES, below=self._root != "")

    def contains(self, row: ConversationRow) -> bool:
        folder = self._moves.follow(row.folder, row.created_at)
        if folder in self._folders:
            return True
        bases = [each for each in self._folders if folder.startswith(f"{each}/")]
        base = max(bases, key=len, default="")
        # The repository of a folder that was deleted is unknown.
        return bool(base and os.path.isdir(folder)) and _find_root(folder) == _find_root(base) != ""

    def _former_folders(self) -> Iterator[str]:
        """Yield the folders in which the project was before the user moved the project."""
        for move in self._moves.moves:
            for folder in self._folders:
                if f"{folder}/".startswith(f"{move.new}/"):
                    yield move.old + folder[len(move.new) :]


def _find_root(folder: str) -> str:
    """Return the nearest folder at or above `folder` that is a repository or a workspace, or ""."""
    while not (os.path.lexists(f"{folder}/.git") or os.path.isdir(f"{folder}/.workspace")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def _rows_beside(session: StartedSession) -> Iterator[ConversationRow]:
    """Yield rows of the latest transcripts in the folder of the session's own transcript.

    The catalog may not have these sessions yet.
    """
    if not session.transcript.endswith(_ENDING):
        return
    times: dict[str, int] = {}
    for entry in listed(os.path.dirname(session.transcript)):
        try:
            times[entry.path] = entry.stat().st_mtime_ns if entry.name.endswith(_ENDING) else 0
        except OSError:
            continue  # the file was deleted meanwhile
    for path in sorted(times, key=lambda each: times[each], reverse=True)[:_MAX_BESIDE]:
        id = os.path.basename(path).removesuffix(_ENDING)
        found = transcript_in_file(session.tool, id, path)
        row = read_session_row(*found) if found else None
        if row:
            yield row


def _shown(catalog: Catalog, rows: list[ConversationRow]) -> Iterator[ConversationRow]:
    """Yield the rows that can be recalled.

    Leave out damaged sessions, documents of programs, sessions that the user deleted, and sessions
    that belong to a conversation.
    """
    deleted = {(session.tool, session.id) for session in forgotten()}
    for row in rows:
        if row.is_damaged or row.tool == DOCUMENT or (row.tool, row.key) in deleted:
            continue
        links = catalog.conversations_of_session(row.key) if row.tool else ()
        if not any(os.path.isdir(f"{root}/{path}") for root, path in links):
            yield row
