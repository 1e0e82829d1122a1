"""Checks of the arguments with which a client is created and called.

The error messages never show a token, or text that may contain a token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from cortext.errors import CortextError

TIMEOUT = 10.0
_LONGEST = 1_000_000.0
_BOUNDS = ("window", "ttl", "max_conversations")


def base_url(url: str) -> str:
    """Return the address of a server without a trailing slash.

    Raises CortextError if `url` is not an address, or contains a user, a query or a fragment.
    """
    if type(url) is not str:
        raise CortextError(
            f"the address of a server is text, not {type(url).__name__}", hint=_EXAMPLE
        )
    given = url.strip()
    try:
        parts = urlsplit(given)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_one = is_one and parts.port != 0 and bool(httpx.URL(given).host)
        is_one = is_one and all("!" <= each != "\x7f" for each in given)
    except (ValueError, httpx.InvalidURL):
        is_one = False
    if not is_one:
        bare = given and "://" not in given
        raise CortextError(
            f"not the address of a server: {_public(given)!r}",
            hint=f"it begins with http:// or https://, {_EXAMPLE}" if bare else _EXAMPLE,
        )
    parts = urlsplit(given)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise CortextError(
            f"the address of a server ends with its path: {_public(given)!r} and no more",
            hint="a token is given by itself: Client(url, token)",
        )
    return given.rstrip("/?#")


_EXAMPLE = "as in http://127.0.0.1:8733, which `cortext serve` prints when it starts"


def headers_of(token: str) -> dict[str, str]:
    """Return the HTTP headers that every request sends, with the token if it is not empty.

    Whitespace around the token is removed. Raises CortextError if the token is not text, or has a
    character that no token has.
    """
    if type(token) is not str:
        raise CortextError(
            f"a token is text, not {type(token).__name__}",
            hint="was the file or the variable there that it is read from?",
        )
    plain = {"Content-Type": "application/json", "User-Agent": "cortext"}
    found = token.strip()
    if not all("!" <= each <= "~" for each in found):
        raise CortextError(
            "this cannot be a token: it holds characters that none has",
            hint="one is printed by `cortext serve --new-token NAME`",
        )
    return {**plain, "Authorization": f"Bearer {found}"} if found else plain


def seconds(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"timeout is a number of seconds, not {type(timeout).__name__}")
    if math.isnan(timeout) or not 0 < timeout <= _LONGEST:
        raise ValueError(f"timeout is more than 0 and at most {_LONGEST:,.0f} s, not {timeout!r}")
    return float(timeout)


def repetitions(retries: int | None) -> int | None:
    if retries is not None and (type(retries) is not int or retries < 0):
        raise ValueError(
            f"retries is a whole number from 0, or None for as many as the timeout allows, "
            f"not {retries!r:.60}"
        )
    return retries


def no_others(what: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError if a call has options that it does not accept.

    `what` is the name of the called method or class, and `options` its unknown options. The error
    says where the option belongs.
    """
    for name in options:
        if name in _BOUNDS:
            flag = name.replace("_", "-")
            why = f"the server has it: `cortext serve --{flag}`"
        elif name == "owner":
            why = "the token says who you are; `create`, `get_or_create` and `list` take an owner"
        else:
            why = "there is no such option"
        raise TypeError(f"{what} takes no {name!r}: {why}")


def _public(url: str) -> str:
    """Return the part of a URL that cannot contain a secret, for error messages."""
    shown = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = shown.partition("://")
    place, slash, path = (rest if slashes else shown).partition("/")
    place = place.rpartition("@")[2]
    return (f"{scheme}{slashes}" if slashes else "") + f"{place}{slash}{path}"[:100]
