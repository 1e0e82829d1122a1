"""Checksums at the end of JSON lines. They reveal damage even if a damaged line is valid JSON.

A line with a checksum ends with `,"crc":"1c291ca3"}` instead of `}`. The value is the CRC-32 of the
line without the checksum. To seal a line means to add its checksum. A line without a checksum is
also valid. CRLF line ends, which some editors write, are not damage.
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
    """Remove the checksum from a line. A line without a checksum is returned as it is."""
    return line.rstrip(b"\r")[:-_LENGTH] + b"}" if is_sealed(line) else line


def is_sealed(line: bytes) -> bool:
    bare = line.rstrip(b"\r")
    return _SEAL.fullmatch(bare, max(len(bare) - _LENGTH, 0)) is not None


def is_sound(line: bytes) -> bool:
    """Return whether the checksum of a line is correct.

    The result is True for a line without a checksum.
    """
    return not is_sealed(line) or crc32(unseal(line)) == _stored_checksum(line)


def reseal(line: bytes) -> bytes:
    """Replace the checksum of a line that was changed on purpose.

    A line without a checksum is returned as it is.
    """
    return seal(unseal(line)) if is_sealed(line) else line


def unseal_lines(data: bytes, start: int, end: int) -> bytes | None:
    """Return the lines in `data[start:end]` without their checksums.

    The result is None if no line has a checksum.
    """
    if data.find(_MARK, start, end) < 0:
        return None
    return _SEALS.sub(b"}", data[start:end])


def mended(line: bytes) -> bytes | None:
    """Repair a line in which exactly one bit before the checksum is wrong.

    Return None for other damage. The wrong bit is found by comparing the stored CRC-32 with the
    CRC-32 of the line. With a probability of 8 * (length of the line) / 2 ** 32, other damage is
    mistaken for one wrong bit.
    """
    body = bytearray(unseal(line))
    wrong = crc32(body) ^ _stored_checksum(line)
    table = _table()
    bits = {table[1 << bit]: bit for bit in range(8)}
    starts = {value >> 24: byte for byte, value in enumerate(table)}
    for place in range(len(body) - 1, -1, -1):
        if wrong in bits:
            body[place] ^= 1 << bits[wrong]
            return seal(bytes(body))
        # Undo one byte of the CRC, to test the byte before it.
        byte = starts[wrong >> 24]
        wrong = ((wrong ^ table[byte]) << 8) & 0xFFFFFFFF | byte
    return None


def _stored_checksum(line: bytes) -> int:
    return int(line.rstrip(b"\r")[-10:-2], 16)


@cache
def _table() -> list[int]:
    """Return the lookup table of CRC-32, with an entry for each value of a byte."""
    entries: list[int] = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        entries.append(value)
    return entries
