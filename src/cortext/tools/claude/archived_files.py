"""The files that the archive copies from Claude Code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortext.tools import jsonl_transcripts
from cortext.tools.archive_items import ArchiveItem, ArchiveSource, walk_files

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class ClaudeArchive(ArchiveSource):
    """The files that the archive copies from Claude Code.

    These are the transcripts of sessions, and the folder of each session, which holds the
    transcripts of its sub-agents and tool results.
    """

    def files(self) -> Iterator[ArchiveItem]:
        for folder in jsonl_transcripts.listed(os.path.join(self.home, "projects")):
            for entry in jsonl_transcripts.listed(folder.path) if os.path.isdir(folder) else ():
                if _UUID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    for file in walk_files(entry.path):
                        yield self.item(file.path, entry.name)
                elif entry.name.endswith(".jsonl") and os.path.isfile(entry):
                    id = entry.name.removesuffix(".jsonl")
                    yield self.item(entry.path, id if _UUID.fullmatch(id) else "")
