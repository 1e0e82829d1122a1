"""Search the transcripts themselves for a literal text.

The full-text index has only the first and last characters of long tool output. This scan is the
last step of a search. It reads the bytes of conversations, of transcripts, and of their copies in
the archive. If these bytes contain the text, the messages are decoded, and each message is searched
for the text. Redacted text is not found, because secrets in a message are redacted before the
message is searched.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from cortext.catalog.fulltext.fulltext_index import SIDE, Identity
from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError, file_and_reason
from cortext.features.capture.transcripts import Found
from cortext.features.listing.session_of_row import LoadedRow, read_all, read_from, transcript_of
from cortext.features.search.search import SearchHit, TextFilter
from cortext.features.search.transcript_scan_result import ScanLimits, TranscriptScan
from cortext.features.secrets.index_redactions import find_redactor, redact_message
from cortext.features.secrets.redactor import Redactor
from cortext.formats.text_search.literal_query import LiteralText, excerpt
from cortext.formats.text_search.search_query import Snippet
from cortext.model.message import SessionMessage
from cortext.model.safe_text import clean, without_terminal_codes
from cortext.tools.jsonl_transcripts import read_blocks
from cortext.tools.reader_protocol import SearchesStoredBytes, TranscriptSource
from cortext.tools.registry import open_bridge
from cortext.tools.transcript_folders import home_of

_log = logging.getLogger("cortext.features")
_LARGEST_FILE = 4 << 30
"""A file with more bytes than this is not scanned."""
_MOST_CONVERSATIONS = 20
"""A scan stops after it has found this number of conversations."""
_MOST_HITS = 20
"""The maximum number of hits in one conversation."""
_WINDOW = 29_000
"""The number of bytes to search at once. CPython searches more than 30,000 at half the speed."""


def scan(
    rows: Iterable[ConversationRow], literal: LiteralText, narrow: TextFilter, limits: ScanLimits
) -> TranscriptScan:
    """Search the files of `rows` for a literal text.

    The first pass searches for the text as typed. If it finds nothing, a second pass ignores case
    and white space. The second pass also finds messages that have all parts of `literal`, but not
    the whole text. `narrow` filters the messages.
    """
    if not literal.is_searchable or limits.seconds <= 0:
        return TranscriptScan()
    newest_first = sorted(rows, key=lambda row: row.last_active, reverse=True)
    return _Scan(literal, narrow, limits).run(newest_first)


class _Scan:
    """One scan of the files of conversations."""

    def __init__(self, literal: LiteralText, narrow: TextFilter, limits: ScanLimits) -> None:
        self._literal, self._narrow, self._limits = literal, narrow, limits
        self._end = time.monotonic() + limits.seconds
        self._too_large: dict[str, None] = {}
        self._checked: set[Identity] = set()
        self._whole: dict[Identity, list[SearchHit]] = {}
        self._parts: dict[Identity, list[SearchHit]] = {}

    def run(self, rows: Sequence[ConversationRow]) -> TranscriptScan:
        exact = ByteFinder([self._literal.needle])
        any_case = ByteFinder(self._literal.small_needles, any_case=True)
        left = self._pass(rows, exact) or (0 if self._whole else self._pass(rows, any_case))
        found = self._whole or self._parts
        return TranscriptScan(found, bool(self._whole), [*self._too_large], left)

    def _pass(self, rows: Sequence[ConversationRow], finder: ByteFinder) -> int:
        """Search all files once. Return the number of conversations that were not searched."""
        for done, row in enumerate(rows):
            if time.monotonic() > self._end:
                return len(rows) - done
            if max(len(self._whole), len(self._parts)) >= _MOST_CONVERSATIONS:
                return 0
            if row.identity not in self._checked:
                self._search(row, finder)
            if self._limits.progress:
                self._limits.progress(done + 1, len(rows))
        return 0

    def _search(self, row: ConversationRow, finder: ByteFinder) -> None:
        try:
            is_transcript = row.tool and not row.is_standalone
            if not self._has_bytes(row, _stored_transcript(row) if is_transcript else None, finder):
                return
            self._checked.add(row.identity)
            self._compare(row, transcript_of(row) if is_transcript else None)
        except FileNotFoundError:
            pass  # the session was deleted meanwhile
        except (OSError, CortextError) as error:
            _log.warning("%s cannot be searched: %s", row.key, file_and_reason(error))

    def _has_bytes(
        self, row: ConversationRow, transcript: Found | None, finder: ByteFinder
    ) -> bool:
        path = _file_of(row) if transcript is None else transcript[1].path
        if os.stat(path).st_size > _LARGEST_FILE and not path.endswith(".db"):
            self._too_large[path] = None
            return False
        if transcript and isinstance(transcript[0], SearchesStoredBytes):
            return transcript[0].has_bytes(transcript[1], finder.is_in)
        return finder.is_in(read_blocks(path))

    def _compare(self, row: ConversationRow, transcript: Found | None) -> None:
        """Search the messages of a conversation, and keep the hits.

        A message is a hit if it contains the wanted text, or the parts of this text.
        """
        redactor: Redactor | None = None
        if transcript is None:
            found = read_all(row)
        else:
            redactor = find_redactor(row.tool, row.key, transcript[1].path)
            found = read_from(row, transcript)
        whole: list[SearchHit] = []
        parts: list[SearchHit] = []
        for number, message in _numbered(found):
            if len(whole) >= _MOST_HITS:
                break
            if not self._takes(message, number):
                continue
            text = _text_of(message if redactor is None else redact_message(message, redactor))
            if span := self._literal.find(text):
                whole.append(_hit(row, number, message, excerpt(text, span)))
            elif len(parts) < _MOST_HITS and (span := self._literal.find_parts(text)):
                parts.append(_hit(row, number, message, excerpt(text, span)))
        if whole:
            self._whole[row.identity] = whole
        if parts:
            self._parts[row.identity] = parts

    def _takes(self, message: SessionMessage, number: int) -> bool:
        narrow, when = self._narrow, micros(message.timestamp)
        role = "agents" if number == SIDE else message.role
        return (
            (not narrow.role or role == narrow.role)
            and (narrow.since is None or when >= narrow.since)
            and (narrow.until is None or when < narrow.until)
        )


class ByteFinder:
    """Tests whether blocks of bytes contain all needles. A needle is a byte string to find.

    With `any_case`, ASCII letters match in any case. The needles must then be in lower case.
    """

    def __init__(self, needles: Sequence[bytes], *, any_case: bool = False) -> None:
        self._needles, self._any_case = needles, any_case
        self._overlap = max(map(len, needles)) - 1

    def is_in(self, blocks: Iterable[bytes]) -> bool:
        """Return whether the blocks contain all needles. A needle may cross two blocks."""
        absent, rest = [*self._needles], b""
        for block in blocks:
            data = block.lower() if self._any_case else block
            absent = [each for each in absent if not _contains(data, rest, each)]
            if not absent:
                return True
            rest = (rest + data)[-self._overlap :] if self._overlap else b""
        return False


def _contains(data: bytes, before: bytes, needle: bytes) -> bool:
    """Return whether `data` contains a needle, or a needle begins in `before` and ends in `data`.

    `before` are the bytes directly before `data`.
    """
    size = len(needle)
    if before and needle in before + data[: size - 1]:
        return True
    return any(
        data.find(needle, start, start + _WINDOW + size) >= 0
        for start in range(0, len(data), _WINDOW)
    )


def _stored_transcript(row: ConversationRow) -> Found:
    """Return the transcript at the path of a row, without the checks of `transcript_of`.

    These checks take longer than the search of a small file. They are made later, and only for
    files that contain the needles.
    """
    if not os.path.isfile(row.path):
        return transcript_of(row)
    bridge = open_bridge(row.tool, home_of(row.tool, row.path))
    return bridge, TranscriptSource(row.tool, row.key, row.path, 0, "")


def _file_of(row: ConversationRow) -> str:
    return row.path if row.tool else row.place.lines


def _numbered(found: LoadedRow) -> Iterator[tuple[int, SessionMessage]]:
    """Yield all messages with their numbers; messages of sub-agents have the number `SIDE`."""
    yield from enumerate(found.session.messages, 1)
    for session in found.side:
        yield from ((SIDE, message) for message in session.messages)


def _text_of(message: SessionMessage) -> str:
    """Return the text of a message, with all texts in the arguments of its tool calls."""
    texts = [message.content, *_strings(message.tool_calls or ())]
    return without_terminal_codes("\n".join(filter(None, texts)))


def _strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value.

    The recursion is safe, because a message accepts only values with few levels of nesting.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from _strings(item)


def _hit(row: ConversationRow, number: int, message: SessionMessage, shown: Snippet) -> SearchHit:
    role = "agents" if number == SIDE else message.role
    name = clean(message.name or "", lines=False) if message.role == "tool" else ""
    text = msgspec.structs.replace(shown, text=clean(shown.text))
    return SearchHit(row, number, role, micros(message.timestamp), text, tool_name=name)
