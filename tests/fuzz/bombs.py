"""Large inputs of little wit: what might grow beyond its size when it is decoded."""

SIZE = 40_000


def _filled(before: bytes, unit: bytes, after: bytes) -> bytes:
    return before + unit * (SIZE // len(unit)) + after


def bombs(line: bytes) -> dict[str, bytes]:
    """Of a line of JSON that can be decoded: with much more in it, or many times."""
    inside = line.rstrip().removesuffix(b"}")
    return {
        "many lines": _filled(b"", line.rstrip() + b"\n", b""),
        "many empty lines": _filled(line, b"\n", line),
        "a long text": _filled(inside + b',"more":"', b"x", b'"}\n'),
        "a text of escapes": _filled(inside + b',"more":"', b"\\u00e9", b'"}\n'),
        "many texts": _filled(inside + b',"more":[""', b',"ab"', b"]}\n"),
        "many numbers": _filled(inside + b',"more":[0', b",123456", b"]}\n"),
        "many keys": inside + b"".join(b',"k%d":0' % n for n in range(SIZE // 10)) + b"}\n",
        "one key many times": _filled(inside, b',"more":0', b"}\n"),
        "zeros": _filled(line, b"\0", b"\n" + line),
        "no line end": _filled(line + b'{"', b"a", b""),
        "broken lines": _filled(line, b"{\n", line)[:6_000],
        "brackets": _filled(line, b"[", b"\n" + line),
    }
