"""Error messages for errors of PostgreSQL, each with a hint that says what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortext.errors import SessionStorageError
from cortext.service.stores.server_retries import AGAIN
from cortext.service.stores.server_urls import scrubbed


class _PostgresErrorRule(NamedTuple):
    """The hint for errors of PostgreSQL with this `code`, or whose text matches `pattern`.

    An error while connecting has no code, only a text. `passing` means that the cause may end soon.
    Such an error is reported only after the time-out.
    """

    code: str
    pattern: str
    hint: str
    passing: bool = False


_KNOWN = (
    _PostgresErrorRule("3D000", r'database ".*" does not exist', "make it: createdb NAME"),
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
        "the server's pg_hba.conf has to let this user, address and database in",
    ),
    _PostgresErrorRule(
        "42501",
        r"permission denied",
        "the user needs CREATE on the database to make the tables, or has to own their schema",
    ),
    _PostgresErrorRule(
        "",
        r"server does not support SSL",
        "leave sslmode out of the URL, or switch TLS on at the server",
    ),
    _PostgresErrorRule(
        "", r"certificate verify failed", "name who signed it: ?sslmode=…&sslrootcert=FILE"
    ),
    _PostgresErrorRule(
        "", r"root certificate file .* does not exist", "name it: ?sslrootcert=FILE"
    ),
    _PostgresErrorRule(
        "53300",
        r"too many clients|too many connections|connection slots are reserved",
        "end some connections, or raise max_connections; each process takes up to 17",
        passing=True,
    ),
    _PostgresErrorRule(
        "25006",
        r"read-only transaction|session is read-only|in hot standby mode",
        "this is a standby: write the primary in the URL, or several hosts with "
        "?target_session_attrs=read-write",
        passing=True,
    ),
    _PostgresErrorRule("57P03", r"is starting up|is shutting down", AGAIN, passing=True),
    _PostgresErrorRule(
        "53100", r"No space left on device", "free some of the server's disk", passing=True
    ),
)


def will_stay(error: Exception) -> bool:
    """Return whether an error of PostgreSQL is known to be permanent, so a retry cannot help."""
    known = _known(error)
    return known is not None and not known.passing


def refused(error: Exception, where: str, secrets: list[str]) -> SessionStorageError:
    """Return the error to raise if the server at `where` answered a call with `error`.

    `secrets` are the passwords to remove from the message.
    """
    known = _known(error)
    sentence = f"PostgreSQL at {where} refused: {scrubbed(_sentence(error), secrets)}"
    return SessionStorageError(sentence, hint=known.hint if known else "")


def no_answer(
    error: Exception, where: str, timeout: float, secrets: list[str]
) -> SessionStorageError:
    """Return the error to raise if the server at `where` did not answer within `timeout` seconds.

    `error` is the error of the last attempt. `secrets` are the passwords to remove from the
    message.
    """
    known, said = _known(error), scrubbed(_sentence(error), secrets)
    if known is not None:
        sentence = f"PostgreSQL at {where} refused for {timeout:g} s: {said}"
        return SessionStorageError(sentence, hint=known.hint)
    sentence = f"no answer from PostgreSQL at {where} within {timeout:g} s"
    return SessionStorageError(f"{sentence}: {said}" if said else sentence, hint=AGAIN)


def _known(error: Exception) -> _PostgresErrorRule | None:
    code, text = getattr(error, "sqlstate", None), str(error)
    for known in _KNOWN:
        if (code and known.code == code) or re.search(known.pattern, text):
            return known
    return None


def _sentence(error: Exception) -> str:
    """Return the server's own message in an error, without the text that libpq adds around it."""
    said = str(error).strip().rpartition("FATAL: ")[2].partition("\n")[0].strip()
    return said.removeprefix("connection failed: ").rstrip(".")
