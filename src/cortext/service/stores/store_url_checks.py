"""Checks of store URLs, and functions that remove passwords from messages.

This module imports no store, so a command can check a URL quickly.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote, urlsplit

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d{0,5})?")
_ENCODING_HINT = (
    "in a user name or password, write '/' as %2F, '@' as %40, '?' as %3F, '#' as %23, '%' as %25"
)


def url_without_secrets(url: str) -> str:
    """Return a URL for an error message.

    If the URL contains an `@`, the user, the password and the options after `?` are removed.
    Otherwise only the options after `?` are removed.
    """
    before, at, after = url.rpartition("@")
    address = after.partition("?")[0]
    return f"{before.partition(':')[0]}://…@{address}" if at else address


def folder_of_url(path: str) -> str:
    """Return the path of the folder that a `file:` URL names.

    `path` is the text after `file:`. A path that starts with `///` is absolute, as in other file
    URLs. A path that starts with exactly two slashes would name a host, so ValueError is raised.
    """
    if not path.startswith("//"):
        return os.path.expanduser(path)
    if not path.startswith("///"):
        name = path.lstrip("/")
        raise ValueError(
            f"file:{path} names a host, not a folder: write file:{name} for a relative path, or "
            f"file:/{name} for an absolute path"
        )
    return path[2:]


def secrets_of(url: str) -> list[str]:
    """Return the passwords in a URL, longest first.

    Each password is in the list as it is written in the URL, and with its `%` escapes decoded.
    """
    _, _, rest = url.partition("//")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    options = [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name]
    texts = {text for raw in (password, *options) for text in (raw, unquote(raw)) if text}
    return sorted(texts, key=len, reverse=True)


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return a text in which each of the `secrets` (passwords) is replaced by `…`."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def check_address(server: str, url: str) -> None:
    """Raise ValueError if the host or the port in a URL is invalid. The message shows no password.

    The usual cause is a password with a special character that is not escaped. `server` is the kind
    of server for the message, such as "Redis".
    """
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        raise ValueError(f"not a URL of {server}: two slashes and a host must follow {scheme}:")
    parts = urlsplit(f"x:{rest}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    check_ports(server, hosts, parts.path + parts.fragment)


def check_ports(server: str, hosts: list[str], beyond: str) -> None:
    """Raise ValueError if one of the `hosts`, such as "localhost:6379", is invalid.

    `beyond` is the text after the hosts in the URL. ValueError is also raised if `beyond` contains
    an `@`, because then a special character in the password is not escaped.
    """
    if "@" in beyond or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(f"not a URL of {server}: the port is not a number ({_ENCODING_HINT})")
