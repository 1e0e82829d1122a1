"""Error messages for errors of Redis. A hint in the message says what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import strerror
from typing import NamedTuple

from cortext.errors import SessionCorruptedError, SessionStorageError
from cortext.service.stores.server_retries import AGAIN
from cortext.service.stores.store_url_checks import scrubbed


class _RedisErrorRule(NamedTuple):
    """The message and the hint for one kind of error of Redis.

    The rule is for errors whose text matches `pattern`. If `passing` is True, the problem may end
    soon. The call is then repeated, and the error is reported only after the time-out.
    """

    pattern: str
    sentence: str
    hint: str
    passing: bool = False


_RULES = (
    _RedisErrorRule(
        r"NOAUTH|Authentication required",
        "requires a password",
        "add it to the URL: redis://:PASSWORD@HOST:PORT/DB, or redis://USER:PASSWORD@HOST…",
    ),
    _RedisErrorRule(
        r"without any password|no password is set",
        "has no password for this user, but the URL has one",
        "remove it from the URL, or add the user: redis://USER:PASSWORD@HOST…",
    ),
    _RedisErrorRule(
        r"WRONGPASS|invalid (username-)?password",
        "refused the user or the password",
        "check the user and the password in the URL",
    ),
    _RedisErrorRule(
        r"Invalid Database|DB index is out of range",
        "has no database with that number",
        "use 0 to 15, or raise the setting `databases` of the server: redis://HOST:PORT/0",
    ),
    _RedisErrorRule(
        r"^OOM|used memory > 'maxmemory'",
        "has no memory left for this (its setting `maxmemory`)",
        "free memory or raise the limit; a smaller window, ttl or max_conversations needs less",
    ),
    _RedisErrorRule(
        r"^NOPERM|no permissions",
        "does not allow this user to do that: {text}",
        "the user needs the keys PREFIX:*, the channels PREFIX:events:* and the commands of "
        "docs/formats/redis.md",
    ),
    _RedisErrorRule(
        r"^MISCONF",
        "refuses writes, because it cannot save them to its disk",
        "the log of the server has the reason",
    ),
    _RedisErrorRule(
        r"^NOREPLICAS",
        "refuses writes, because it has too few replicas (its setting `min-replicas-to-write`)",
        "try again when the replicas are back",
    ),
    _RedisErrorRule(
        r"protected mode",
        "is in protected mode: it answers only its own machine",
        "set a password or a bind address on the server",
    ),
    _RedisErrorRule(
        r"(?i)CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        "has a certificate that is not trusted here",
        "name the CA certificate: rediss://HOST:PORT/DB?ssl_ca_certs=FILE",
    ),
    _RedisErrorRule(
        r"(?i)certificate.required|handshake.failure",
        "requires a client certificate",
        "name it in the URL: rediss://HOST:PORT/DB?ssl_certfile=FILE&ssl_keyfile=FILE",
    ),
    _RedisErrorRule(
        r"(?i)WRONG_VERSION_NUMBER|record layer failure|packet length too long",
        "does not speak TLS",
        "use redis instead of rediss in the URL, or the port for TLS",
    ),
    _RedisErrorRule(
        r"^LOADING|loading the dataset",
        "is still loading its data",
        "try again later",
        passing=True,
    ),
    _RedisErrorRule(
        r"^READONLY|read only replica",
        "is a replica, which refuses writes",
        "use the master in the URL, or let the sentinels find it: redis+sentinel://…",
        passing=True,
    ),
    _RedisErrorRule(
        r"max number of clients",
        "has no connection left (its setting `maxclients`)",
        "close some connections, or raise the limit",
        passing=True,
    ),
    _RedisErrorRule(
        r"^CLUSTERDOWN|not covered",
        "is a cluster that does not serve all its slots now",
        "check its nodes with `redis-cli cluster nodes`",
        passing=True,
    ),
)
_CLOSED = re.compile(r"(?i)closed by server|connection reset|connection lost|server closed")
_TLS_HINT = "; if the server uses TLS, write rediss instead of redis in the URL"
_NO_TLS_HINT = "; if the server does not use TLS, write redis instead of rediss in the URL"
_CONNECT_ERROR = re.compile(r"Error (-?\d+) connecting to \S+ (.*)")
_SCRIPT_HASH = re.compile(r" script: [0-9a-f]{40}.*", re.DOTALL)
_KEY_TYPES = {"messages": "list", "ids": "list", "created": "zset", "due": "zset"}


def is_wrong_type(error: BaseException) -> bool:
    return "WRONGTYPE" in str(error)


def is_permanent(error: BaseException) -> bool:
    """Return True if an error of Redis is known to be permanent. A retry cannot help then."""
    rule = _find_rule(error)
    return rule is not None and not rule.passing


def refused(error: BaseException, where: str, secrets: list[str]) -> SessionStorageError:
    """Return the exception for a call that the server answered with an error.

    `error` is the error, and `where` is the address of the server. `secrets` are the passwords to
    remove from the message.
    """
    rule, text = _find_rule(error), scrubbed(_error_text(error), secrets)
    if rule is None:
        return SessionStorageError(f"Redis at {where} refused: {text}")
    sentence = rule.sentence.replace("{text}", text)
    return SessionStorageError(f"Redis at {where} {sentence}", hint=rule.hint)


def no_answer(
    error: BaseException, where: str, timeout: float, secrets: list[str], *, secure: bool
) -> SessionStorageError:
    """Return the exception for a call that the server did not answer within `timeout` seconds.

    If it seems that the client uses TLS and the server does not, or the other way round, the hint
    says so.

    Args:
        error: The error of the last attempt.
        where: The address of the server.
        timeout: The time-out of the call, in seconds.
        secrets: The passwords to remove from the message.
        secure: Whether the client uses TLS.
    """
    rule, text = _find_rule(error), scrubbed(_error_text(error), secrets)
    if rule is not None:
        sentence = f"Redis at {where} {rule.sentence}, also after {timeout:g} s"
        return SessionStorageError(sentence, hint=rule.hint)
    sentence = f"no answer from Redis at {where} within {timeout:g} s"
    hint = AGAIN
    if secure and not text:
        hint += _NO_TLS_HINT
    elif not secure and _CLOSED.search(text):
        hint += _TLS_HINT
    return SessionStorageError(f"{sentence}: {text}" if text else sentence, hint=hint)


def wrong_type(where: str, found: Sequence[tuple[str, str]]) -> SessionStorageError:
    """Return the exception for a call that failed because a key has a value of the wrong type.

    Another program has stored this value. `where` is the address of the server. `found` has the
    keys of the call, each with the type of its value on the server.
    """
    for key, kind in found:
        if kind not in ("none", _expected_type(key)):
            return SessionCorruptedError(
                key,
                f"Redis at {where} has a {kind} at this key, not a {_expected_type(key)}",
                hint="another program wrote to this key; use a different `prefix`",
            )
    names = ", ".join(key for key, _ in found)
    return SessionStorageError(
        f"Redis at {where} refused: a key has another kind of value: {names}"
    )


def _expected_type(key: str) -> str:
    if ":owner:" in key:
        return "zset"
    return _KEY_TYPES.get(key.rpartition(":")[2], "hash")


def _find_rule(error: BaseException) -> _RedisErrorRule | None:
    text = _error_text(error)
    text_with_code = f"{getattr(error, 'status_code', None) or ''} {text}".strip()
    for rule in _RULES:
        if re.search(rule.pattern, text_with_code) or re.search(rule.pattern, text):
            return rule
    return None


def _error_text(error: BaseException) -> str:
    """Return the text of an error on one line, without the hash of a Lua script.

    If a connection failed, return only the reason, such as "Connection refused".
    """
    text = " ".join(_SCRIPT_HASH.sub("", str(error)).split()).rstrip(".")
    if parts := _CONNECT_ERROR.match(text):
        return strerror(int(parts[1])) if int(parts[1]) > 1 else parts[2]
    return text
