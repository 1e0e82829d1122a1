"""Read from transcripts that are lines of JSON how many tokens each answer used.

A transcript grows at its end, so only lines that were added since the last read are read. Some
tools record running totals. To read new lines of such a tool, cortext needs the last total before
them. Such a value from earlier lines is the *carried value*. It is stored with the position where
the last read ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cortext.errors import SessionStorageError, reason_of
from cortext.formats.message_lines import Damage
from cortext.model.answer_usage import UsageFile, UsageRecord
from cortext.tools.jsonl_transcripts import read_blocks, time_of
from cortext.tools.new_transcript_lines import FilePosition, read_span, whole_lines_since
from cortext.tools.transcript_folders import warn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TokenNumber = Annotated[int, Meta(ge=0, le=2**40)]
"""The type of a number of tokens. The limit keeps sums small enough to be stored."""
RecordedCost = Annotated[float, Meta(ge=0, le=1e9)]
"""The type of a cost in US dollars that a tool recorded."""

LineReader = Callable[[Iterable[bytes], bytes], tuple[Sequence[UsageRecord], bytes]]
"""A function that reads lines. Its arguments are blocks of bytes, and the carried value from the
lines before the blocks. It returns the usage records and the new carried value."""


class _State(msgspec.Struct, frozen=True, array_like=True):
    position: FilePosition
    carried: bytes


def read_usage_files(
    paths: Iterable[str],
    known: Mapping[str, str],
    read: LineReader,
    *,
    open_blocks: Callable[[str, list[Damage]], Iterable[bytes]] = read_blocks,
) -> Iterator[UsageFile]:
    """Yield the usage records in the new lines of each file.

    A file that cannot be read is logged, and its earlier records are kept.

    Args:
        paths: The paths of the files. A file that does not exist is skipped.
        known: The state of each file when it was last read, by path.
        read: The function that reads the lines.
        open_blocks: A function that yields the bytes of a file whose name does not end with
            `.jsonl`, for example a compressed file. It adds damage to its second argument.
    """
    for path in paths:
        try:
            if path.endswith(".jsonl"):
                yield _read_new_lines(path, known.get(path, ""), read)
            else:
                yield _read_whole_file(path, known.get(path, ""), read, open_blocks)
        except FileNotFoundError:
            continue  # the tool deleted it meanwhile
        except (OSError, SessionStorageError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            warn("the new usage in %s is not counted: %s", path, reason)
            yield UsageFile(path, known.get(path, ""), [], keep=True, is_failed=True)


def micros_of(timestamp: str | float | None) -> int:
    """Return a timestamp of a transcript in microseconds since 1970, or 0 if it is not a time."""
    when = time_of(timestamp)
    return 0 if when is None else int((when - _EPOCH).total_seconds() * 1_000_000)


def _read_new_lines(path: str, known: str, read: LineReader) -> UsageFile:
    old = _decode_state(known)
    start, position = whole_lines_since(path, old.position if old else None)
    carried = old.carried if old and start else b""
    records, carried = read(read_span(path, start, position.size), carried)
    state = msgspec.json.encode(_State(position, carried)).decode()
    return UsageFile(path, state, list(records), keep=start > 0)


def _read_whole_file(
    path: str,
    known: str,
    read: LineReader,
    open_blocks: Callable[[str, list[Damage]], Iterable[bytes]],
) -> UsageFile:
    """Return all usage records of a file, or no records if the file has not changed.

    This is for compressed files and JSON documents, in which a position cannot show new lines.
    """
    stat = os.stat(path)
    state = f"{stat.st_mtime_ns}-{stat.st_size}-{stat.st_ino}"
    if state == known:
        return UsageFile(path, state, [], keep=True)
    return UsageFile(path, state, list(read(open_blocks(path, []), b"")[0]))


def _decode_state(text: str) -> _State | None:
    try:
        return msgspec.json.decode(text, type=_State)
    except msgspec.DecodeError:
        return None
