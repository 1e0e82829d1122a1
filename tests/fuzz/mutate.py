"""Bytes that are nearly right: valid files, damaged in the ways that files and senders have.

Everything follows from a seed and a number, so that an input can be made again.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

LONGEST = 1 << 16
_VALUE = re.compile(
    rb'"(?:[^"\\\n]|\\.){0,4000}"(?!\s*:)|-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b'
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_PAIR = re.compile(rb'"(?:[^"\\\n]|\\.){1,60}"\s*:\s*(?:"[^"\\\n]{0,400}"|[-\w.]+)')
_TEXT = re.compile(rb'"(?:[^"\\\n]|\\.){0,4000}"')
VALUES = (
    b"null", b"true", b"[]", b"{}", b'""', b"0", b"-1", b"1.5", b"1e400", b"-1e400", b"NaN",
    b"[[]]", b"Infinity", b'{"a":{}}', b'"\\ud800"', b'"../../x"', b'"\\u0000"', b"[null]", b"[1]",
    b'["a"]',
    b'[{"a":1}]', b'"2026-02-30"', b'"0001-01-01T00:00:00+23:59"', b'"9999-12-31T23:59:59-23:59"',
    b'{"type":"text"}', b'{"id":[]}', b'"%s%n"', b"'", b"1" * 400, b"1" * 5000, b"0.1e-99999",
)  # fmt: skip
NUMBERS = (
    b"0", b"-0", b"-1", b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1e308",
    b"-9223372036854775809", b"1e309", b"0.0000001", b"99999999999999", b"253402300800",
    b"-62135596801",
    b"9" * 30, b"9" * 400, b"9" * 4300, b"9" * 4301, b"1" + b"0" * 20000,
)  # fmt: skip
SIGNS = (
    b"\xef\xbb\xbf", b"\xff", b"\xfe\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf0\x9f",
    b"\xe2\x80\xa8",
    b"\r", b"\r\n", b"\n", b"\n\n", b"\x1a", b"\x1b[2J", b"\\ud83d", b"\\udc00", b"\\u0000", b"\\",
    b'"',
    b"{", b"}", b"[", b"]", b",", b":", b"=", b"#", b"'''", b'"""', b".", b"\t", b" " * 300,
)  # fmt: skip
DEPTHS = (3, 60, 199, 200, 201, 400, 1500, 5000, 30000)


def mutated(seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Input `number` of a seed: one of the valid files, or of two, changed one to eight times."""
    random = Random(f"{seed}/{number}")
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        data = random.choice(WAYS)(data, random, seeds)
    return data[:LONGEST]


def _flip(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    bent = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 4, 30)) if bent else 0):
        bent[random.randrange(len(bent))] ^= 1 << random.randrange(8)
    return bytes(bent)


def _cut(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _nuls(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start = random.randrange(len(data) + 1)
    count = random.choice((1, 7, 512, 4096))
    return data[:start] + b"\0" * count + data[start + count * random.randrange(2) :]


def _lines(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """A line twice, or gone, or elsewhere, or without its end."""
    lines = data.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[to:to] = [lines[at]] * random.choice((1, 2, 50))
        case 1:
            del lines[at]
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case _:
            lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    return b"\n".join(lines)


def _put(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + random.choice(SIGNS) + data[start:]


def _drop(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.choice((1, 2, 8, 100)) :]


def _repeat(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start = random.randrange(len(data) + 1)
    piece = data[start : start + random.choice((1, 8, 60, 600))]
    return data[:start] + piece * random.choice((2, 20, 300)) + data[start:]


def _another(pattern: re.Pattern[bytes], make: Callable[[bytes, Random], bytes]):
    """Something that stands in the file, replaced by what is made of it."""

    def change(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
        # From a place on, and not of all places: most files are long.
        found = pattern.search(data, random.randrange(len(data) + 1)) or pattern.search(data)
        if found is None:
            return data
        return data[: found.start()] + make(found[0], random) + data[found.end() :]

    return change


def _value(old: bytes, random: Random) -> bytes:
    return random.choice(VALUES)


def _huge(old: bytes, random: Random) -> bytes:
    return random.choice(NUMBERS)


def _nested(old: bytes, random: Random) -> bytes:
    depth = random.choice((*DEPTHS, random.randrange(900, 1010), random.randrange(200, 1010)))
    left, right = random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"id":', b"}]")))
    return left * depth + random.choice((old, b"1")) + right * depth * random.choice((1, 1, 1, 0))


def _half(old: bytes, random: Random) -> bytes:
    """A text with half a character in it."""
    half = random.choice((b"\\ud800", b"\\udfff", b"\\ud83d", b"\\ud800\\ud800", b"\\u0000"))
    at = random.randrange(1, len(old))
    return old[:at] + half + old[at:] if old[at - 1 : at] != b"\\" else old


def _long(old: bytes, random: Random) -> bytes:
    return old[:-1] + random.choice((b"x", b"\\n", b"\xc3\xa9", b"<", b"a ", b"/..")) * 9000 + b'"'


def _twice(old: bytes, random: Random) -> bytes:
    """A key that is there a second time, with another value."""
    key = old.partition(b":")[0]
    pair = key + b":" + random.choice(VALUES)
    return b",".join(random.choice(((pair, old), (old, pair), (old, pair, old))))


WAYS = (
    _flip, _cut, _splice, _nuls, _lines, _put, _drop, _repeat,
    _another(_VALUE, _value), _another(_VALUE, _value), _another(_NUMBER, _huge),
    _another(_VALUE, _nested), _another(_TEXT, _half), _another(_TEXT, _long),
    _another(_PAIR, _twice),
)  # fmt: skip
