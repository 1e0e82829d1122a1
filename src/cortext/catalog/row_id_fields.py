"""Get ids and bindings for a catalog row from the fields of a session."""

from __future__ import annotations

from cortext.catalog.row import BoundSession
from cortext.catalog.row_text_redaction import shown, told
from cortext.model.session import Session
from cortext.model.tool_binding import bindings_of

_OWN_IDS = "session_id", "thread_id", "conversation_id"


def own_id(session: Session) -> str:
    """Return the id that an agent framework gave a session.

    The framework's adapter stores this id in the metadata of the session. Return "" if there is
    none, or if it is the id of the session itself.
    """
    ids = (session.metadata.get(name) for name in _OWN_IDS)
    given = next((id for id in ids if isinstance(id, str) and id), session.id)
    return told(given) if given != session.id else ""


def shown_bindings(session: Session) -> tuple[BoundSession, ...]:
    """Return the AI-tool sessions that are bound (linked) to a conversation.

    `session` has the fields of the conversation. Names and ids in the result are safe to show.
    """
    return tuple(
        BoundSession(shown(each.tool), id)
        for each in bindings_of(session)
        if (id := shown(each.session_id))
    )
