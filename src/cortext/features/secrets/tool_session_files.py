"""Find all files of a tool session: the tool's own files, and our copies in the archive."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property

from cortext.catalog.row import ConversationRow
from cortext.features.secrets.adapter_side_files import is_checkpoints
from cortext.features.secrets.text_pieces import Unread, collect_unreadable
from cortext.tools import jsonl_transcripts, transcript_folders
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import display_name, is_tool, open_bridge, tool_names

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_STEM = re.compile(r"(?:\.jsonl?)(?:\.~\d+)?(?:\.gz|\.zst)?\Z")
_INDEX = "session_index.jsonl"


def sessions_of(row: ConversationRow) -> list[tuple[str, str]]:
    """Return pairs of tool and id: the tool sessions of a row.

    The row of a tool session has one pair. The row of a conversation may have several.
    """
    if row.tool:
        return [] if not is_tool(row.tool) else [(row.tool, row.key)]
    return [(tool, id) for tool in sorted(row.tools) for id in row.session_ids]


def describe_removal(path: str) -> str:
    """Return advice on how to remove a secret from a file that cortext must not change."""
    if is_checkpoints(path):
        return (
            "only LangGraph can change its checkpoints; to remove the whole thread, call "
            "`delete_thread` in your program, or run `cortext delete` and `cortext trash empty`"
        )
    if path.endswith(".db"):
        return "delete the session in OpenCode; all its sessions share this file"
    if os.path.basename(path) == _INDEX:
        return "the file lists the names of all threads; remove the line while Codex is not running"
    name = _tool_name(path)
    return (
        f"to remove the secret from this file: quit the session in {name} and delete the file; "
        f"{name} then loses the conversation"
    )


def _tool_name(path: str) -> str:
    """Return the name of the tool that has a file, such as "Claude Code", or "the tool"."""
    for tool in tool_names():
        folder = transcript_folders.own_home(tool).rstrip("/")
        if path.startswith(f"{folder}/"):
            return display_name(tool)
    return "the tool"


class SessionFiles:
    """Finds the files of tool sessions, and searches each folder only once.

    `claimed` contains the paths of all files that `own` and `copies` have returned so far.
    """

    def __init__(self) -> None:
        self._homes: dict[tuple[str, str], _ToolFolder] = {}
        self.claimed: set[str] = set()

    def own(self, tool: str, id: str) -> list[str]:
        """Return the paths of the tool's own files of a session.

        OpenCode stores all sessions in one file, so all its sessions have the same path.
        """
        return self._find(tool, id, transcript_folders.own_home(tool), is_copy=False)

    def copies(self, tool: str, id: str) -> list[str]:
        """Return the paths of a session's files in our archive."""
        return self._find(tool, id, transcript_folders.archive_home(tool), is_copy=True)

    def unclaimed(self, unread: Unread) -> list[str]:
        """Return the paths of the files in our archive that `copies` has not returned so far.

        If a folder cannot be read, add it to `unread`.
        """
        homes = map(transcript_folders.archive_home, tool_names())
        found = (path for home in homes for path in _walk(home, unread))
        return [path for path in found if path not in self.claimed]

    def _find(self, tool: str, id: str, home: str, *, is_copy: bool) -> list[str]:
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
    def _by_name(self) -> dict[str, list[str]]:
        """The paths of the files in the folder, by the session id in the name of the file.

        The dict is filled only for a tool that moves sessions to other files. It is empty for other
        tools.
        """
        found: dict[str, list[str]] = {}
        for path in _walk(self._home) if self._source.moves_transcripts else ():
            for id in _UUID.findall(os.path.basename(path)):
                found.setdefault(id, []).append(path)
        return found

    def files(self, id: str) -> list[str]:
        found = [*self._by_name.get(id, [])]
        for path in self._sources.get(id, []):
            rows = self._source.tool.has_databases and not self._is_copy
            found += [path] if rows else self._companions(path, id)
        titles = self._source.titles_file
        if titles and found and os.path.isfile(f"{self._home}/{titles}"):
            found.append(f"{self._home}/{titles}")
        return list(dict.fromkeys(found))

    def _companions(self, path: str, id: str) -> Iterator[str]:
        """Yield the transcript at `path` and its companion files.

        Companions are old versions, transcripts of sub-agents, and copies that other programs made.
        """
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
            self._listed[folder] = [(one.name, one.path, _first_agent_line(one)) for one in entries]
        return self._listed[folder]


def _first_agent_line(entry: os.DirEntry[str]) -> bytes:
    if not entry.name.startswith("agent-") or not entry.is_file(follow_symlinks=False):
        return b""
    return jsonl_transcripts.read_head(entry.path, jsonl_transcripts.ENDS[1]).partition(b"\n")[0]


def _walk(folder: str, unread: Unread | None = None) -> Iterator[str]:
    for top, folders, names in os.walk(folder, onerror=collect_unreadable(unread)):
        folders.sort()
        yield from (os.path.join(top, name) for name in sorted(names))
