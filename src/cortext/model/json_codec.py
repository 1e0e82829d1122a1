"""The JSON encoder and decoder of cortext.

They use msgspec. The module `json` is imported only for the rare values that msgspec refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import msgspec

_fast_encode = msgspec.json.Encoder().encode
_fast_decode = msgspec.json.Decoder().decode


def encode(value: Any) -> bytes:
    r"""Return `value` as one line of JSON.

    Lone surrogates are written as `\udXXX`. Raises ValueError if the value is nested too deeply.
    """
    try:
        return _fast_encode(value)
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value)
        return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode("ascii")
    except RecursionError:
        raise ValueError("the value is nested too deeply for JSON") from None


def pretty(value: Any, indent: int = 2) -> bytes:
    """Return `value` as JSON on indented lines."""
    data = encode(value)
    try:
        return msgspec.json.format(data, indent=indent)
    except msgspec.DecodeError:
        import json

        return json.dumps(json.loads(data), indent=indent).encode("ascii")


def decode(data: bytes, notes: list[str] | None = None) -> Any:
    """Parse JSON and return its value.

    Two things are accepted that JSON forbids: NaN and infinite numbers are read as None, and a byte
    order mark is skipped. For each of them, a sentence is added to `notes`. Raises ValueError if
    `data` is not JSON.
    """
    try:
        return _fast_decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _tolerant_decode(data, [] if notes is None else notes)


def _tolerant_decode(data: bytes, notes: list[str]) -> Any:
    import json

    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        notes.append("starts with a byte order mark")
    try:
        text = data.decode("utf-8")
        return json.loads(text, parse_constant=_null(notes), parse_float=_finite(notes))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        if _has_conflict_markers(error.doc):
            raise ValueError("not JSON: it contains git conflict markers") from None
        raise ValueError(
            f"not JSON: {error.msg.lower().removesuffix(' at')} at character {error.pos + 1}"
        ) from None


def _has_conflict_markers(text: str) -> bool:
    """Return whether a text has the conflict markers that git writes when a merge fails."""
    return text.strip() == "=======" or any(
        line.startswith(("<<<<<<< ", ">>>>>>> ")) for line in text.splitlines()
    )


def _null(notes: list[str]) -> Callable[[str], None]:
    def constant(word: str) -> None:
        notes.append(f"{word} is read as null")

    return constant


def _finite(notes: list[str]) -> Callable[[str], float | None]:
    def number(word: str) -> float | None:
        value = float(word)
        if isfinite(value):
            return value
        notes.append(f"{word[:20]} is too large for a number and read as null")
        return None

    return number
