"""Each route of the service, through a real server."""

import json
import threading
import uuid
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortext import MemoryConversationStore
from cortext.asgi import create_app
from cortext.features.search import index_entries
from tests.command import begin, ok
from tests.service.http.background import in_background
from tests.service.http.serve_command import Served, served, until


def test_conversation_routes_cover_create_read_summary_and_delete(server: Served) -> None:
    """Created, added to, read, summed up, deleted: in camelCase all along."""
    made = server.ask("POST", "/v1/conversations", {"metadata": {"channel": "web"}})
    assert made.status == 201
    id = made.json["id"]
    assert str(uuid.UUID(id, version=4)) == id
    assert made.headers["location"] == f"/v1/conversations/{id}"
    assert set(made.json) == {"id", "messages", "createdAt", "updatedAt", "metadata"}
    data = {"type": "search", "query": "React libraries"}
    assert server.say(id, "find React libraries").status == 201
    added = server.ask(
        "POST",
        f"/v1/conversations/{id}/messages",
        {"role": "assistant", "content": "**three**", "structuredData": data},
    )
    assert (added.status, added.json["structuredData"]) == (201, data)
    found = server.ask("GET", f"/v1/conversations/{id}").json
    assert [m["content"] for m in found["messages"]] == ["find React libraries", "**three**"]
    assert found["metadata"] == {"channel": "web"}
    assert found["updatedAt"] > found["createdAt"]
    last = server.ask("GET", f"/v1/conversations/{id}/messages?limit=1").json["messages"]
    assert last == [added.json]
    short = server.ask("GET", f"/v1/conversations/{id}/summary").json
    assert short["text"] == "Previous: searched for React libraries"
    assert (short["types"], short["data"]) == (["search"], data)
    assert server.ask("DELETE", f"/v1/conversations/{id}").status == 204
    for path in ("", "/messages", "/summary", "/events"):
        assert server.ask("GET", f"/v1/conversations/{id}{path}").code == "not-found"


def test_create_loads_conversation_by_id_or_creates_another(server: Served) -> None:
    """With `conversationId` the one that is there; otherwise a new one under another id."""
    id = server.create()
    server.say(id, "hello")
    loaded = server.ask("POST", "/v1/conversations", {"conversationId": id})
    assert (loaded.status, loaded.json["id"], len(loaded.json["messages"])) == (200, id, 1)
    missing = str(uuid.uuid4())
    new = server.ask("POST", "/v1/conversations", {"conversationId": missing})
    assert (new.status, new.json["id"] not in (id, missing), new.json["messages"]) == (
        201,
        True,
        [],
    )


def test_post_stores_repeated_message_id_once(server: Served) -> None:
    """A retry with the same message id adds nothing, and says so by its status."""
    id = server.create()
    first, second = (server.say(id, "once", id="m-1") for _ in range(2))
    assert (first.status, second.status, second.json["id"]) == (201, 200, "m-1")
    assert server.texts(id) == ["once"]


def test_post_with_existing_message_id_returns_stored_message(server: Served) -> None:
    """Nothing is added, and the answer (200) is what is stored, not what was sent."""
    id = server.create()
    first = server.say(id, "once", id="m-1", structuredData={"a": 1})
    server.say(id, "between", id="m-2")
    again = server.say(id, "once", id="m-1", structuredData={"a": 1})
    assert (again.status, again.json) == (200, first.json)
    for fields in ({"structuredData": {"a": 2}}, {"timestamp": "2026-01-01T00:00:00Z"}):
        other = server.say(id, "once", id="m-1", **{"structuredData": {"a": 1}, **fields})
        assert (other.status, other.json) == (200, first.json)
    other = server.say(id, "something else", id="m-1")
    assert (other.status, other.json) == (200, first.json)
    assert server.texts(id) == ["once", "between"]


def test_messages_route_returns_last_twenty(server: Served) -> None:
    id = server.create()
    for number in range(23):
        server.say(id, str(number))
    assert server.texts(id) == [str(number) for number in range(3, 23)]


def test_list_returns_newest_conversations_first(server: Served) -> None:
    ids = [server.create() for _ in range(3)]
    found = server.ask("GET", "/v1/conversations?limit=2").json["conversations"]
    assert [entry["id"] for entry in found] == ids[:0:-1]


def test_events_stream_in_order_and_resume_after_last_event_id(server: Served) -> None:
    """What is added, in order, and the end; a reconnection goes on after the last that it saw."""
    id = server.create()
    server.say(id, "before", id="m0")
    stream = _Stream(server, id)
    assert stream.begins_after == "m0"
    server.say(id, "one\nline\u2028", id="m1")
    server.say(id, "two", id="m2")
    assert [stream.next() for _ in range(2)] == [
        ("message", "m1", "one\nline\u2028"),
        ("message", "m2", "two"),
    ]
    stream.close()
    server.say(id, "three", id="m3")
    again = _Stream(server, id, last="m1")
    assert [again.next()[1] for _ in range(2)] == ["m2", "m3"]
    server.ask("DELETE", f"/v1/conversations/{id}")
    assert again.next()[0] == "deleted"
    assert again.response.read().strip() == b""
    again.close()


