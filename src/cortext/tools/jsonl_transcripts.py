"""Readers for transcripts that are lines of JSON: the whole file, or only its beginning and end.

Memory use depends only on the longest line. A line is decoded into a struct with the fields that
cortext needs, and other fields are skipped. If a field has a value of a wrong type, only this field
is lost. A line that cannot be read is reported as damage.
"""

from __future__ import annotations

import json
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
from cortext.formats.message_lines import Damage, add_damage
from cortext.model import json_codec
from cortext.model.json_values import as_utc, parse_time
from cortext.model.message import Role, SessionMessage, unchecked_message
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
"""The numbers of bytes to read at the start or end of a file, in the order of the attempts.

If the needed line is not in the bytes that were read, the next larger number is tried.
"""
_BEGINNING = 12  # bytes of a line that are compared to find a repeated line
_REPEAT_TRIES = 8  # positions in a line at which to try to decode a repeated record
_NULS = re.compile(rb"\0+")
_any_json = json.JSONDecoder()
_NESTED = frozenset((dict, list))
_MILLISECONDS = 10**11  # a larger number is in milliseconds instead of seconds
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MOST = 2**53

Count = Annotated[int, msgspec.Meta(ge=-_MOST, le=_MOST)]
"""The type of a number that is added up, such as tokens.

The limit keeps the sum small enough to be stored.
"""
Cost = Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)]

_from_iso = datetime.fromisoformat


T = TypeVar("T", bound=msgspec.Struct)


