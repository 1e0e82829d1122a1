"""Sessions on a real Redis."""

import asyncio

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

from cortext.adapters.google_adk import CortextSessionService, adk_session_storage, session_service
from cortext.adapters.session_log import id_of
from tests.adapters.children import FORK
from tests.adapters.google_adk.created_sessions import WHO, create
from tests.adapters.google_adk.scenes import APP, USER, last_text
from tests.adapters.google_adk.service_checks import check_events_round_trip, check_service_steps
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order, stored


def test_redis_events_round_trip(redis_url: str) -> None:
    """As from a folder."""
    check_events_round_trip(redis_url)


def test_redis_session_service_behaves_like_in_memory_service(redis_url: str) -> None:
    """Step by step the same as the framework's own service."""
    check_service_steps(redis_url)


def write(url: str, name: str, count: int) -> None:
    async def main() -> None:
        service = CortextSessionService(url)
        session = await service.get_session(**WHO, session_id="s")
        assert session is not None
        for number in range(count):
            text = types.Content(role="user", parts=[types.Part(text=f"{name}-{number}")])
            delta = {f"own-{name}": number, f"user:{name}": number, f"app:{name}": number}
            actions = EventActions(state_delta=delta)
            event = Event(author="user", invocation_id=name, content=text, actions=actions)
            await service.append_event(session, event)

    asyncio.run(main())


def test_eight_processes_write_to_one_session_without_loss(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is stale, and what was acknowledged is there once, with all that it changed; the log
    of the shared state is made shorter meanwhile."""
    monkeypatch.setattr(adk_session_storage, "MOST_CHANGES", 5)
    service = CortextSessionService(redis_url)
    asyncio.run(service.create_session(**WHO, session_id="s"))
    written = eight_write(write, redis_url, 10)
    session = asyncio.run(service.get_session(**WHO, session_id="s"))
    assert session is not None
    in_each_ones_order([last_text([event]) or "" for event in session.events], written)
    for name in (f"w{number}" for number in range(8)):
        found = [session.state[key] for key in (f"own-{name}", f"user:{name}", f"app:{name}")]
        assert found == [9, 9, 9]
    asyncio.run(service.get_user_state(**WHO))
    states = stored(redis_url).inner("state")
    assert states.load(id_of("user", APP, USER)).message_count <= 5


def test_one_of_concurrent_create_session_calls_succeeds(redis_url: str) -> None:
    """The others are told that there is one."""
    ready, outcome = FORK.Barrier(4), FORK.Queue()
    children = [FORK.Process(target=create, args=(redis_url, ready, outcome)) for _ in range(4)]
    for child in children:
        child.start()
    assert sorted(outcome.get(timeout=60) for _ in children) == ["exists"] * 3 + ["made"]
    for child in children:
        child.join(60)


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there; and the same by the command's URI."""
    asyncio.run(fleet_of("google-adk.md", redis_url).create_session(**WHO, session_id="s"))
    service = session_service._from_uri(f"cortext:{redis_url}")
    assert [one.id for one in asyncio.run(service.list_sessions(**WHO)).sessions] == ["s"]
