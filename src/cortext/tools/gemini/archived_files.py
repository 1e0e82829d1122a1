"""The files that the archive copies from Gemini CLI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, cast

from cortext.model import json_codec
from cortext.tools import jsonl_transcripts
from cortext.tools.archive_items import ArchiveItem, ArchiveSource, walk_files


class GeminiArchive(ArchiveSource):
    """The files that the archive copies from Gemini CLI.

    These are chats, which are its transcripts, and small files with the paths of projects.
    """

    def files(self) -> Iterator[ArchiveItem]:
        for name in self.tool.companions:
            yield from self.companion(name)
        for project in jsonl_transcripts.listed(os.path.join(self.home, "tmp")):
            chats = jsonl_transcripts.listed(os.path.join(project.path, "chats"))
            yield from self.companion(f"tmp/{project.name}/.project_root") if chats else ()
            for entry in chats:
                if entry.is_dir(follow_symlinks=False):
                    for file in walk_files(entry.path):
                        yield self.item(file.path, entry.name)
                elif entry.name.endswith((".jsonl", ".json")) and os.path.isfile(entry):
                    yield self.item(entry.path)

    def merge_companion(self, name: str, old: bytes, new: bytes) -> bytes:
        """Return the content to archive for the companion file `name`, the list of projects.

        `old` is the archived list and `new` is the current list of Gemini CLI. The result also has
        the projects that Gemini CLI removed from its list, unless a list is damaged.
        """
        if name not in self.tool.companions or not old:
            return new
        try:
            before, now = _projects(old), _projects(new)
        except (ValueError, LookupError, TypeError):
            return new or old
        missing = {folder: slug for folder, slug in before.items() if folder not in now}
        return json_codec.pretty({"projects": missing | now}) if missing else new


def _projects(data: bytes) -> dict[str, Any]:
    return cast("dict[str, Any]", dict(json_codec.decode(data)["projects"]))