def read_blocks(path: str, damages: list[Damage] | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks. A gzip file of the archive is decompressed.

    Damage in the gzip file is added to `damages`. Raises FileNotFoundError if there is no file.
    """
    if path.endswith(SUFFIX):
        found_damages = list[Damage]() if damages is None else damages
        yield from read_packed(path, lambda detail: found_damages.append(Damage(detail, path=path)))
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
    """Return a file name or path without the ending that the archive adds to compressed copies."""
    return name.removesuffix(SUFFIX)


def opened(fd: int) -> tuple[int, Callable[[int, int], bytes]]:
    """Return the size of the open file `fd`, and a function that reads its bytes.

    The arguments of the function are the start and the end of the bytes to read. For a gzip file of
    the archive, the size, the start and the end count decompressed bytes.
    """
    if not is_packed(fd):
        return os.fstat(fd).st_size, lambda start, end: read_range(fd, start, end)
    packed = Packed(fd)

    return packed.size, lambda start, end: packed.read(start, end, warn)


class JsonLines(Generic[T]):
    """A decoder for the JSON lines of a transcript.

    `kind` is the struct class for a line. `path` is the path of the file, for reports of damage.
    `damages` holds the damage that `read` has found.
    """

    def __init__(self, kind: type[T], path: str = "") -> None:
        self.damages: list[Damage] = []
        self._kind, self._path = kind, path
        decoder = msgspec.json.Decoder(kind)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines

    def read(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, T]]:
        """Yield each decoded line in the blocks of a file, with its line number.

        The first line has number 1.
        """
        for number, count, data in self._join(blocks):
            try:
                values = self._decode_lines(data) if count else []
            except _UNREADABLE:
                values = []
            if count and len(values) == count:
                yield from enumerate(values, number)
            else:  # a line is bad or blank, or the last line has no newline
                yield from self._decode_each(number, data)

    def _join(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, int, bytes | memoryview]]:
        """Split blocks into groups of whole lines.

        Yield, for each group, the number of its first line, its count of lines, and its bytes. If
        bytes follow the last newline, they are the last group, with the count 0. To save time, the
        bytes are copied only for a line that spans several blocks.
        """
        number, parts, size = 1, list[bytes](), 0
        for block in blocks:
            if end := block.rfind(b"\n") + 1:
                if size > LONGEST_LINE:
                    start = block.find(b"\n")
                    self._too_long(size + start, number)
                    parts, size, block, end = [], 0, block[start:], end - start
                first = 0
                if size:
                    first = block.find(b"\n") + 1
                    yield number, 1, b"".join((*parts, block[:first]))
                    number += 1
                if count := _newlines(block, first, end):
                    yield number, count, memoryview(block)[first:end]
                number, parts, size, block = number + count, [], 0, block[end:]
            parts.append(block)
            size += len(block)
            if size > LONGEST_LINE:
                parts.clear()
        if size > LONGEST_LINE:
            self._too_long(size, number)
        elif size:
            yield number, 0, b"".join(parts)

    def _decode_each(self, number: int, data: bytes | memoryview) -> Iterator[tuple[int, T]]:
        *lines, rest = bytes(data).split(b"\n")
        for at, line in enumerate(lines, number):
            for value in self._decode_one(at, line, ended=True) if line else ():
                yield at, value
        for value in self._decode_one(number + len(lines), rest, ended=False) if rest else ():
            yield number + len(lines), value

    def _decode_one(self, number: int, line: bytes, *, ended: bool) -> Iterator[T]:
        try:
            value = self._decode(line)
        except _UNREADABLE:
            yield from self._recover(number, line, ended)
            return
        yield value
        if not ended:
            self._report("the last line has no newline", number, fatal=False)

    def _recover(self, number: int, line: bytes, ended: bool) -> Iterator[T]:
        """Yield the records that can be recovered from a line that is not valid JSON.

        `number` is the line number. `ended` is whether the line ends with a newline.
        """
        if lost := line.count(b"\0"):
            self._report(f"{lost} NUL bytes in place of records", number)
        for part in _NULS.split(line):
            values = _split_values(part)
            if len(values) > 1:
                self._report("no newline between two records", number, fatal=False)
            for data in values:
                if (value := self._decode_tolerant(number, data, ended)) is not None:
                    yield value

    def _decode_tolerant(self, number: int, data: bytes, ended: bool) -> T | None:
        notes: list[str] = []
        try:
            decoded = json_codec.decode(data, notes)
            if not isinstance(decoded, dict):
                raise ValueError("not a JSON object")
            value = fit(cast("dict[str, Any]", decoded), self._kind, notes)
        except ValueError as error:
            return self._decode_repeated(number, data, ended, str(error))
        for note in notes:
            self._report(note, number, fatal=False)
        return value

    def _decode_repeated(self, number: int, data: bytes, ended: bool, reason: str) -> T | None:
        """Return the record in a line that starts with an incomplete copy of the same record.

        Such a line is the result of a write that was interrupted and then repeated. If the line has
        no complete record, report it as damage and return None. `reason` is why the line could not
        be decoded. `ended` is whether the line ends with a newline.
        """
        at = 0
        for _ in range(_REPEAT_TRIES):
            at = data.find(data[:_BEGINNING], at + 1)
            if at < 0:
                break
            try:
                value = self._decode(data[at:])
            except _UNREADABLE:
                continue
            self._report(f"an incomplete record of {at} bytes is before a record", number)
            return value
        if ended:
            self._report(reason, number)
        else:
            torn = f"the last line is incomplete ({len(data)} bytes)"
            self._report(torn, number, fatal=False)
        return None

    def _too_long(self, size: int, number: int) -> None:
        self._report(f"a line of {size} bytes is too long to be read", number)

    def _report(self, detail: str, number: int, *, fatal: bool = True) -> None:
        add_damage(self.damages, Damage(detail, number, fatal, self._path))


def _split_values(data: bytes) -> list[bytes]:
    """Split a line that has several JSON values, because newlines between them are missing.

    If the line ends with something else, such as an incomplete value, the last item is the rest of
    the line. The result is [] for a blank line.
    """
    text, at, values = data.decode("utf-8", "surrogateescape").strip(), 0, list[bytes]()
    while at < len(text):
        try:
            _, end = _any_json.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = len(text)
        values.append(text[at:end].encode("utf-8", "surrogateescape"))
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return values


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
    """Convert the decoded JSON object `data` to the struct type `kind`.

    A field with a value of the wrong type is left out, and a message about it is added to `notes`.
    """
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        value = data.get(field.encode_name)
        if value is None:
            continue
        try:
            known[field.name] = msgspec.convert(value, field.type)
        except (msgspec.ValidationError, UnicodeEncodeError):  # encoding fails at a lone surrogate
            inner = _struct_in(field.type, listed=isinstance(value, list))
            if inner and isinstance(value, dict):
                known[field.name] = fit(cast("dict[str, Any]", value), inner, notes)
            elif inner and isinstance(value, list):
                items = cast("list[Any]", value)
                known[field.name] = [fit(item, inner, notes) for item in items if _is_dict(item)]
            else:
                notes.append(f"{field.encode_name} has an unexpected value and is ignored")
    return kind(**known)


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _struct_in(kind: Any, *, listed: bool) -> type[msgspec.Struct] | None:
    """Return the struct class that a field's type annotation `kind` contains, or None.

    If `listed` is true, search only for `list[Struct]`, otherwise only for a plain struct. The
    annotation may be a union of types.
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

    def head(
        self, enough: Callable[[T], bool], better: Callable[[T], bool] | None = None
    ) -> list[T]:
        """Return the decoded lines at the beginning of the file.

        The method reads more and more of the file until `enough` is true for a line. If `better` is
        given, it must also be true for a line, which may be another line. After 256 KiB, `better`
        is ignored. At most 4 MiB are read.
        """
        values: list[T] = []
        for most in ENDS:
            data = self._read(0, min(most, self._size))
            if most < self._size:
                data = data[: data.rfind(b"\n") + 1]
            values = self._values(data)
            is_best = better is None or most >= ENDS[2] or any(map(better, values))
            if (is_best and any(map(enough, values))) or most >= self._size:
                break
        return values

    def tail(self, enough: Callable[[T], bool]) -> list[T]:
        """Return the decoded lines at the end of the file, in the order of the file.

        The method reads at most 4 MiB, and stops earlier if `enough` is true for a line.
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

    def find_texts(self, pattern: re.Pattern[bytes]) -> set[str]:
        """Find all matches of `pattern`, and return the texts that its only group matched.

        Only the first and the last 256 KiB of the file are searched.
        """
        most, size = ENDS[2], self._size
        parts = [(0, size)] if size <= 2 * most else [(0, most), (size - most, size)]
        found = (text for part in parts for text in pattern.findall(self._read(*part)))
        return {text.decode("utf-8", "replace") for text in found}


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

    `calls` are the tool calls in the message. For a tool result, `answers` is the id of the tool
    call, `name` is the tool, and `data` holds facts such as an exit code. Call arguments that
    cannot be stored are replaced by a note.
    """
    if id and when.tzinfo is UTC and (not calls or _are_flat(calls)):
        return unchecked_message(role, text, when, id, calls or None, answers, name, None, data)
    try:
        return SessionMessage(role, text, when, id, calls or None, answers, name, None, data)
    except ValueError as error:
        bare = [{**call, "arguments": {"left out": str(error)}} for call in calls or ()]
        return SessionMessage(role, text, when, id, bare, answers, name, None, data)


def _are_flat(calls: list[dict[str, Any]]) -> bool:
    """Return whether the arguments of all tool calls are simple values, not dicts or lists.

    A dict or list could be nested too deeply to be stored.
    """
    for call in calls:
        arguments = call["arguments"]
        if type(arguments) is dict:
            for value in cast("dict[str, Any]", arguments).values():
                if type(value) in _NESTED:
                    return False
        elif arguments is not None and type(arguments) is not str:
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
        warn("skipped %s: %s", folder, reason_of(error))
        return []


def prints(paths: Iterable[str]) -> str:
    """Return a fingerprint that changes if one of the files changes, appears or disappears."""
    marks: list[str] = []
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            continue  # the file was deleted meanwhile
        marks.append(f"{path} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}")
    return "\n".join(marks)


def source(tool: str, id: str, entry: os.DirEntry[str]) -> Iterator[TranscriptSource]:
    """Yield the location of a transcript: the file `entry`, which belongs to the session `id`.

    Yield nothing if the entry is not a readable file.
    """
    try:
        stat = entry.stat()
    except OSError as error:
        warn("skipped %s: %s", entry.path, reason_of(error))
        return
    if S_ISREG(stat.st_mode):
        fingerprint = f"{stat.st_mtime_ns}-{stat.st_size}-{stat.st_ino}"
        yield TranscriptSource(tool, id, entry.path, stat.st_size, fingerprint)
