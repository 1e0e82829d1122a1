"""Text from anybody's file as lists show it."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.catalog.database import plain
from cortext.catalog.row import BoundSession
from cortext.model.safe_text import clean
from cortext.model.secrets.detector import mask_text
from cortext.model.secrets.quick_check import could_hold
from cortext.model.session import Session
from cortext.model.tool_binding import bindings_of

_CUT = "..."
_OWN_IDS = "session_id", "thread_id", "conversation_id"
_OF_KEYS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_HALF = 12
"""Characters of a key that would tell something of it."""


def shown(text: str) -> str:
    """On one line; half characters have no place in a database."""
    return plain(clean(text, lines=False))


def folder_named(path: str) -> str:
    """The name of a folder, as anybody's file may have it, as a row can: none has a NUL."""
    return path.replace("\0", "\N{REPLACEMENT CHARACTER}")


def told(text: str) -> str:
    """As `shown`, of what people wrote, without secrets: a database keeps on its pages, and in its
    log, what was masked in the file since, and of a tool's file nothing is ever masked."""
    if not could_hold(text):
        return shown(text)

    return shown(_without_half(mask_text(text)[0]))


def _without_half(text: str) -> str:
    """Of a title that was cut, without the word at its end where that may be half a key."""
    if not text.endswith(_CUT):
        return text
    begun = text.removesuffix(_CUT)
    rest = begun.rstrip(_OF_KEYS)
    half = begun[len(rest) :]
    mixed = any(map(str.isdigit, half)) and any(map(str.isalpha, half))
    return rest + _CUT if len(half) >= _HALF and mixed else text


def told_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of the texts of which something is left."""
    return tuple(text for text in map(told, texts) if text)


def own_id(session: Session) -> str:
    """The id that a framework gave a session, as its adapter wrote it into the head; "" where that
    is the session's id."""
    found = (session.metadata.get(name) for name in _OWN_IDS)
    given = next((id for id in found if isinstance(id, str) and id), session.id)
    return told(given) if given != session.id else ""


def shown_bindings(session: Session) -> tuple[BoundSession, ...]:
    """Return the tools' sessions that a head names."""
    return tuple(
        BoundSession(shown(each.tool), id)
        for each in bindings_of(session)
        if (id := shown(each.session_id))
    )
