"""URLs of stores. Messages about a URL leave out its password.

This module loads no store, so a command can check a URL at once.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote, urlsplit

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d{0,5})?")
_ENCODE = "in a user's name or a password '/' is written %2F, '@' %40, '?' %3F, '#' %23, '%' %25"


def without_secrets(url: str) -> str:
    """A URL for people: without the user and the password, and without what stands after `?`."""
    before, at, after = url.rpartition("@")
    shown = after.partition("?")[0]
    return f"{before.partition(':')[0]}://…@{shown}" if at else shown


def folder_of_url(path: str) -> str:
    """Return the folder that the URL `file:PATH` names. ValueError if it names a host.

    The path may begin with `///`, as in URLs of files.
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
    """The passwords in a URL, as they are written and as they are meant; longest first."""
    _, _, rest = url.partition("//")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    given = [value for name, value in parse_qsl(rest.partition("?")[2]) if "password" in name]
    found = {text for raw in (password, *given) for text in (raw, unquote(raw)) if text}
    return sorted(found, key=len, reverse=True)


def scrubbed(text: str, secrets: list[str]) -> str:
    """What another program said, without passwords."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def check_address(server: str, url: str) -> None:
    """ValueError, which repeats nothing that may be a password, if a URL has no address that can
    be read: mostly one is written in it with a character that means something else there."""
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        raise ValueError(f"not a URL of {server}: after {scheme}: come two slashes and a host")
    parts = urlsplit(f"x:{rest}")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    check_ports(server, hosts, parts.path + parts.fragment)


def check_ports(server: str, hosts: list[str], beyond: str) -> None:
    """As `check_address`, of hosts with their ports and what stands in the URL after them."""
    if "@" in beyond or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(f"not a URL of {server}: the port is no number ({_ENCODE})")
