"""A checksum at the end of a line: what tells a flipped bit that is still valid JSON.

`,"crc":"1c291ca3"}` ends the line in the place of `}`, and is the CRC-32 of the line without it. It
is of bytes, not of values, so nobody has to agree on how JSON is written to check it. A line
without one is as good as ever. That an editor ended lines with CRLF is no damage.
"""

from __future__ import annotations

import re
from functools import cache
from zlib import crc32

KEY = "crc"
_MARK = b',"crc":"'
_POLYNOMIAL = 0xEDB88320
_LENGTH = len(_MARK) + 8 + 2
_SEAL = re.compile(rb',"crc":"[0-9a-f]{8}"\}')
_SEALS = re.compile(rb',"crc":"[0-9a-f]{8}"\}(?=\r*\n)')


def seal(line: bytes) -> bytes:
    """A line, one JSON object without its newline, with its checksum."""
    return b'%b,"crc":"%08x"}' % (line[:-1], crc32(line))


def unseal(line: bytes) -> bytes:
    """A line without its checksum; as it is, if it has none."""
    return line.rstrip(b"\r")[:-_LENGTH] + b"}" if is_sealed(line) else line


def is_sealed(line: bytes) -> bool:
    bare = line.rstrip(b"\r")
    return _SEAL.fullmatch(bare, max(len(bare) - _LENGTH, 0)) is not None


def is_sound(line: bytes) -> bool:
    """Whether a line is as it was sealed; also one that never was."""
    return not is_sealed(line) or crc32(unseal(line)) == _sum_of(line)


def reseal(line: bytes) -> bytes:
    """A line that was changed on purpose, with the checksum that it has now, if it had one."""
    return seal(unseal(line)) if is_sealed(line) else line


def unseal_lines(data: bytes, start: int, end: int) -> bytes | None:
    """Whole lines without their checksums; None if there are none. JSON text holds no raw quote or
    newline, so what is taken stands at the end of a line and nowhere else."""
    if data.find(_MARK, start, end) < 0:
        return None
    return _SEALS.sub(b"}", data[start:end])


def mended(line: bytes) -> bytes | None:
    """A sealed line in which one bit is flipped, as it was; None if that is not what is wrong.

    A checksum is linear: which bit is wrong follows from the difference of the two sums. That other
    damage looks like a single wrong bit has a chance of 8 x the length of the line to 2 ** 32.
    """
    body = bytearray(unseal(line))
    wrong = crc32(body) ^ _sum_of(line)
    table = _table()
    bits = {table[1 << bit]: bit for bit in range(8)}
    starts = {value >> 24: byte for byte, value in enumerate(table)}
    for place in range(len(body) - 1, -1, -1):
        if wrong in bits:
            body[place] ^= 1 << bits[wrong]
            return seal(bytes(body))
        # What the difference was one byte earlier.
        byte = starts[wrong >> 24]
        wrong = ((wrong ^ table[byte]) << 8) & 0xFFFFFFFF | byte
    return None


def _sum_of(line: bytes) -> int:
    return int(line.rstrip(b"\r")[-10:-2], 16)


@cache
def _table() -> list[int]:
    """What one byte does to a CRC-32."""
    found: list[int] = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return found
