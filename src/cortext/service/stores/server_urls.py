"""Checks of store URLs, and removal of passwords from messages about them.

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
    """Return a URL for an error message: without user, password and the options after `?`."""
    before, at, after = url.rpartition("@")
    address = after.partition("?")[0]
    return f"{before.partition(':')[0]}://…@{address}" if at else address


def folder_of_url(path: str) -> str:
    """Return the folder that the URL `file:PATH` names. `path` is the text after `file:`.

    A path that starts with `///` is absolute, as in file URLs. ValueError is raised for a path that
    starts with `//`, because such a URL names a host.
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

    The list has each password as written in the URL, and with its `%` escapes decoded.
    """
    _, _, rest = url.partition("//")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    options = [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name]
    texts = {text for raw in (password, *options) for text in (raw, unquote(raw)) if text}
    return sorted(texts, key=len, reverse=True)


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return `text` with each of the `secrets` (passwords) replaced by `…`.

    `text` is an error message of another program.
    """
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def check_address(server: str, url: str) -> None:
    """Raise ValueError if the host or port in a URL is invalid. The message has no password.

    The usual cause is a special character in a password that is not escaped. `server` is the name
    of the server for the message, such as "Redis".
    """
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        raise ValueError(f"not a URL of {server}: two slashes and a host must follow {scheme}:")
    parts = urlsplit(f"x:{rest}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    check_ports(server, hosts, parts.path + parts.fragment)


def check_ports(server: str, hosts: list[str], beyond: str) -> None:
    """Raise ValueError if one of `hosts`, such as "localhost:6379", is invalid.

    `beyond` is the text after the hosts in the URL. An `@` in it means that a password contains a
    character that is not escaped.
    """
    if "@" in beyond or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(f"not a URL of {server}: the port is not a number ({_ENCODING_HINT})")
