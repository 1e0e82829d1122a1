"""Code that the Redis and PostgreSQL session stores share: URLs, retries, time-outs and errors."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from cortext.errors import CortextError, SessionStorageError
from cortext.installation import install_command
from cortext.model.ids import check_id

T = TypeVar("T")
TIMEOUT = 10.0
"""Seconds within which a call to a server returns an answer or raises an error."""
_FIRST_TIMEOUT = 2.0
"""Seconds to wait for a server that refuses connections and has never answered before."""
_NO_SERVER_ERRORS = ("Connection refused", "No such file or directory", "Name or service not known")
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_CONNECT_ERROR = re.compile(r"Error -?\d+ connecting to \S+ ")
"""The beginning of an error message of redis-py. It repeats the address."""
_RETRY_HINT = "check that the server is running, and try again"


class Address(msgspec.Struct, frozen=True):
    """The parsed URL of a server.

    - `user`: the user and the password, as written in the URL
    - `hosts`: one or more hosts with ports, as written in the URL
    - `steps`: the parts of the path between slashes
    - `secrets`: the passwords, which must never be shown
    """

    scheme: str
    user: str
    hosts: str
    steps: list[str]
    query: str
    secrets: list[str]

    def __repr__(self) -> str:
        return f"Address({self.shown})"

    @property
    def shown(self) -> str:
        """The hosts and the path of the URL, for messages: without user, password and query."""
        return "/".join([self.hosts, *self.steps])

    def url(self, scheme: str, hosts: str, path: str) -> str:
        """Build a URL from these parts and the user, password and query of this address."""
        user = f"{self.user}@" if self.user else ""
        query = f"?{self.query}" if self.query else ""
        return f"{scheme}://{user}{hosts}/{path}{query}"

    def scrubbed(self, text: str) -> str:
        """Return an error message of another program on one line, with `…` for each password."""
        text = " ".join(text.split()).rstrip(".")
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return text


def address_of(url: str) -> Address:
    """Parse the URL of a server.

    ValueError is raised if the URL is not valid. Its message never contains a password.
    """
    scheme, _, rest = url.partition(":")
    try:
        parts = urlsplit(f"x:{rest}")
    except ValueError:
        parts = urlsplit("")  # the error's text would repeat a password
    user, _, hosts = parts.netloc.rpartition("@")
    is_invalid = parts.fragment or "@" in parts.path or "@" in parts.query
    if is_invalid or not parts.scheme or not rest.startswith("//"):
        raise ValueError(
            f"not the URL of a server: expected {scheme}://USER:PASSWORD@HOST:PORT/…; in USER and "
            "PASSWORD, write '/' as %2F, '@' as %40, '?' as %3F, '#' as %23 and '%' as %25"
        )
    query_passwords = [value for name, value in parse_qsl(parts.query) if "password" in name]
    passwords = [user.partition(":")[2], *query_passwords]
    secrets = {text for raw in passwords for text in (raw, unquote(raw)) if text}
    steps = [unquote(step) for step in parts.path.split("/") if step]
    longest_first = sorted(secrets, key=len, reverse=True)
    return Address(scheme, user, hosts, steps, parts.query, longest_first)


def check_space(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of nested spaces from a URL, and return them as a tuple.

    A space is a named part of a server with its own sessions. Each name is a space inside the
    previous space. InvalidIdError is raised for a name that is not a valid id.
    """
    return tuple(check_id(name) for name in names)


def until_answered(
    attempt: Callable[[], T],
    *,
    passing: tuple[type[Exception], ...],
    no_answer: Callable[[Exception, float], Exception],
    answered_before: bool,
    within: float = TIMEOUT,
) -> T:
    """Call `attempt` until the server answers, and return the answer.

    `passing` has the types of temporary errors. After such an error, `attempt` is called again. So
    a request may reach the server twice and must be safe to repeat.

    After `within` seconds, the function gives up and raises the error that `no_answer` returns.
    `no_answer` gets the last error and the seconds waited. If the server refuses connections and
    has never answered before (`answered_before` is False), it is probably not running, and the
    function gives up earlier.
    """
    start, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except passing as error:
            is_unreachable = not answered_before and any(
                words in str(error) for words in _NO_SERVER_ERRORS
            )
            waited = time.monotonic() - start
            if waited + pause >= (min(_FIRST_TIMEOUT, within) if is_unreachable else within):
                raise no_answer(error, waited) from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def refused(server: str, address: Address, error: Exception, hint: str = "") -> SessionStorageError:
    """Return the error to raise if the server answered a call with `error`.

    `server` is the name of the server, such as "Redis". `hint` tells the user what to do.
    """
    text = address.scrubbed(str(error))
    return SessionStorageError(f"{server} at {address.shown} refused: {text}", hint=hint)


def unanswered(
    server: str, address: Address, error: Exception, waited: float
) -> SessionStorageError:
    """Return the error to raise if the server did not answer in time.

    `server` is the name of the server, such as "Redis". `error` is the error of the last attempt,
    and `waited` is the time waited in seconds.
    """
    text = _CONNECT_ERROR.sub("", address.scrubbed(str(error)))
    sentence = f"no answer from {server} at {address.shown} within {round(waited, 1):g} s"
    return SessionStorageError(f"{sentence}: {text}" if text else sentence, hint=_RETRY_HINT)


@contextmanager
def append_hints() -> Generator[None]:
    """Add to the error hint that an unanswered append in the `with` block can be repeated.

    The added text says that a message with the same id is stored only once.
    """
    try:
        yield
    except SessionStorageError as error:
        if error.hint == _RETRY_HINT:
            error.hint += "; a message with the same id is stored only once"
        raise


def needed(module: str, server: str, extra: str) -> Any:
    """Import an optional package and return it.

    CortextError is raised if the package is missing. Its hint says how to install the `extra` of
    cortext that contains the package. `server` is the name of the server for the message.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise CortextError(
            f"sessions in {server} need the package {package}",
            hint=f"install it with `{install_command(extra)}`",
        ) from None
