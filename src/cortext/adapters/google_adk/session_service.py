"""A `BaseSessionService` of Google's Agent Development Kit, over a store of cortext."""

from __future__ import annotations

from typing import Any, cast

from cortext.adapters.google_adk.adk_events import mend_last, mended, raw_of
from cortext.adapters.google_adk.adk_session_state import Delta
from cortext.adapters.google_adk.adk_sessions import AdkSessions, SessionKey
from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import PathOrUrl, beside
from cortext.errors import SessionNotFoundError
from cortext.model import json_codec

with needs("google-adk"):
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError as NotFound
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session
    from pydantic_core import to_json

__all__ = ["CortextSessionService", "register"]
_SCHEME = "cortext"


class CortextSessionService(BaseSessionService):
    """Sessions in a store of ours: a path, a URL, or nothing for the default place.

    An event is durable when `append_event` returns. Any number of processes may append to one
    session: no event is lost, and none is refused because others came first. A user is the owner of
    his sessions; app, user and id together name one, so that another user's is not found. A session
    that another program began can be continued by its id, if it has no other owner.
    """

    def __init__(self, path_or_url: PathOrUrl = None) -> None:
        self._sessions = AdkSessions(path_or_url)

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """As in the framework; AlreadyExistsError if there is one with this id."""
        from google.adk.platform import uuid

        given = (session_id or "").strip()
        key = SessionKey(app_name, user_id, given or uuid.new_uuid())
        if not await beside(self._sessions.create, key, Delta.of(_json_state(state or {}))):
            raise AlreadyExistsError(f"Session with id {key.session} already exists.")
        made = await self.get_session(app_name=app_name, user_id=user_id, session_id=key.session)
        if made is None:
            raise NotFound(f"Session {key.session} not found.")
        return made

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """A session, with a sentence in the place of each result that was lost; not where only
        some of the events are asked for."""
        key = SessionKey(app_name, user_id, session_id.strip())
        most = config.num_recent_events if config else None
        after = config.after_timestamp if config else None
        session = await beside(self._sessions.get, key, most, after)
        if session is not None and most is None and after is None and session.events:
            session.events = mended(session.events, session.events[-1].invocation_id)
        return session

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """The sessions of an app and a user, or of all its users, without their events; the one
        used last is the last. Those of a user that another framework began are among them: every
        app can go on with them."""
        sessions = await beside(self._sessions.of_app, app_name, user_id)
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session for good. What its user and its app keep stays."""
        await beside(self._sessions.delete, SessionKey(app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await beside(self._sessions.user_state, app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Add an event, durably; one that is there already, once. Others may have added theirs
        since the session was read."""
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        key = SessionKey(session.app_name, session.user_id, session.id)
        try:
            new = await beside(self._sessions.append, key, raw_of(event))
        except SessionNotFoundError:
            raise NotFound(f"Session {session.id} not found.") from None
        if not new and any(one.id == event.id for one in session.events):
            return event
        if event.author == "user" and not event.get_function_responses():
            # What the last run left open will not be answered any more, and the model is to know.
            mend_last(session.events, event.invocation_id)
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)

    async def close(self) -> None:
        """Let go of open files. It can be used again afterwards."""
        await beside(self._sessions.close)


def register() -> None:
    """Have `cortext:PATH`, and `cortext:` for the default place, among the URIs of the `adk`
    command: call it in the `services.py` of an agents' folder."""
    from google.adk.cli.service_registry import get_service_registry

    get_service_registry().register_session_service(_SCHEME, _from_uri)


def _from_uri(uri: str, **_: Any) -> CortextSessionService:
    place = uri.removeprefix(f"{_SCHEME}:")
    return CortextSessionService(place.removeprefix("//") or None)


def _json_state(state: dict[str, Any]) -> dict[str, Any]:
    """State as it will be read, in the words that the framework's own services use."""
    raw = to_json(state, serialize_unknown=True, inf_nan_mode="null")
    return cast("dict[str, Any]", json_codec.decode(raw))
