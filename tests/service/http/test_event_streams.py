"""Streams of events that end, and those that begin although a store stands still."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortext import MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.service.http import event_streams
from cortext.service.http.access_tokens import TokenFolder, new_token
from cortext.service.http.event_streams import Streams
from cortext.service.http.owned_store import OwnedStore
from cortext.service.stores.conversation_events import Event, Subscription
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop


def test_stream_ends_when_its_token_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was let in by a token that was taken back hears nothing more."""
    monkeypatch.setattr(event_streams, "LOOK_EVERY", 0.05)
    now, folder = [0.0], str(tmp_path)
    annas = new_token(folder, "anna")
    app = create_app(MemoryConversationStore(), tokens=TokenFolder(folder, lambda: now[0]))
    headers = {"Authorization": f"Bearer {annas}"}
    with in_background(app) as url, httpx.Client(base_url=url, headers=headers) as client:
        id = client.post("/v1/conversations").json()["id"]
        with client.stream("GET", f"/v1/conversations/{id}/events") as stream:
            lines = stream.iter_lines()
            assert "event: begin" in [next(lines), next(lines)]
            os.unlink(f"{folder}/anna")
            now[0] = 2.0
            deadline = time.monotonic() + 60
            for _ in lines:
                assert time.monotonic() < deadline, "the stream goes on"
        assert client.get("/v1/conversations").status_code == 401


class Stalled(Subscription):
    """A store that does not answer who wants to follow it."""

    def __init__(self, asked: asyncio.Event) -> None:
        self._asked = asked

    async def start(self) -> None:
        self._asked.set()
        await asyncio.Event().wait()

    async def stop(self) -> None:
        pass

    async def __anext__(self) -> Event:
        raise StopAsyncIteration


class StalledStore(MemoryConversationStore):
    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    def events(self, id: str | None = None) -> Any:
        return Stalled(self.asked)


@in_loop
async def test_stream_polls_store_when_subscription_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a while it looks by itself: what is said is heard."""
    monkeypatch.setattr(event_streams, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(event_streams, "READY_WITHIN", 0.05)
    store = StalledStore()
    id = await store.create()
    known = await store.get(id)
    assert known is not None
    parts = Streams().follow(OwnedStore(store), "", known, None, lambda: True)
    assert b"event: begin" in await asyncio.wait_for(anext(parts), 60)
    await store.add_message(id, Message("user", "hello"))
    while b"hello" not in (part := await asyncio.wait_for(anext(parts), 60)):
        assert part == b": still here\n\n"
    await parts.aclose()


@in_loop
async def test_pending_stream_ends_when_server_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop does not wait for a store that stands still."""
    monkeypatch.setattr(event_streams, "READY_WITHIN", 600)
    store = StalledStore()
    known = await store.get(await store.create())
    assert known is not None
    streams = Streams()

    async def follow() -> list[bytes]:
        return [
            part async for part in streams.follow(OwnedStore(store), "", known, None, lambda: True)
        ]

    following = asyncio.create_task(follow())
    await asyncio.wait_for(store.asked.wait(), 60)
    streams.end()
    assert await asyncio.wait_for(following, 60) == []
