"""The files that the archive copies from Codex."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec.structs import replace

from cortext.tools.archive_items import ArchiveItem, ArchiveSource, walk_files

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COLD = ".zst"


class CodexArchive(ArchiveSource):
    """The files that the archive copies from Codex.

    These are transcripts, which may be compressed, and the index of titles.
    """

    moves_transcripts = True
    titles_file = "session_index.jsonl"

    def files(self) -> Iterator[ArchiveItem]:
        for name in self.tool.companions:
            yield from self.companion(name)
        for folder in ("archived_sessions", "sessions"):
            for entry in walk_files(os.path.join(self.home, folder)):
                bare = entry.name.removesuffix(_COLD)
                found = _UUID.findall(bare)
                if bare.startswith("rollout-") and bare.endswith(".jsonl") and found:
                    item = self.item(entry.path, found[0])
                    name = item.name.removesuffix(_COLD)
                    yield item if name == item.name else replace(item, name=name, kind="cold")

    def merge_companion(self, name: str, old: bytes, new: bytes) -> bytes:
        """Return the content to archive for the companion file `name`, the index of titles.

        `old` is the archived index and `new` is the current index of Codex. The result has the
        lines that Codex removed from the index, followed by the current index.
        """
        if name not in self.tool.companions:
            return new
        lines = set(new.split(b"\n"))
        gone = [line for line in old.split(b"\n") if line and line not in lines]
        return b"".join(line + b"\n" for line in gone) + new
