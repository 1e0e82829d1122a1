"""Copy all sessions from one store to another.

The source does not change. A second run copies only new sessions and messages.
"""

from __future__ import annotations

from typing import NamedTuple

from cortext.errors import CortextError
from cortext.model.session import Session
from cortext.stores.damage_checks import raise_if_damaged
from cortext.stores.port import SessionStore


class Failure(NamedTuple):
    """A session that was not copied, and the reason."""

    id: str
    reason: str


class Copied(NamedTuple):
    """The outcome of copying a store.

    `copied` are the ids of the sessions that were copied. `present` are the ids of the sessions
    that the target already had. `failed` are the sessions that could not be copied. Each session of
    the source is in exactly one of these lists.
    """

    copied: list[str]
    present: list[str]
    failed: list[Failure]


def copy_sessions(source: SessionStore, target: SessionStore) -> Copied:
    """Copy all sessions from one store to another.

    If the target has an equal session, nothing is written. If the target has an older version of
    the session, and the source has all messages of this version, the older version is updated. If
    the target has any other session with the same id, that session stays unchanged, and the copy
    counts as failed.
    """
    result = Copied([], [], [])
    for id in source.list_session_ids():
        try:
            reading = source.read(id)
            raise_if_damaged(reading.damages)
            new = _copy(reading.session, target)
        except (CortextError, ValueError) as error:
            result.failed.append(Failure(id, str(error)))
        else:
            (result.copied if new else result.present).append(id)
    return result


def _copy(session: Session, target: SessionStore) -> bool:
    """Copy a session and return whether the target changed.

    Raises ValueError if the target has a different or newer session with this id, or messages that
    the source lacks.
    """
    if target.exists(session.id):
        stored = target.load(session.id)
        if stored == session:
            return False
        source_ids = {message.id for message in session.messages}
        extra = sum(message.id not in source_ids for message in stored.messages)
        if stored.created_at != session.created_at:
            raise ValueError("the target has a different session with this id")
        if stored.updated_at > session.updated_at:
            raise ValueError("the target has a newer version")
        if extra:
            messages = "1 message" if extra == 1 else f"{extra} messages"
            raise ValueError(f"the target has {messages} that the source lacks")
    count = len(session.messages)
    target.save(session)
    # If other processes wrote messages meanwhile, `save` puts them after ours.
    if len(session.messages) != count:
        raise ValueError("another process wrote to the session in the target during the copy")
    if target.load(session.id) != session:
        raise ValueError("the session is different when it is read back from the target")
    return True
