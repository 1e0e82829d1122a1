"""Copying sessions from one store to another: the source is kept, and it can be run again."""

from __future__ import annotations

from typing import NamedTuple

from cortext.errors import CortextError
from cortext.model.session import Session
from cortext.stores.damage_report import raise_if_damaged
from cortext.stores.port import SessionStore


class Failure(NamedTuple):
    """A session that was not copied, and why."""

    id: str
    reason: str


class Copied(NamedTuple):
    """Every session of the source is in exactly one of these."""

    copied: list[str]
    present: list[str]
    failed: list[Failure]


def copy_sessions(source: SessionStore, target: SessionStore) -> Copied:
    """Copy all sessions. One that the target has already is left alone if it is equal, and
    brought up to date if the source has all its messages; it is never cut back, and never mixed
    with another of the same id."""
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
    """Whether it was new to the target; ValueError if it cannot go there without a loss."""
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
    # What others wrote after the look above is kept by `save`, and stands after ours.
    if len(session.messages) != count:
        raise ValueError(f"{session.id} was written to in the target at the same time")
    if target.load(session.id) != session:
        raise ValueError(f"{session.id} did not come back equal from the target")
    return True
