"""Readers for transcripts that are lines of JSON: the whole file, or only its beginning and end.

Memory use is bounded by the longest line. A line is decoded into a struct with the fields that
cortext needs; the other fields are skipped. If a line has fields of a wrong type, only these fields
are lost. A line that cannot be read is reported as damage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from stat import S_ISREG
from typing import Annotated, Any, Generic, TypeVar, cast, get_args, get_origin

import msgspec

from cortext.durability.gzip_members import SUFFIX, Packed, is_packed, read_packed
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import reason_of
from cortext.formats.record_lines import Damage, add_damage
from cortext.model import json_codec
from cortext.model.json_values import as_utc, parse_time
from cortext.model.message import Role, SessionMessage, of_decoded
from cortext.model.own_slash_commands import without_command
from cortext.model.title import WHOLE, shorten
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.transcript_folders import warn

BLOCK = 1 << 17
"""The number of bytes that are read from a file at once.

A block of this size stays in the processor's cache until it is decoded. The memory of a freed block
is used again for the next block.
"""
LONGEST_LINE = 256 << 20
"""The maximum bytes of a line. A longer line is reported as damage instead of read to memory."""
ENDS = (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
"""The numbers of bytes to read at the start or end of a file.

The next number is tried if the needed line is not in these bytes.
"""
_BEGINNING = 12  # bytes of a line that are compared to find a repeated line
_AGAIN = 8  # the number of places that are tried
_NULS = re.compile(rb"\0+")
_NESTED = frozenset((dict, list))
_MILLISECONDS = 10**11  # a larger number is in milliseconds instead of seconds
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MOST = 2**53

Count = Annotated[int, msgspec.Meta(ge=-_MOST, le=_MOST)]
"""A number for sums, such as tokens. The limit keeps the sum small enough to be stored."""
Cost = Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)]

_from_iso = datetime.fromisoformat


T = TypeVar("T", bound=msgspec.Struct)


def read_blocks(path: str, damages: list[Damage] | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks. A gzip file of the archive is decompressed.

    Damage in the gzip file is added to `damages`. Raises FileNotFoundError if there is no file.
    """
    if path.endswith(SUFFIX):
        found = list[Damage]() if damages is None else damages
        yield from read_packed(path, lambda detail: found.append(Damage(detail, path=path)))
        return
    fd = open_file(path)
    try:
        while block := os.read(fd, BLOCK):
            yield block
    finally:
        os.close(fd)


def read_whole(path: str, damages: list[Damage]) -> bytes:
    """Return all bytes of a file. A gzip file of the archive is decompressed.

    Damage in the gzip file is added to `damages`.
    """
    return b"".join(read_blocks(path, damages)) if path.endswith(SUFFIX) else read_file(path)


def read_head(path: str, most: int) -> bytes:
    """Return the first `most` bytes of a file. A gzip file of the archive is decompressed."""
    fd = open_file(path)
    try:
        return opened(fd)[1](0, most)
    finally:
        os.close(fd)


def plain(name: str) -> str:
    """Return a file name without the ending that the archive adds to compressed copies."""
    return name.removesuffix(SUFFIX)


def opened(fd: int) -> tuple[int, Callable[[int, int], bytes]]:
    """Return the size of an open file, and a function that reads the bytes from `start` to `end`.

    For a compressed file, the size and the positions count the decompressed bytes.
    """
    if not is_packed(fd):
        return os.fstat(fd).st_size, lambda start, end: read_range(fd, start, end)
    packed = Packed(fd)

    return packed.size, lambda start, end: packed.read(start, end, warn)


