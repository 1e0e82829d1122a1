"""URLs of stores. Messages about a URL leave out its password.

This module imports no store, so a command can check a URL quickly.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote, urlsplit

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d{0,5})?")
_ENCODE = "in a user's name or a password '/' is written %2F, '@' %40, '?' %3F, '#' %23, '%' %25"


def without_secrets(url: str) -> str:
    """Return a URL for messages, without the user, the password and the text after `?`."""
    before, at, after = url.rpartition("@")
    shown = after.partition("?")[0]
    return f"{before.partition(':')[0]}://…@{shown}" if at else shown


def folder_of_url(path: str) -> str:
    """Return the folder that the URL `file:PATH` names. ValueError is raised if it names a host.

    The path may begin with `///`, as in a file URL.
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
    """Return the passwords in a URL, both as written and decoded, longest first."""
    _, _, rest = url.partition("//")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    given = [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name]
    found = {text for raw in (password, *given) for text in (raw, unquote(raw)) if text}
    return sorted(found, key=len, reverse=True)


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return another program's message without passwords."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def check_address(server: str, url: str) -> None:
    """Raise ValueError if a URL has no valid address. The message repeats no password.

    The usual cause is a password with a special character that is not escaped.
    """
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        raise ValueError(f"not a URL of {server}: after {scheme}: come two slashes and a host")
    parts = urlsplit(f"x:{rest}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    check_ports(server, hosts, parts.path + parts.fragment)


def check_ports(server: str, hosts: list[str], beyond: str) -> None:
    """Check hosts with their ports, and the text after them in the URL, as `check_address` does."""
    if "@" in beyond or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(f"not a URL of {server}: the port is no number ({_ENCODE})")
