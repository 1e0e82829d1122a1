"""Copy all sessions from one store to another.

The source does not change. A second run copies only what is new.
"""

from __future__ import annotations

from typing import NamedTuple

from cortext.errors import CortextError
from cortext.model.session import Session
from cortext.stores.damage_report import raise_if_damaged
from cortext.stores.port import SessionStore


class Failure(NamedTuple):
    """A session that was not copied, and the reason."""

    id: str
    reason: str


class Copied(NamedTuple):
    """The outcome of copying a store: the ids of copied, unchanged and failed sessions.

    Each session of the source is in exactly one of these lists.
    """

    copied: list[str]
    present: list[str]
    failed: list[Failure]


def copy_sessions(source: SessionStore, target: SessionStore) -> Copied:
    """Copy all sessions from one store to another.

    An equal session in the target is left as it is. An older version in the target is updated if
    the source has all its messages. Any other session with the same id in the target stays
    unchanged, and the copy counts as failed.
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

    Raises ValueError if the target would lose something.
    """
    if target.exists(session.id):
        stored = target.load(session.id)
        if stored == session:
            return False
        ours = {message.id for message in session.messages}
        others = sum(message.id not in ours for message in stored.messages)
        if stored.created_at != session.created_at:
            raise ValueError(f"{session.id} is another session in the target, with the same id")
        if stored.updated_at > session.updated_at:
            raise ValueError(f"{session.id} was updated later in the target")
        if others:
            raise ValueError(f"{session.id} has {others} messages in the target that are not ours")
    count = len(session.messages)
    target.save(session)
    # `save` keeps messages that other processes wrote meanwhile, after ours.
    if len(session.messages) != count:
        raise ValueError(f"{session.id} was written to in the target at the same time")
    if target.load(session.id) != session:
        raise ValueError(f"{session.id} did not come back equal from the target")
    return True