class JsonLines(Generic[T]):
    """A decoder for the JSON lines of a transcript.

    `kind` is the struct for a line. `path` is the file that damage reports name. `damages` lists
    the lines that `read` could not decode.
    """

    def __init__(self, kind: type[T], path: str = "") -> None:
        self.damages: list[Damage] = []
        self._kind, self._path = kind, path
        decoder = msgspec.json.Decoder(kind)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines

    def read(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, T]]:
        """Yield each decoded line in the blocks of a file, with its line number from 1."""
        for number, count, data in self._join(blocks):
            try:
                values = self._decode_lines(data) if count else []
            except _UNREADABLE:
                values = []
            if count and len(values) == count:
                yield from enumerate(values, number)
            else:  # a line is bad or blank, or the last line has no newline
                yield from self._each(number, data)

    def _join(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, int, bytes | memoryview]]:
        """Yield whole lines with the number of the first line and the count of lines.

        The bytes after the last newline come at the end, with the count 0. Only a line that spans
        several blocks is copied.
        """
        number, held, size = 1, list[bytes](), 0
        for block in blocks:
            if end := block.rfind(b"\n") + 1:
                if size > LONGEST_LINE:
                    start = block.find(b"\n")
                    self._too_long(size + start, number)
                    held, size, block, end = [], 0, block[start:], end - start
                first = 0
                if size:
                    first = block.find(b"\n") + 1
                    yield number, 1, b"".join((*held, block[:first]))
                    number += 1
                if count := _newlines(block, first, end):
                    yield number, count, memoryview(block)[first:end]
                number, held, size, block = number + count, [], 0, block[end:]
            held.append(block)
            size += len(block)
            if size > LONGEST_LINE:
                held.clear()
        if size > LONGEST_LINE:
            self._too_long(size, number)
        elif size:
            yield number, 0, b"".join(held)

    def _each(self, number: int, data: bytes | memoryview) -> Iterator[tuple[int, T]]:
        *lines, rest = bytes(data).split(b"\n")
        for at, line in enumerate(lines, number):
            for value in self._one(at, line, ended=True) if line else ():
                yield at, value
        for value in self._one(number + len(lines), rest, ended=False) if rest else ():
            yield number + len(lines), value

    def _one(self, number: int, line: bytes, *, ended: bool) -> Iterator[T]:
        try:
            value = self._decode(line)
        except _UNREADABLE:
            yield from self._mend(number, line, ended)
            return
        yield value
        if not ended:
            self._name("the last line has no newline", number, fatal=False)

    def _mend(self, number: int, line: bytes, ended: bool) -> Iterator[T]:
        """Yield the records that can be recovered from a line that is not valid JSON."""
        if lost := line.count(b"\0"):
            self._name(f"{lost} NUL bytes stand where records may have been", number)
        for piece in _NULS.split(line):
            if piece.strip() and (value := self._tolerant(number, piece, ended)) is not None:
                yield value

    def _tolerant(self, number: int, data: bytes, ended: bool) -> T | None:
        notes: list[str] = []
        try:
            found = json_codec.decode(data, notes)
            if not isinstance(found, dict):
                raise ValueError("not a JSON object")
            value = fit(cast("dict[str, Any]", found), self._kind, notes)
        except ValueError as error:
            return self._again(number, data, ended, str(error))
        for note in notes:
            self._name(note, number, fatal=False)
        return value

    def _again(self, number: int, data: bytes, ended: bool, reason: str) -> T | None:
        """Return the record in a line that starts with an incomplete copy of the same record.

        Such a line is the result of a write that was interrupted and then repeated. Return None,
        with the damage `reason`, if the line has no complete record.
        """
        at = 0
        for _ in range(_AGAIN):
            at = data.find(data[:_BEGINNING], at + 1)
            if at < 0:
                break
            try:
                value = self._decode(data[at:])
            except _UNREADABLE:
                continue
            self._name(f"{at} bytes before a record were not written to their end", number)
            return value
        if ended:
            self._name(reason, number)
        else:
            torn = f"the last line is torn: {len(data)} bytes were not written to their end"
            self._name(torn, number, fatal=False)
        return None

    def _too_long(self, size: int, number: int) -> None:
        self._name(f"a line of {size} bytes is too long to be read", number)

    def _name(self, detail: str, number: int, *, fatal: bool = True) -> None:
        add_damage(self.damages, Damage(detail, number, fatal, self._path))


def _newlines(data: bytes, at: int, end: int) -> int:
    """Return the number of newlines in `data[at:end]`.

    The last of these bytes must be a newline.
    """
    # `find` uses memchr, and takes a tenth of the time of `count`.
    count, find = 0, data.find
    while at < end:
        at = find(b"\n", at) + 1
        count += 1
    return count


def fit(data: dict[str, Any], kind: type[T], notes: list[str]) -> T:
    """Return `data` as a struct of type `kind`, without the fields that do not match.

    A message for each of these fields is appended to `notes`.
    """
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        value = data.get(field.encode_name)
        if value is None:
            continue
        try:
            known[field.name] = msgspec.convert(value, field.type)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: a lone surrogate
            inner = _struct_in(field.type, listed=isinstance(value, list))
            if inner and isinstance(value, dict):
                known[field.name] = fit(cast("dict[str, Any]", value), inner, notes)
            elif inner and isinstance(value, list):
                items = cast("list[Any]", value)
                known[field.name] = [fit(item, inner, notes) for item in items if _is_dict(item)]
            else:
                notes.append(f"{field.encode_name} is not what it should be and is passed over")
    return kind(**known)


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _struct_in(kind: Any, *, listed: bool) -> type[msgspec.Struct] | None:
    """Return the struct type in the type of a field, which may be a union, or None.

    If `listed` is true, search only for `list[Struct]`, otherwise only for a plain struct.
    """
    if get_origin(kind) is list:
        return _struct_in(get_args(kind)[0], listed=False) if listed else None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return None if listed else kind
    found = (_struct_in(one, listed=listed) for one in get_args(kind))
    return next(filter(None, found), None)


@cache
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


