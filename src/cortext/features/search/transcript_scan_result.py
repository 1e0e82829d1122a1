"""The limits and the results of a scan of transcripts (`tool_output_scan.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cortext.catalog.fulltext.fulltext_index import Identity
from cortext.features.search.search import SearchHit

SCAN_SECONDS = 20.0
"""The seconds after which a scan stops."""
Progress = Callable[[int, int], None]


class ScanLimits(msgspec.Struct, frozen=True):
    """The time that a scan may take, in seconds; 0 for no scan.

    `progress` is called with the number of finished conversations and the total number.
    """

    seconds: float = SCAN_SECONDS
    progress: Progress | None = None


NO_SCAN = ScanLimits(0)


class TranscriptScan(msgspec.Struct, frozen=True):
    """The conversations that a scan found, each with its hits, the newest conversation first.

    A hit is a message that contains the searched text or its parts. `is_whole` is true if the hits
    contain the whole text, and false if they contain only its parts. `too_large` has the paths of
    files that were not read because of their size. `left` is the number of conversations that were
    not read in time.
    """

    hits: dict[Identity, list[SearchHit]] = {}
    is_whole: bool = False
    too_large: Sequence[str] = ()
    left: int = 0
