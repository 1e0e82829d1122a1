"""Find all files of a tool session: the tool's own files, and our copies in the archive."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property

from cortext.catalog.row import ConversationRow
from cortext.features.secrets.adapter_files import is_checkpoints
from cortext.features.secrets.file_readers import Unread, noting
from cortext.tools import jsonl_transcripts, transcript_folders
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import is_tool, open_bridge, tool_names

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_STEM = re.compile(r"(?:\.jsonl?)(?:\.~\d+)?(?:\.gz|\.zst)?\Z")
_INDEX = "session_index.jsonl"


def sessions_of(row: ConversationRow) -> list[tuple[str, str]]:
    """Return the tool and id of each tool session behind a row.

    A row is a tool session itself, or a conversation that took place in several tool sessions.
    """
    if row.tool:
        return [] if not is_tool(row.tool) else [(row.tool, row.key)]
    return [(tool, id) for tool in sorted(row.tools) for id in row.session_ids]


def how_to_remove(path: str) -> str:
    """Return advice on how to remove a secret from a file that cortext must not change."""
    if is_checkpoints(path):
        return (
            "only LangGraph can change its checkpoints: `delete_thread` in your program, or "
            "`cortext delete` and `cortext trash empty`, takes the thread away with them"
        )
    if path.endswith(".db"):
        return "delete the session in OpenCode: all its sessions share that file"
    if os.path.basename(path) == _INDEX:
        return "it has the names of all threads: take that line out when Codex is not running"
    return "end the session there, and remove that file: what is said in it goes with it"


class SessionFiles:
    """A finder for the files of tool sessions, which searches each folder only once.

    `claimed` contains all files that the methods have returned so far.
    """

    def __init__(self) -> None:
        self._homes: dict[tuple[str, str], _ToolFolder] = {}
        self.claimed: set[str] = set()

    def own(self, tool: str, id: str) -> list[str]:
        """Return the tool's own files of a session. All sessions of OpenCode are in one file."""
        return self._of(tool, id, transcript_folders.own_home(tool), is_copy=False)

    def copies(self, tool: str, id: str) -> list[str]:
        """Return the files of a session in our archive."""
        return self._of(tool, id, transcript_folders.archive_home(tool), is_copy=True)

    def unclaimed(self, unread: Unread) -> list[str]:
        """Return the files in our archive that no earlier call of `copies` has returned.

        A folder that cannot be read is added to `unread`.
        """
        homes = map(transcript_folders.archive_home, tool_names())
        found = (path for home in homes for path in _walk(home, unread))
        return [path for path in found if path not in self.claimed]

    def _of(self, tool: str, id: str, home: str, *, is_copy: bool) -> list[str]:
        if (tool, home) not in self._homes:
            self._homes[tool, home] = _ToolFolder(tool, home, is_copy=is_copy)
        found = self._homes[tool, home].files(id)
        self.claimed.update(found)
        return found


class _ToolFolder:
    """One tool's folder, or our copy of it in the archive."""

    def __init__(self, tool: str, home: str, *, is_copy: bool) -> None:
        self._tool, self._home, self._is_copy = tool, home, is_copy
        self._source = archive_source(tool)
        self._listed: dict[str, list[tuple[str, str, bytes]]] = {}

    @cached_property
    def _sources(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for source in open_bridge(self._tool, self._home if self._is_copy else None).sources():
            found.setdefault(source.id, []).append(source.path)
        return found

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The files by the session ids in their names.

        This is empty unless the tool moves sessions to other files.
        """
        found: dict[str, list[str]] = {}
        for path in _walk(self._home) if self._source.moves_transcripts else ():
            for id in _UUID.findall(os.path.basename(path)):
                found.setdefault(id, []).append(path)
        return found

    def files(self, id: str) -> list[str]:
        found = [*self._named.get(id, [])]
        for path in self._sources.get(id, []):
            rows = self._source.tool.has_databases and not self._is_copy
            found += [path] if rows else self._beside(path, id)
        titles = self._source.titles_file
        if titles and found and os.path.isfile(f"{self._home}/{titles}"):
            found.append(f"{self._home}/{titles}")
        return list(dict.fromkeys(found))

    def _beside(self, path: str, id: str) -> Iterator[str]:
        """Yield a transcript and its companions: old versions, sub-agents, copies of programs."""
        yield path
        folder, name = os.path.split(path)
        stem = _STEM.sub("", name)
        for other, place, first in self._entries(folder):
            rest = other[len(stem) :] if other.startswith(stem) else "-"
            of_agent = other.startswith("agent-") and id.encode() in first
            if other == id or of_agent or not (rest[:1].isalnum() or rest[:1] in "-_"):
                yield from _walk(place) if os.path.isdir(place) else (place,)

    def _entries(self, folder: str) -> list[tuple[str, str, bytes]]:
        """Return name, path and first line of each entry of a folder.

        The first line is b"" unless the entry is the transcript of a sub-agent.
        """
        if folder not in self._listed:
            entries = jsonl_transcripts.listed(folder)
            self._listed[folder] = [(one.name, one.path, _first(one)) for one in entries]
        return self._listed[folder]


def _first(entry: os.DirEntry[str]) -> bytes:
    if not entry.name.startswith("agent-") or not entry.is_file(follow_symlinks=False):
        return b""
    return jsonl_transcripts.read_head(entry.path, jsonl_transcripts.ENDS[1]).partition(b"\n")[0]


def _walk(folder: str, unread: Unread | None = None) -> Iterator[str]:
    for top, folders, names in os.walk(folder, onerror=noting(unread)):
        folders.sort()
        yield from (os.path.join(top, name) for name in sorted(names))