class Ends(Generic[T]):
    """A decoder for the first and the last lines of an open transcript.

    Unreadable lines are skipped. A gzip file of the archive is decompressed.
    """

    def __init__(self, fd: int, kind: type[T]) -> None:
        self._kind = kind
        self._size, self._read = opened(fd)

    def _values(self, data: bytes) -> list[T]:
        try:
            return _decoder(self._kind).decode_lines(data)
        except _UNREADABLE:
            return [value for _, value in JsonLines(self._kind).read([data])]

    def head(self, enough: Callable[[T], bool]) -> list[T]:
        """Return the first lines of the file, at least up to a line for which `enough` is true.

        At most 4 MiB are read, so such a line may be missing.
        """
        values: list[T] = []
        for most in ENDS:
            data = self._read(0, min(most, self._size))
            if most < self._size:
                data = data[: data.rfind(b"\n") + 1]
            values = self._values(data)
            if any(map(enough, values)) or most >= self._size:
                break
        return values

    def tail(self, enough: Callable[[T], bool]) -> list[T]:
        """Return the last lines in file order, at least back to a line where `enough` is true.

        At most 4 MiB are read, so such a line may be missing.
        """
        values: list[T] = []
        for most in ENDS:
            start = max(self._size - most, 0)
            data = self._read(start, self._size)
            if start:
                data = data[data.find(b"\n") + 1 or len(data) :]
            values = self._values(data)
            if any(map(enough, values)) or start == 0:
                break
        return values


def time_of(value: Any) -> datetime | None:
    """Return a decoded JSON value as a time in UTC, or None if the value is not a time.

    The value is an ISO text, or a number of seconds or milliseconds since 1970.
    """
    try:
        if type(value) is str:  # the most frequent case comes first
            when = _from_iso(value)
            return when if when.tzinfo is UTC else as_utc(when)
        if type(value) is int and value > _MILLISECONDS:
            return datetime.fromtimestamp(value / 1000, UTC)
        return None if value is None else parse_time(value)
    except (ValueError, OverflowError, OSError):
        return None


def title_of(text: str) -> str:
    """Return a title made from the first line of a user's message.

    A slash command of cortext before the text is removed. The title is "" if the message is only
    a slash command.
    """
    text = without_command(text)
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return "" if line.startswith("/") and " " not in line else shorten(line, WHOLE)


def cut(text: str, longest: int | None) -> str:
    """Return `text`, or only its beginning and end if it has more than `longest` characters."""
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


def last(values: Iterable[str | None]) -> str:
    """Return the last value that is neither None nor empty, or "" if there is none."""
    found = ""
    for value in values:
        found = value or found
    return found


def message(
    role: Role,
    text: str,
    when: datetime,
    id: str,
    calls: list[dict[str, Any]] | None = None,
    answers: str | None = None,
    name: str | None = None,
    data: dict[str, Any] | None = None,
) -> SessionMessage:
    """Return a message of a transcript as a `SessionMessage`.

    `calls` are the tool calls in the message. For a tool result, `answers` is the id of the call
    and `name` is the tool. Call arguments that cannot be stored are replaced by a note.
    """
    if id and when.tzinfo is UTC and (not calls or _are_flat(calls)):
        return of_decoded(role, text, when, id, calls or None, answers, name, None, data)
    try:
        return SessionMessage(role, text, when, id, calls or None, answers, name, None, data)
    except ValueError as error:
        bare = [{**call, "arguments": {"left out": str(error)}} for call in calls or ()]
        return SessionMessage(role, text, when, id, bare, answers, name, None, data)


def _are_flat(calls: list[dict[str, Any]]) -> bool:
    """Return whether no argument is a dict or list, which could be nested too deeply."""
    for call in calls:
        given = call["arguments"]
        if type(given) is dict:
            for value in cast("dict[str, Any]", given).values():
                if type(value) in _NESTED:
                    return False
        elif given is not None and type(given) is not str:
            return False
    return True


def listed(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted by name, or [] if it is missing or unreadable."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn("%s is passed over: %s", folder, reason_of(error))
        return []


def prints(paths: Iterable[str]) -> str:
    """Return a fingerprint that changes if one of the files changes, appears or disappears."""
    marks: list[str] = []
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue  # the file was deleted meanwhile
        marks.append(f"{path} {found.st_mtime_ns} {found.st_size} {found.st_ino}")
    return "\n".join(marks)


def source(tool: str, id: str, entry: os.DirEntry[str]) -> Iterator[TranscriptSource]:
    """Yield the transcript in a folder entry, or nothing if the entry is not a readable file."""
    try:
        found = entry.stat()
    except OSError as error:
        warn("%s is passed over: %s", entry.path, reason_of(error))
        return
    if S_ISREG(found.st_mode):
        mark = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
        yield TranscriptSource(tool, id, entry.path, found.st_size, mark)
