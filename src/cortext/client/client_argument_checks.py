"""Checks of the arguments with which a client is created or called.

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
_MAX_TIMEOUT = 1_000_000.0
_STORE_OPTIONS = ("window", "ttl", "max_conversations")


def base_url(url: str) -> str:
    """Check the address of a server, and return it without a slash at the end.

    Raises CortextError if `url` is not an HTTP address, or if it contains a user name, a query or a
    fragment.
    """
    if type(url) is not str:
        raise CortextError(
            f"the address of a server must be a string, not {type(url).__name__}", hint=_EXAMPLE
        )
    stripped = url.strip()
    try:
        parts = urlsplit(stripped)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_valid = is_valid and parts.port != 0 and bool(httpx.URL(stripped).host)
        is_valid = is_valid and all("!" <= each != "\x7f" for each in stripped)
    except (ValueError, httpx.InvalidURL):
        is_valid = False
    if not is_valid:
        lacks_scheme = stripped and "://" not in stripped
        raise CortextError(
            f"not the address of a server: {_without_secrets(stripped)!r}",
            hint=f"start it with http:// or https://, {_EXAMPLE}" if lacks_scheme else _EXAMPLE,
        )
    parts = urlsplit(stripped)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise CortextError(
            f"the address of a server must end with its path: {_without_secrets(stripped)!r}",
            hint="pass the token as a separate argument: Client(url, token)",
        )
    return stripped.rstrip("/?#")


_EXAMPLE = "such as http://127.0.0.1:8733; `cortext serve` prints it when it starts"


def headers_of(token: str) -> dict[str, str]:
    """Return the HTTP headers of every request. They contain the token, if it is not empty.

    Whitespace around the token is removed. Raises CortextError if the token is not a string, or if
    it has a character that no token contains.
    """
    if type(token) is not str:
        raise CortextError(
            f"a token must be a string, not {type(token).__name__}",
            hint="check that the file or variable with the token exists",
        )
    headers = {"Content-Type": "application/json", "User-Agent": "cortext"}
    stripped = token.strip()
    if not all("!" <= each <= "~" for each in stripped):
        raise CortextError(
            "the token is invalid: it contains characters that no token has",
            hint="`cortext serve --new-token NAME` prints a new token",
        )
    return {**headers, "Authorization": f"Bearer {stripped}"} if stripped else headers


def seconds(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"timeout must be a number of seconds, not {type(timeout).__name__}")
    if math.isnan(timeout) or not 0 < timeout <= _MAX_TIMEOUT:
        raise ValueError(
            f"timeout must be above 0 and at most {_MAX_TIMEOUT:,.0f} s, not {timeout!r}"
        )
    return float(timeout)


def repetitions(retries: int | None) -> int | None:
    if retries is not None and (type(retries) is not int or retries < 0):
        raise ValueError(
            f"retries must be a whole number from 0, or None to retry until the timeout, "
            f"not {retries!r:.60}"
        )
    return retries


def reject_unknown_options(what: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError if a call has unknown options.

    `what` is the name of the called method or class, for the message. `options` are the unknown
    options. If an option can be used elsewhere, the message says where.
    """
    for name in options:
        if name in _STORE_OPTIONS:
            flag = name.replace("_", "-")
            why = f"set it on the server: `cortext serve --{flag}`"
        elif name == "owner":
            why = "the token identifies you; `create`, `get_or_create` and `list` accept an owner"
        else:
            why = "this option does not exist"
        raise TypeError(f"{what} does not accept {name!r}: {why}")


def _without_secrets(url: str) -> str:
    """Return a URL for an error message, without the parts that may contain a secret."""
    address = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = address.partition("://")
    host, slash, path = (rest if slashes else address).partition("/")
    host = host.rpartition("@")[2]
    return (f"{scheme}{slashes}" if slashes else "") + f"{host}{slash}{path}"[:100]
