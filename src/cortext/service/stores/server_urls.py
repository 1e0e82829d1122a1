"""Checks of store URLs, and removal of passwords from messages about them.

This module imports no store, so a command can check a URL quickly.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote, urlsplit

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d{0,5})?")
_ENCODE = "in a user's name or a password '/' is written %2F, '@' %40, '?' %3F, '#' %23, '%' %25"


def without_secrets(url: str) -> str:
    """Return a URL for an error message: without user, password and the options after `?`."""
    before, at, after = url.rpartition("@")
    shown = after.partition("?")[0]
    return f"{before.partition(':')[0]}://…@{shown}" if at else shown


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
            f"file:{path} names a host, not a folder: write file:{name} for a folder here, or "
            f"file:/{name} for one at the root"
        )
    return path[2:]


def secrets_of(url: str) -> list[str]:
    """Return the passwords in a URL, as written and with `%` escapes decoded, longest first."""
    _, _, rest = url.partition("//")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    given = [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name]
    found = {text for raw in (password, *given) for text in (raw, unquote(raw)) if text}
    return sorted(found, key=len, reverse=True)


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return an error message of another program with `…` in place of each of the `secrets`."""
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
        raise ValueError(f"not a URL of {server}: after {scheme}: come two slashes and a host")
    parts = urlsplit(f"x:{rest}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    check_ports(server, hosts, parts.path + parts.fragment)


def check_ports(server: str, hosts: list[str], beyond: str) -> None:
    """Raise ValueError if one of `hosts`, such as "localhost:6379", is invalid.

    `beyond` is the text after the hosts in the URL. An `@` in it means that a password contains a
    character that is not escaped.
    """
    if "@" in beyond or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(f"not a URL of {server}: the port is no number ({_ENCODE})")
