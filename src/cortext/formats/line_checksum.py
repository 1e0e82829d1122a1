"""Checksums at the end of JSON lines, which reveal damage that leaves the JSON valid.

A line with a checksum ends with `,"crc":"1c291ca3"}` instead of `}`. The value is the CRC-32 of the
bytes of the line without the checksum. Lines without a checksum are valid. Line ends of CRLF, as
some editors write them, are not damage.
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
    """Add a checksum to a line, which is one JSON object without a newline."""
    return b'%b,"crc":"%08x"}' % (line[:-1], crc32(line))


def unseal(line: bytes) -> bytes:
    """Remove the checksum from a line. A line without a checksum is returned unchanged."""
    return line.rstrip(b"\r")[:-_LENGTH] + b"}" if is_sealed(line) else line


def is_sealed(line: bytes) -> bool:
    bare = line.rstrip(b"\r")
    return _SEAL.fullmatch(bare, max(len(bare) - _LENGTH, 0)) is not None


def is_sound(line: bytes) -> bool:
    """Return whether the checksum of a line is correct; True also for a line without a checksum."""
    return not is_sealed(line) or crc32(unseal(line)) == _sum_of(line)


def reseal(line: bytes) -> bytes:
    """Compute the checksum of a line again, after the line was changed on purpose.

    A line without a checksum is returned unchanged.
    """
    return seal(unseal(line)) if is_sealed(line) else line


def unseal_lines(data: bytes, start: int, end: int) -> bytes | None:
    """Return the lines from `start` to `end` without their checksums; None if they have none."""
    if data.find(_MARK, start, end) < 0:
        return None
    return _SEALS.sub(b"}", data[start:end])


def mended(line: bytes) -> bytes | None:
    """Repair a line with a checksum in which one bit is wrong; None if there is other damage.

    The difference of the stored and the real CRC-32 identifies the wrong bit. Other damage looks
    like one wrong bit with a probability of 8 * (length of the line) / 2 ** 32.
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
        # Step the difference back by one byte.
        byte = starts[wrong >> 24]
        wrong = ((wrong ^ table[byte]) << 8) & 0xFFFFFFFF | byte
    return None


def _sum_of(line: bytes) -> int:
    return int(line.rstrip(b"\r")[-10:-2], 16)


@cache
def _table() -> list[int]:
    """Return the lookup table of CRC-32, with an entry for each value of a byte."""
    found: list[int] = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return found