def test_events_report_gap_when_last_event_id_is_too_old(server: Served) -> None:
    id = server.create()
    for number in range(25):
        server.say(id, str(number), id=f"m{number}")
    stream = _Stream(server, id, last="m0")
    assert stream.next()[0] == "gap"
    assert [stream.next()[1] for _ in range(20)] == [f"m{number}" for number in range(5, 25)]
    stream.close()


def test_health_readiness_metrics_and_schema_need_no_token(server: Served) -> None:
    """They hold nothing of what was said."""
    server.create()
    assert server.ask("GET", "/healthz", token="").json["status"] == "ok"
    assert server.ask("GET", "/readyz", token="").json == {"status": "ready"}
    metrics = server.ask("GET", "/metrics", token="")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = 'cortext_http_requests_total{method="POST",route="/v1/conversations",status="201"} '
    assert line in metrics.body.decode()
    schema = server.ask("GET", "/schema", token="").json
    assert set(schema["paths"]) == {
        "/v1/conversations",
        "/v1/conversations/{id}",
        "/v1/conversations/{id}/messages",
        "/v1/conversations/{id}/summary",
        "/v1/conversations/{id}/events",
        "/v1/sessions",
        "/v1/search",
    }


class _Stream:
    """A connection to the events of a conversation."""

    def __init__(self, server: Served, id: str, last: str = "") -> None:
        self.connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Authorization": f"Bearer {server.token}"}
        headers |= {"Last-Event-ID": last} if last else {}
        self.connection.request("GET", f"/v1/conversations/{id}/events", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.headers["content-type"].startswith("text/event-stream")
        assert self.response.readline() == b"retry: 2000\n"
        # Once this is there, nothing that happens is missed.
        kind, self.begins_after, _ = self.next()
        assert kind == "begin"

    def next(self) -> tuple[str, str, str]:
        """Kind, id and text of the next event."""
        fields: dict[str, str] = {}
        while not fields.get("data"):
            line = self.response.readline().decode().rstrip("\n")
            assert line != "" or not fields or "data" in fields
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        data = json.loads(fields["data"])
        return fields["event"], fields.get("id", ""), data.get("content", "")

    def close(self) -> None:
        self.response.close()
        self.connection.close()


def test_sessions_and_search_serve_workspace_to_local_token_only(tmp_path: Path) -> None:
    """Conversations of a workspace are listed and found, for the person of the machine only."""
    folder = tmp_path / "here"
    folder.mkdir()
    ok(folder, "init")
    id = begin(folder, "plan", "Paging", "How do we page the orders?", "With opaque cursors.")
    begin(folder, "debug", "Other", "Nothing of that kind.")
    token = _new_token(folder, "anna")
    with served(folder) as server:
        page = server.ask("GET", "/v1/sessions?limit=1&type=plan").json
        assert (page["total"], page["next"]) == (1, None)
        (row,) = page["sessions"]
        assert (row["id"], row["title"], row["messages"]) == (id, "Paging", 2)
        (hit,) = server.ask("GET", "/v1/search?q=cursors").json["hits"]
        assert (hit["session"]["id"], hit["message"], hit["role"]) == (id, 2, "assistant")
        (start, end) = hit["marks"][0]
        assert hit["text"][start:end] == "cursors"
        assert server.ask("GET", "/v1/search?q=x&when=nonsense").code == "bad-request"
        for path in ("/v1/sessions", "/v1/search?q=cursors"):
            assert server.ask("GET", path, token=token).code == "forbidden"


def _new_token(folder: Path, name: str) -> str:
    return ok(folder, "serve", "--new-token", name).strip()


def test_search_answers_with_partial_hits_while_index_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a bounded wait, from what was read until then, with how many are left; the next one
    has it all."""
    ok(tmp_path, "init")
    for number in range(3):
        begin(tmp_path, "plan", f"Topic {number}", "How do we page?", "With opaque cursors.")
    let_go, read, count = threading.Event(), index_entries.read_new, 0

    def slowly(row: Any, state: str) -> Any:
        nonlocal count
        count += 1
        assert count == 1 or let_go.wait(30)
        return read(row, state)

    monkeypatch.setattr("cortext.features.search.index_entries.read_new", slowly)
    monkeypatch.setattr("cortext.service.http.local_conversation_queries.WAIT", 0.3)
    monkeypatch.chdir(tmp_path)
    app = create_app(MemoryConversationStore(), sessions=True)
    with in_background(app) as url, httpx.Client(base_url=url, timeout=30) as client:
        try:
            early = client.get("/v1/search?q=cursors").json()
            assert early["left"] >= 1
            assert len(early["hits"]) < 3
        finally:
            let_go.set()
        until(lambda: not client.get("/v1/search?q=cursors").json()["left"], "the end of it")
        assert len(client.get("/v1/search?q=cursors").json()["hits"]) == 3
        assert client.get("/v1/sessions").json()["left"] == 0
