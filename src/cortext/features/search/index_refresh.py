"""Bring the full-text index up to date with the listed conversations. Only new texts are read."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity, IndexRebuiltError, Work
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import storage_errors
from cortext.durability.file_lock import FileLock
from cortext.errors import SessionLockedError, reason_of
from cortext.features.search.conversation_change_fingerprint import (
    markdown_fingerprint,
    row_fingerprint,
)
from cortext.model import json_codec

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_MAX_BATCH = 4 << 20
"""The number of characters to read before the texts are written to the index."""
_DAY = 86_400
_RECENT = 30 * _DAY
_WAIT = 1.0
"""The maximum number of seconds to wait for another process that is adding to the index."""
_CANNOT_WRITE = "the index cannot be written: "
Progress = Callable[[int, int], None]


class RefreshedTexts(msgspec.Struct, frozen=True):
    """The result of a refresh of the full-text index.

    `read` is the number of conversations that were read, and `messages` is the number of texts that
    were added. `left` is the number of conversations that still have to be read. `why` is the
    reason why they were not read; "" if there was not enough time.
    """

    read: int = 0
    messages: int = 0
    left: int = 0
    why: str = ""


def refresh(
    words: FulltextIndex,
    rows: Sequence[ConversationRow],
    *,
    patience: float | None = None,
    progress: Progress | None = None,
    anew: Collection[Identity] = (),
) -> RefreshedTexts:
    """Bring the full-text index up to date with `rows`, which must contain all conversations.

    `words` is the index. Conversations in `anew` are read again completely. If `patience` is given,
    the newest conversations are read first, and reading stops after this number of seconds.
    `progress` is called with the number of finished conversations and the total number.

    If another process is adding to the index, wait up to `patience` seconds, or one second if
    `patience` is None. If the other process is still not finished, change nothing, and return the
    reason in the field `why` of the result.
    """
    checksum, day = _rows_checksum(rows), int(time.time()) // _DAY
    stored = words.mark()
    if stored == (checksum, day) and not anew:
        return RefreshedTexts()
    if words.is_read_only:
        return RefreshedTexts(
            left=len(_changed_rows(words, rows)), why="the index cannot be written"
        )
    listed = _ListedRows(rows, checksum, day, whole=stored[1] != day)
    with _hold_lock(words, patience) as why:
        if why:
            return RefreshedTexts(left=len(_changed_rows(words, rows)), why=why)
        try:
            result = _Refresh(words, patience, progress).run(listed, anew)
        except IndexRebuiltError:
            result = _Refresh(words, patience, progress).run(listed)
        if result.why and not words.has_conversations():
            # The index on disk is empty and cannot be written, so use an index in memory.
            words.use_memory(result.why.removeprefix(_CANNOT_WRITE))
            result = _Refresh(words, None, progress).run(listed)
        return result


def purge(words: FulltextIndex, rows: Sequence[ConversationRow]) -> None:
    """Delete the full-text index if it has texts of conversations that are not in `rows`.

    `words` is the index, and `rows` are all conversations whose texts may stay. Raises
    SessionLockedError while another process adds to the index, because that process may have read
    texts that are deleted now.
    """
    if not os.path.lexists(words.path):
        return
    with storage_errors("remove", words.path), FileLock(words.lock, guards=words.path):
        words.purge({row.identity for row in rows})


class _ListedRows(msgspec.Struct, frozen=True):
    """The rows of all conversations, their checksum, and the current day as a number.

    If `whole` is true, the markdown files of all conversations are checked for changes. This
    happens once a day. Otherwise only the markdown files of recent conversations are checked.
    """

    rows: Sequence[ConversationRow]
    checksum: int
    day: int
    whole: bool


def _rows_checksum(rows: Sequence[ConversationRow]) -> int:
    """Return a checksum, never 0, of the rows and of the markdown of recent conversations."""
    recent = _recent_limit()
    markdown = [
        markdown_fingerprint(row) for row in rows if row.last_active > recent and not row.tool
    ]
    return crc32(json_codec.encode((rows, markdown))) + 1


def _recent_limit() -> int:
    return int((time.time() - _RECENT) * 1_000_000)


def _changed_rows(
    words: FulltextIndex, rows: Sequence[ConversationRow], *, whole: bool = False
) -> list[tuple[ConversationRow, str]]:
    """Return the rows that differ from the index, each with the state that the index stores for it.

    If `whole` is true, also compare the markdown files of old conversations.
    """
    return _compare(words, rows, whole=whole)[0]


def _compare(
    words: FulltextIndex, rows: Sequence[ConversationRow], *, whole: bool
) -> tuple[list[tuple[ConversationRow, str]], list[Identity]]:
    """Return the rows that differ from the index, and the identities of deleted conversations.

    Each row comes with the state that the index stores for it. If `whole` is true, the markdown
    files of all conversations are compared. Otherwise only those of recent conversations are
    compared.
    """
    known, recent = words.known(), 0 if whole else _recent_limit()
    changed: list[tuple[ConversationRow, str]] = []
    for row in rows:
        state = known.pop(row.identity, "")
        lines, _, markdown = state.partition("\n")[0].partition("|")
        is_recent = row.last_active > recent and not row.tool
        if lines != row_fingerprint(row) or (is_recent and markdown != markdown_fingerprint(row)):
            changed.append((row, state))
    return changed, [*known]


@contextmanager
def _hold_lock(words: FulltextIndex, patience: float | None) -> Generator[str]:
    """Hold the lock for adding to the index during a `with` block.

    Wait for the lock up to `patience` seconds; None means one second. Yield "", or the reason why
    the lock is not held. The block runs in both cases.
    """
    if not words.lock:
        yield ""
        return

    lock = FileLock(words.lock, wait=_WAIT if patience is None else patience)
    try:
        lock.__enter__()
    except SessionLockedError:
        yield "another process is reading them"
        return
    except OSError as error:
        yield f"{_CANNOT_WRITE}{reason_of(error)}"
        return
    try:
        yield ""
    finally:
        lock.__exit__(None, None, None)


class _Refresh:
    """One refresh of the index, by the process that holds the lock."""

    def __init__(
        self, words: FulltextIndex, patience: float | None, progress: Progress | None
    ) -> None:
        self._words = words
        self._end = None if patience is None else time.monotonic() + patience
        self._progress = progress
        self._batch: list[Work] = []
        self._batch_size = 0
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[int] | None = None
        self._messages = 0

    def run(self, listed: _ListedRows, anew: Collection[Identity] = ()) -> RefreshedTexts:
        changed: list[tuple[ConversationRow, str]] = []
        try:
            if anew:
                self._words.forget(anew)
            changed, gone = _compare(self._words, listed.rows, whole=listed.whole)
            if gone:
                self._words.drop(gone)
            try:
                done, unread = self._read(changed)
            finally:
                if self._writer is not None:
                    self._writer.shutdown()
            left = len(changed) - done
            if not left and not self._words.is_settled:
                self._words.settle()
            if not (left or unread):
                self._words.set_mark(listed.checksum, listed.day, len(listed.rows))
        except sqlite3.DatabaseError as error:
            # Nothing is lost, because the next search reads the missing texts.
            return RefreshedTexts(0, self._messages, len(changed), f"{_CANNOT_WRITE}{error}")
        return RefreshedTexts(done - unread, self._messages, left)

    def _read(self, changed: list[tuple[ConversationRow, str]]) -> tuple[int, int]:
        """Read changed conversations. Return how many were tried, and how many were unreadable.

        The oldest conversations are read first, because a search expects that newer texts have
        greater numbers in the index. With a time limit, the newest conversations are read first
        instead. In this case, `_flush` reverses the order of each batch before it is written.
        """
        if not changed:
            return 0, 0
        from cortext.features.search.index_entries import read_new

        changed.sort(key=lambda each: each[0].last_active, reverse=self._end is not None)
        done = unread = 0
        for row, state in changed:
            if self._end is not None and time.monotonic() > self._end:
                break
            work = read_new(row, state)
            done += 1
            if work is None:
                unread += 1
                continue
            self._add(work)
            if self._progress:
                self._progress(done, len(changed))
        self._flush()
        self._wait()
        return done, unread

    def _add(self, work: Work) -> None:
        self._batch.append(work)
        self._batch_size += sum([len(entry.text) for entry in work[2]])
        if self._batch_size > _MAX_BATCH:
            if self._end is None and self._writer is None:
                from concurrent.futures import ThreadPoolExecutor

                self._writer = ThreadPoolExecutor(1)
            self._flush()

    def _flush(self) -> None:
        """Write the texts that were read so far to the index.

        If there is a writer thread, that thread writes them, and this thread can continue to read.
        """
        self._wait()
        if not self._batch:
            return
        if self._end is not None:
            self._batch.reverse()
        batch, self._batch, self._batch_size = self._batch, [], 0
        if self._writer is None:
            self._messages += self._words.put_all(batch)
        else:
            self._writing = self._writer.submit(self._words.put_all, batch, bulk=True)

    def _wait(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            self._messages += writing.result()
