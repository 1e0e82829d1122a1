"""Fields of a row that are taken from the head of a session."""

from __future__ import annotations

from cortext.catalog.row import BoundSession
from cortext.catalog.sanitize import shown, told
from cortext.model.session import Session
from cortext.model.tool_binding import bindings_of

_OWN_IDS = "session_id", "thread_id", "conversation_id"


def own_id(session: Session) -> str:
    """Return the id that a framework gave a session; "" if it is the id of the session.

    The adapter of the framework writes its id into the head.
    """
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
