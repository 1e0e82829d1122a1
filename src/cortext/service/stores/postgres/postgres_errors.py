"""Error messages for errors of PostgreSQL. A hint in the message says what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortext.errors import SessionStorageError
from cortext.service.stores.server_retries import AGAIN
from cortext.service.stores.store_url_checks import scrubbed


class _PostgresErrorRule(NamedTuple):
    """The hint for one kind of error of PostgreSQL.

    The rule is for errors with this `code`, and for errors whose text matches `pattern`. An error
    while connecting has no code.

    If `passing` is True, the problem may end soon. The call is then repeated, and the error is
    reported only after the time-out.
    """

    code: str
    pattern: str
    hint: str
    passing: bool = False


_RULES = (
    _PostgresErrorRule(
        "3D000", r'database ".*" does not exist', "create the database: createdb NAME"
    ),
    _PostgresErrorRule(
        "28000",
        r'role ".*" does not exist|is not permitted to log in',
        "check the user in the URL: postgresql://USER@HOST/DATABASE",
    ),
    _PostgresErrorRule(
        "28P01",
        r"authentication failed|no password supplied",
        "check the user and the password in the URL: postgresql://USER:PASSWORD@HOST/DATABASE",
    ),
    _PostgresErrorRule(
        "",
        r"no pg_hba\.conf entry|pg_hba\.conf rejects",
        "the server's pg_hba.conf must allow this user, address and database",
    ),
    _PostgresErrorRule(
        "42501",
        r"permission denied",
        "the user needs CREATE on the database to create the tables, or must own their schema",
    ),
    _PostgresErrorRule(
        "",
        r"server does not support SSL",
        "remove sslmode from the URL, or enable TLS on the server",
    ),
    _PostgresErrorRule(
        "",
        r"certificate verify failed",
        "name the CA certificate in the URL: ?sslmode=…&sslrootcert=FILE",
    ),
    _PostgresErrorRule(
        "",
        r"root certificate file .* does not exist",
        "name the file in the URL: ?sslrootcert=FILE",
    ),
    _PostgresErrorRule(
        "53300",
        r"too many clients|too many connections|connection slots are reserved",
        "close some connections, or raise max_connections; each process uses up to 17",
        passing=True,
    ),
    _PostgresErrorRule(
        "25006",
        r"read-only transaction|session is read-only|in hot standby mode",
        "this is a standby: use the primary in the URL, or several hosts with "
        "?target_session_attrs=read-write",
        passing=True,
    ),
    _PostgresErrorRule("57P03", r"is starting up|is shutting down", AGAIN, passing=True),
    _PostgresErrorRule(
        "53100", r"No space left on device", "free some disk space on the server", passing=True
    ),
)


def is_permanent(error: Exception) -> bool:
    """Return True if an error of PostgreSQL is known to be permanent. A retry cannot help then."""
    rule = _find_rule(error)
    return rule is not None and not rule.passing


def refused(error: Exception, where: str, secrets: list[str]) -> SessionStorageError:
    """Return the exception for a call that the server answered with an error.

    `error` is the error, and `where` is the address of the server. `secrets` are the passwords to
    remove from the message.
    """
    rule = _find_rule(error)
    sentence = f"PostgreSQL at {where} refused: {scrubbed(_server_message(error), secrets)}"
    return SessionStorageError(sentence, hint=rule.hint if rule else "")


def no_answer(
    error: Exception, where: str, timeout: float, secrets: list[str]
) -> SessionStorageError:
    """Return the exception for a call that the server did not answer within `timeout` seconds.

    `error` is the error of the last attempt, and `where` is the address of the server. `secrets`
    are the passwords to remove from the message.
    """
    rule, message = _find_rule(error), scrubbed(_server_message(error), secrets)
    if rule is not None:
        sentence = f"PostgreSQL at {where} refused for {timeout:g} s: {message}"
        return SessionStorageError(sentence, hint=rule.hint)
    sentence = f"no answer from PostgreSQL at {where} within {timeout:g} s"
    return SessionStorageError(f"{sentence}: {message}" if message else sentence, hint=AGAIN)


def _find_rule(error: Exception) -> _PostgresErrorRule | None:
    code, text = getattr(error, "sqlstate", None), str(error)
    for rule in _RULES:
        if (code and rule.code == code) or re.search(rule.pattern, text):
            return rule
    return None


def _server_message(error: Exception) -> str:
    """Return the server's message in an error, without the text that the client library adds."""
    message = str(error).strip().rpartition("FATAL: ")[2].partition("\n")[0].strip()
    return message.removeprefix("connection failed: ").rstrip(".")
