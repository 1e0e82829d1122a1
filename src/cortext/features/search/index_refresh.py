"""Bring the full-text index up to date with the listed conversations. Only new texts are read."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from cortext.catalog.fulltext.fulltext_index import AnewError, FulltextIndex, Identity, Work
from cortext.catalog.row import ConversationRow
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import storage_errors
from cortext.errors import SessionLockedError, reason_of
from cortext.features.search.index_entries import (
    markdown_fingerprint,
    read_new,
    row_fingerprint,
)
from cortext.model import json_codec

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_BATCH = 4 << 20
"""The number of characters after which the texts read so far are written to the index."""
_DAY = 86_400
_RECENT = 30 * _DAY
_WAIT = 1.0
"""The seconds to wait for another process that is adding to the index."""
_CANNOT = "the index cannot be written: "
Progress = Callable[[int, int], None]


class RefreshedTexts(NamedTuple):
    """How much a refresh of the full-text index read.

    `read` is the number of conversations that were read, and `messages` is the number of texts that
    were added. `left` is the number of conversations that still have to be read. `why` is the
    reason for that; "" if there was not enough time.
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
    """Bring the full-text index up to date with `rows`, which must have all conversations.

    Conversations in `anew` are read again completely. With `patience`, only the newest
    conversations are read, for that many seconds. `progress` is called with the number done and the
    total. If another process is adding to the index, wait about as long for it. If it does not
    finish in time, change nothing, and give the reason in `why`.
    """
    mark, day = _mark(rows), int(time.time()) // _DAY
    marked = words.mark()
    if marked == (mark, day) and not anew:
        return RefreshedTexts()
    if words.is_read_only:
        return RefreshedTexts(left=len(_changed(words, rows)), why="the index cannot be written")
    look = _ListedRows(rows, mark, day, whole=marked[1] != day)
    with _alone(words, patience) as why:
        if why:
            return RefreshedTexts(left=len(_changed(words, rows)), why=why)
        try:
            found = _Refresh(words, patience, progress).run(look, anew)
        except AnewError:
            found = _Refresh(words, patience, progress).run(look)
        if found.why and not words.known_any():
            # The index on disk is empty, so use one in memory.
            words.use_memory(found.why.removeprefix(_CANNOT))
            found = _Refresh(words, None, progress).run(look)
        return found


def purge(words: FulltextIndex, rows: Sequence[ConversationRow]) -> None:
    """Delete the full-text index if it has words of conversations that are not in `rows`.

    `rows` must have all conversations. Raises SessionLockedError while another process adds to the
    index, because that process may have read deleted words.
    """
    if not os.path.lexists(words.path):
        return
    with storage_errors("remove", words.path), FileLock(words.lock, guards=words.path):
        words.purge({row.identity for row in rows})


class _ListedRows(NamedTuple):
    """The rows of all conversations, their checksum `mark`, and the number of the current day.

    With `whole`, the markdown files of all conversations are checked, which happens once a day.
    Otherwise only the markdown of recent conversations is checked.
    """

    rows: Sequence[ConversationRow]
    mark: int
    day: int
    whole: bool


def _mark(rows: Sequence[ConversationRow]) -> int:
    """Return a non-zero checksum of the rows and of the markdown of recent conversations."""
    recent = _recently()
    markdown = [
        markdown_fingerprint(row) for row in rows if row.last_active > recent and not row.tool
    ]
    return crc32(json_codec.encode((rows, markdown))) + 1


def _recently() -> int:
    return int((time.time() - _RECENT) * 1_000_000)


def _changed(
    words: FulltextIndex, rows: Sequence[ConversationRow], *, whole: bool = False
) -> list[tuple[ConversationRow, str]]:
    """Return the rows that differ from the index, each with the state that the index stores."""
    return _compare(words, rows, whole=whole)[0]


def _compare(
    words: FulltextIndex, rows: Sequence[ConversationRow], *, whole: bool
) -> tuple[list[tuple[ConversationRow, str]], list[Identity]]:
    """Return the rows that differ from the index, and the identities of deleted conversations.

    Each row comes with the state that the index stores. `whole` is as in `_ListedRows`.
    """
    known, recent = words.known(), 0 if whole else _recently()
    changed: list[tuple[ConversationRow, str]] = []
    for row in rows:
        state = known.pop(row.identity, "")
        lines, _, markdown = state.partition("\n")[0].partition("|")
        is_recent = row.last_active > recent and not row.tool
        if lines != row_fingerprint(row) or (is_recent and markdown != markdown_fingerprint(row)):
            changed.append((row, state))
    return changed, [*known]


@contextmanager
def _alone(words: FulltextIndex, patience: float | None) -> Generator[str]:
    """Hold the lock for adding to the index. Yield "", or the reason why the lock is not held."""
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
        yield f"{_CANNOT}{reason_of(error)}"
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
        self._waiting = 0
        self._writer: ThreadPoolExecutor | None = None
        self._written: Future[int] | None = None
        self._messages = 0

    def run(self, look: _ListedRows, anew: Collection[Identity] = ()) -> RefreshedTexts:
        changed: list[tuple[ConversationRow, str]] = []
        try:
            if anew:
                self._words.forget(anew)
            changed, gone = _compare(self._words, look.rows, whole=look.whole)
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
                self._words.set_mark(look.mark, look.day, len(look.rows))
        except sqlite3.DatabaseError as error:
            # Nothing is lost, because the next search reads the missing texts.
            return RefreshedTexts(0, self._messages, len(changed), f"{_CANNOT}{error}")
        return RefreshedTexts(done - unread, self._messages, left)

    def _read(self, changed: list[tuple[ConversationRow, str]]) -> tuple[int, int]:
        """Read changed conversations. Return how many were tried, and how many were unreadable.

        Each batch adds its oldest conversations to the index first, because a search expects newer
        texts to have greater numbers.
        """
        if not changed:
            return 0, 0

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
        self._waiting += sum([len(entry.text) for entry in work[2]])
        if self._waiting > _BATCH:
            if self._end is None and self._writer is None:
                from concurrent.futures import ThreadPoolExecutor

                self._writer = ThreadPoolExecutor(1)
            self._flush()

    def _flush(self) -> None:
        """Write the texts read so far to the index.

        With a writer thread, reading continues meanwhile.
        """
        self._wait()
        if not self._batch:
            return
        if self._end is not None:
            self._batch.reverse()
        batch, self._batch, self._waiting = self._batch, [], 0
        if self._writer is None:
            self._messages += self._words.put_all(batch)
        else:
            self._written = self._writer.submit(self._words.put_all, batch, bulk=True)

    def _wait(self) -> None:
        if self._written is not None:
            written, self._written = self._written, None
            self._messages += written.result()
