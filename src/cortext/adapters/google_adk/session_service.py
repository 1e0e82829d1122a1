"""The session service for Google's Agent Development Kit (ADK), on a cortext store."""

from __future__ import annotations

from typing import Any, cast

from cortext.adapters.google_adk.adk_events import raw_of, repair_events, repair_last
from cortext.adapters.google_adk.adk_record_replay import Delta
from cortext.adapters.google_adk.adk_session_storage import AdkSessions, SessionKey
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
    """A session service for the ADK that stores its sessions with cortext.

    `path_or_url` is the path or URL of the cortext store; None means the default folder.

    An event is durable when `append_event` returns. Any number of processes may append to one
    session: no event is lost, and none is refused because another process was faster. A session
    belongs to its user: other users do not find the session. A session that another program began
    can be continued by its id, unless it has another owner.
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
        """Create a session with the initial `state`, and return the session.

        If `session_id` is None or blank, the session gets a new id. Raises AlreadyExistsError if
        there is a session with this id.
        """
        from google.adk.platform import uuid

        given = (session_id or "").strip()
        key = SessionKey(app_name, user_id, given or uuid.new_uuid())
        if not await beside(self._sessions.create, key, Delta.of(_json_state(state or {}))):
            raise AlreadyExistsError(f"Session with id {key.session} already exists.")
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=key.session)
        if session is None:
            raise NotFound(f"Session {key.session} not found.")
        return session

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session, or None if there is no session for these ids.

        Each interrupted tool call gets a substitute result, which says that the result was lost. No
        substitutes are added if `config` selects only some of the events.
        """
        key = SessionKey(app_name, user_id, session_id.strip())
        most = config.num_recent_events if config else None
        after = config.after_timestamp if config else None
        session = await beside(self._sessions.get, key, most, after)
        if session is not None and most is None and after is None and session.events:
            session.events = repair_events(session.events, session.events[-1].invocation_id)
        return session

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of an app without their events, the most recently used last.

        With `user_id`, return only the sessions of this user. Sessions that another framework began
        for a user are included, because every app can continue them.
        """
        sessions = await beside(self._sessions.of_app, app_name, user_id)
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session permanently. The shared state of its user and its app is not deleted."""
        await beside(self._sessions.delete, SessionKey(app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await beside(self._sessions.user_state, app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event to a session durably, and return the event.

        Other processes may add events at the same time. An event that is stored already is not
        added again. Partial events are not stored.
        """
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
            # Open calls of the last run will get no result. Substitutes tell the model about this.
            repair_last(session.events, event.invocation_id)
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)

    async def close(self) -> None:
        """Close the open files. The service can be used again afterwards."""
        await beside(self._sessions.close)


def register() -> None:
    """Register `cortext:PATH` as a session service URI of the `adk` command.

    `cortext:` without a path means the default folder. Call this function in the `services.py` of
    an agents folder.
    """
    from google.adk.cli.service_registry import get_service_registry

    get_service_registry().register_session_service(_SCHEME, _from_uri)


def _from_uri(uri: str, **_: Any) -> CortextSessionService:
    place = uri.removeprefix(f"{_SCHEME}:")
    return CortextSessionService(place.removeprefix("//") or None)


def _json_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state in which every value is a JSON value, as in the ADK's own services."""
    raw = to_json(state, serialize_unknown=True, inf_nan_mode="null")
    return cast("dict[str, Any]", json_codec.decode(raw))
