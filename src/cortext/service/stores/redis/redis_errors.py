"""Error messages for errors of Redis, each with a hint that says what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import strerror
from typing import NamedTuple

from cortext.errors import SessionCorruptedError, SessionStorageError
from cortext.service.stores.server_retries import AGAIN
from cortext.service.stores.server_urls import scrubbed


class _RedisErrorRule(NamedTuple):
    """The message and the hint for errors of Redis whose text matches `pattern`.

    `passing` means that the cause may end soon. Such an error is reported only after the time-out.
    """

    pattern: str
    sentence: str
    hint: str
    passing: bool = False


_KNOWN = (
    _RedisErrorRule(
        r"NOAUTH|Authentication required",
        "wants a password",
        "write it in the URL: redis://:PASSWORD@HOST:PORT/DB, or redis://USER:PASSWORD@HOST…",
    ),
    _RedisErrorRule(
        r"without any password|no password is set",
        "has no password for this user, and the URL has one",
        "leave it out of the URL, or write the user too: redis://USER:PASSWORD@HOST…",
    ),
    _RedisErrorRule(
        r"WRONGPASS|invalid (username-)?password",
        "refused the user or the password",
        "check both in the URL",
    ),
    _RedisErrorRule(
        r"Invalid Database|DB index is out of range",
        "has no database of that number",
        "a server has 0 to 15 unless its setting `databases` says otherwise: redis://HOST:PORT/0",
    ),
    _RedisErrorRule(
        r"^OOM|used memory > 'maxmemory'",
        "has no memory left for this (its setting `maxmemory`)",
        "free some or allow more; a smaller window, ttl or max_conversations needs less",
    ),
    _RedisErrorRule(
        r"^NOPERM|no permissions",
        "does not let this user do that: {text}",
        "it needs the keys PREFIX:*, the channels PREFIX:events:* and the commands of "
        "docs/formats/redis.md",
    ),
    _RedisErrorRule(
        r"^MISCONF",
        "takes no writes, for it cannot save them to its disk",
        "its log says why",
    ),
    _RedisErrorRule(
        r"^NOREPLICAS",
        "takes no writes, for it has too few replicas (its setting `min-replicas-to-write`)",
        "try again when they are back",
    ),
    _RedisErrorRule(
        r"protected mode",
        "is in protected mode: it answers its own machine only",
        "give it a password, or an address to bind to",
    ),
    _RedisErrorRule(
        r"(?i)CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        "has a certificate that is not trusted here",
        "name who signed it: rediss://HOST:PORT/DB?ssl_ca_certs=FILE",
    ),
    _RedisErrorRule(
        r"(?i)certificate.required|handshake.failure",
        "wants a certificate from whoever connects",
        "name yours: rediss://HOST:PORT/DB?ssl_certfile=FILE&ssl_keyfile=FILE",
    ),
    _RedisErrorRule(
        r"(?i)WRONG_VERSION_NUMBER|record layer failure|packet length too long",
        "does not speak TLS",
        "write redis instead of rediss in the URL, or the port that does",
    ),
    _RedisErrorRule(
        r"^LOADING|loading the dataset",
        "is still loading its data",
        "try again when it has",
        passing=True,
    ),
    _RedisErrorRule(
        r"^READONLY|read only replica",
        "is a replica, and takes no writes",
        "write its master in the URL, or have the sentinels name it: redis+sentinel://…",
        passing=True,
    ),
    _RedisErrorRule(
        r"max number of clients",
        "has no connection left (its setting `maxclients`)",
        "end some, or allow more",
        passing=True,
    ),
    _RedisErrorRule(
        r"^CLUSTERDOWN|not covered",
        "is a cluster that does not serve all its slots now",
        "look at its nodes with redis-cli cluster nodes",
        passing=True,
    ),
)
_CLOSED = re.compile(r"(?i)closed by server|connection reset|connection lost|server closed")
_TLS = "; if it speaks TLS there, write rediss instead of redis in the URL"
_NO_TLS = "; if it speaks no TLS there, write redis instead of rediss in the URL"
_CONNECTING = re.compile(r"Error (\d+) connecting to \S+ (.*)")
_SCRIPT = re.compile(r" script: [0-9a-f]{40}.*", re.DOTALL)
_KINDS = {"messages": "list", "ids": "list", "created": "zset", "due": "zset"}


def is_wrong_type(error: BaseException) -> bool:
    return "WRONGTYPE" in str(error)


def will_stay(error: BaseException) -> bool:
    """Return whether an error of Redis is known to be permanent, so that a retry cannot help."""
    known = _known(error)
    return known is not None and not known.passing


def refused(error: BaseException, where: str, secrets: list[str]) -> SessionStorageError:
    """Return the error to raise if the server at `where` answered a call with `error`.

    `secrets` are the passwords to remove from the message.
    """
    known, text = _known(error), scrubbed(_said(error), secrets)
    if known is None:
        return SessionStorageError(f"Redis at {where} refused: {text}")
    sentence = known.sentence.replace("{text}", text)
    return SessionStorageError(f"Redis at {where} {sentence}", hint=known.hint)


def no_answer(
    error: BaseException, where: str, timeout: float, secrets: list[str], *, secure: bool
) -> SessionStorageError:
    """Return the error to raise if the server at `where` did not answer within `timeout` seconds.

    `error` is the error of the last attempt, `secrets` are the passwords to remove from the
    message, and `secure` says whether our side uses TLS. If it seems that only one side uses TLS,
    the hint says so.
    """
    known, text = _known(error), scrubbed(_said(error), secrets)
    if known is not None:
        waited = f"Redis at {where} {known.sentence}, also after {timeout:g} s"
        return SessionStorageError(waited, hint=known.hint)
    sentence = f"no answer from Redis at {where} within {timeout:g} s"
    hint = AGAIN
    if secure and not text:
        hint += _NO_TLS
    elif not secure and _CLOSED.search(text):
        hint += _TLS
    return SessionStorageError(f"{sentence}: {text}" if text else sentence, hint=hint)


def wrong_type(where: str, found: Sequence[tuple[str, str]]) -> SessionStorageError:
    """Return the error to raise if another program stored a value of another type under our keys.

    `found` has the keys of the failed call, each with the type of its value on the server.
    """
    for key, kind in found:
        if kind not in ("none", _kind_of(key)):
            return SessionCorruptedError(
                key,
                f"Redis at {where} has a {kind} there, not a {_kind_of(key)}",
                hint="something else wrote to this key: another `prefix` keeps them apart",
            )
    names = ", ".join(key for key, _ in found)
    return SessionStorageError(f"Redis at {where} refused: another kind of value is in {names}")


def _kind_of(key: str) -> str:
    if ":owner:" in key:
        return "zset"
    return _KINDS.get(key.rpartition(":")[2], "hash")


def _known(error: BaseException) -> _RedisErrorRule | None:
    text = _said(error)
    coded = f"{getattr(error, 'status_code', None) or ''} {text}".strip()
    for known in _KNOWN:
        if re.search(known.pattern, coded) or re.search(known.pattern, text):
            return known
    return None


def _said(error: BaseException) -> str:
    """Return the text of an error in one line, without the hash of a Lua script.

    For a failed connection, return only the reason, such as "Connection refused".
    """
    text = " ".join(_SCRIPT.sub("", str(error)).split()).rstrip(".")
    if found := _CONNECTING.match(text):
        return strerror(int(found[1])) if found[1] != "1" else found[2]
    return text
