"""Lists of sessions on a server: they read what is new, and no session whole."""

import asyncio

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from cortext.adapters.google_adk import CortextSessionService

_MANY = 50


def test_list_sessions_reads_only_new_events(redis_url: str, lines: list[bytes]) -> None:
    """State and time are those of all events, of which the new ones were read."""
    service, other = CortextSessionService(redis_url), CortextSessionService(redis_url)

    async def add(first: int, last: int) -> None:
        session = await other.get_session(app_name="a", user_id="u", session_id="s")
        assert session is not None
        for number in range(first, last):
            actions = EventActions(state_delta={f"n{number}": number})
            await other.append_event(session, Event(author="agent", actions=actions))

    asyncio.run(other.create_session(app_name="a", user_id="u", session_id="s"))
    asyncio.run(add(0, _MANY))
    asyncio.run(service.list_sessions(app_name="a"))
    asyncio.run(add(_MANY, _MANY + 1))
    lines.clear()
    (listed,) = asyncio.run(service.list_sessions(app_name="a")).sessions
    assert listed.state == {f"n{number}": number for number in range(_MANY + 1)}
    assert len(lines) < _MANY
    fresh = asyncio.run(CortextSessionService(redis_url).list_sessions(app_name="a"))
    assert fresh.sessions == [listed]
