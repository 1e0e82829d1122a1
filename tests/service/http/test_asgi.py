"""The service as an application: mounted in another one, and with that one's users."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from cortext import CortextError, MemoryConversationStore
from cortext.asgi import create_app
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop

TOKEN = "t" * 20


async def _home(request: Any) -> PlainTextResponse:
    return PlainTextResponse("theirs")


def _in_starlette(service: Any) -> Any:
    return Starlette(routes=[Route("/", _home), Mount("/chat", service)])


def _in_fastapi(service: Any) -> Any:
    app = FastAPI()
    app.get("/", response_class=PlainTextResponse)(lambda: "theirs")
    app.mount("/chat", service)
    return app


@pytest.mark.parametrize("mounted", [_in_starlette, _in_fastapi])
def test_app_serves_below_mount_path_of_starlette_and_fastapi(
    mounted: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Below any path, beside the other's own routes, through a real server."""
    app = mounted(create_app(MemoryConversationStore(), tokens={TOKEN: "anna"}))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with in_background(app) as url, httpx.Client(base_url=url, headers=headers) as client:
        assert client.get("/").text == "theirs"
        id = client.post("/chat/v1/conversations").json()["id"]
        path = f"/chat/v1/conversations/{id}/messages"
        assert client.post(path, json={"role": "user", "content": "hello"}).status_code == 201
        assert [m["content"] for m in client.get(path).json()["messages"]] == ["hello"]
        assert client.get(path, headers={"Authorization": ""}).status_code == 401
        assert (
            client.post(path, content="x", headers={"Content-Type": "text/plain"}).status_code
            == 415
        )
        assert client.get("/chat/schema").status_code == 200
        assert client.get("/v1/conversations").status_code == 404


def _by_header(scope: Mapping[str, Any]) -> str | None:
    name = dict(scope["headers"]).get(b"x-user", b"").decode()
    return name or None


@in_loop
async def test_owner_of_decides_which_conversations_a_request_reaches() -> None:
    """`owner_of` says whose conversations a request is about; None is nobody."""
    app = create_app(MemoryConversationStore(), owner_of=_by_header, hosts=["*"])
    async with _client(app) as client:
        anna, bob = ({"X-User": name} for name in ("anna", "bob"))
        made = (await client.post("/v1/conversations", headers=anna)).json()
        assert made["owner"] == "anna"
        path = f"/v1/conversations/{made['id']}"
        found = [(await client.get(path, headers=h)).status_code for h in (anna, bob, {})]
        assert found == [200, 404, 401]


@pytest.mark.parametrize(
    "path",
    ["//v1/conversations", "///v1//conversations", "v1/conversations", "/v1//conversations",
     "//v1/sessions", "v1/search", "//v1/conversations/{id}", "//v1/conversations/{id}/messages",
     "/elsewhere/below/v1/conversations", "/v1/conversations/", "/v1/sessions/"],
)  # fmt: skip
@pytest.mark.parametrize("root", ["", "/below"])
@in_loop
async def test_path_spelling_never_bypasses_token_check(path: str, root: str) -> None:
    """What the framework takes for a data route needs a token, however it is written."""
    store = MemoryConversationStore()
    id = await store.create(owner="anna")
    app = create_app(store, tokens={TOKEN: "anna"}, sessions=True)
    for prefix in {"", root}:
        for method in ("GET", "POST", "DELETE"):
            answers: list[Any] = []
            scope = {
                "type": "http", "method": method, "path": prefix + path.format(id=id),
                "root_path": root, "query_string": b"q=x", "scheme": "http",
                "http_version": "1.1", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
                "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
            }  # fmt: skip
            await app(scope, _nothing_more, _kept(answers))
            assert answers[0]["status"] in (401, 404, 405), (prefix, method)
            assert b'"code"' in answers[1]["body"]
    assert [entry.id for entry in await store.list()] == [id]


async def _nothing_more() -> dict[str, Any]:
    return {"type": "http.request", "body": b'{"role":"user","content":"x"}', "more_body": False}


def _kept(answers: list[Any]) -> Any:
    async def send(message: Any) -> None:
        answers.append(message)

    return send


@in_loop
async def test_app_without_tokens_refuses_requests_from_other_machines() -> None:
    """An application that nobody gave tokens is closed to others, wherever it listens."""
    app = create_app(MemoryConversationStore(), hosts=["*"])
    for address, status in [("127.0.0.1", 201), ("::1", 201), ("10.0.0.7", 403), ("8.8.8.8", 403)]:
        async with _client(app, address) as client:
            reply = await client.post("/v1/conversations")
            assert reply.status_code == status
    assert reply.json()["code"] == "token-needed"


@in_loop
async def test_app_hides_sessions_and_search_by_default() -> None:
    """`sessions` is off by default: a service for others has none of its host's history."""
    async with _client(create_app(MemoryConversationStore())) as client:
        for path in ("/v1/sessions", "/v1/search?q=x"):
            assert (await client.get(path)).status_code == 404


@in_loop
async def test_unexpected_error_answers_500_and_hides_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The client learns nothing of it, and our log everything."""

    class Broken(MemoryConversationStore):
        async def get(self, id: str) -> Any:
            raise RuntimeError("secret /path")

    async with _client(create_app(Broken())) as client:
        reply = await client.get("/v1/conversations/x")
        assert (reply.status_code, reply.json()["code"]) == (500, "internal")
        assert "secret" not in reply.text
    assert "secret /path" in caplog.text


@in_loop
async def test_store_error_answers_503_without_paths_or_hosts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What the store said is told to the client, where that was only to our log."""
    from cortext import SessionCorruptedError, SessionLockedError, SessionStorageError

    errors = [
        (
            SessionStorageError("could not write /secret a: no space left", path="/secret a"),
            ("unavailable", "could not write a file: no space left"),
        ),
        (
            SessionStorageError("no answer from Redis at secret.host:6379/0 within 5 s: refused"),
            ("unavailable", "no answer from Redis within 5 s: refused"),
        ),
        (
            SessionStorageError(
                'PostgreSQL at 10.0.0.7:5432/secret refused: server at "10.0.0.7", port 5432: no'
            ),
            ("unavailable", "PostgreSQL refused: server: no"),
        ),
        (
            SessionLockedError("/secret", holder="pid 1 on secret", waited=1),
            ("busy", "a file is locked by another process (waited 1 s)"),
        ),
        (SessionCorruptedError("/secret", "torn"), ("damaged", "a file: torn")),
    ]

    class Failing(MemoryConversationStore):
        error: CortextError

        async def get(self, id: str) -> Any:
            raise self.error

    store = Failing()
    async with _client(create_app(store)) as client:
        for error, told in errors:
            store.error = error
            caplog.clear()
            reply, ready = [await client.get(p) for p in ("/v1/conversations/x", "/readyz")]
            for found in (reply, ready):
                assert found.status_code == 503
                assert (found.json()["code"], found.json()["detail"]) == told
                assert "secret" not in found.text
            assert "message `id`" not in ready.json()["hint"]
            assert caplog.text.count(str(error)) == 2


@in_loop
async def test_readyz_answers_503_when_store_does_not_respond(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why is said in the answer, and in the log."""
    import asyncio

    class Silent(MemoryConversationStore):
        async def get(self, id: str) -> Any:
            await asyncio.Event().wait()

    monkeypatch.setattr("cortext.service.http.application._READY_TIMEOUT", 0.01)
    async with _client(create_app(Silent())) as client:
        found = (await client.get("/readyz")).json()
    assert (found["status"], found["detail"]) == (503, "no answer within 0.01 s")
    assert "no answer within 0.01 s" in caplog.text


def test_create_app_refuses_object_that_is_not_a_store() -> None:
    odd: Any
    for odd in (object(), MemoryConversationStore, {}):
        with pytest.raises(CortextError, match="cannot be served: it is not a ConversationStore"):
            create_app(odd)


def _anna(_scope: Any) -> str:
    return "anna"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"store": "memory:"}, r"the store must be an object, not text"),
        ({"hosts": "chat.example"}, r"hosts must be a list of names.*\['chat.example'\]"),
        ({"hosts": []}, "hosts must not be empty"),
        ({"hosts": ["https://chat.example"]}, "is not a host name"),
        ({"tokens": {TOKEN: "anna"}, "owner_of": _anna}, "tokens and owner_of cannot be combined"),
        ({"owner_of": _anna, "sessions": True}, "sessions and owner_of cannot be combined"),
        ({"tokens": ["abc"]}, "tokens must be a dict {token: owner}, not list"),
        ({"tokens": {TOKEN: None}}, "of strings"),
        ({"tokens": {"short": "anna"}}, "a token must have at least 16 characters, not 5"),
        ({"tokens": {"long but with a break\n": "anna"}}, "printable ASCII"),
        ({"owner_of": "anna"}, "owner_of must be a function of the ASGI scope, not str"),
        ({"secret": "short"}, "a secret must have at least 16 characters, not 5"),
        ({"secret": b"x" * 32}, "secret must be a string, not bytes"),
        ({"rate": -1}, "rate must be a whole number from 0, not -1"),
        ({"max_body": 0}, "max_body must be a whole number from 1"),
        ({"max_streams": "5"}, "max_streams must be a whole number from 0, not '5'"),
        ({"pages": "yes"}, "pages must be True or False"),
    ],
)
def test_create_app_refuses_invalid_arguments(arguments: dict[str, Any], said: str) -> None:
    """In one sentence, and not when the first client asks; no secret is in it."""
    given: Any = {"store": MemoryConversationStore(), **arguments}
    store = given.pop("store")
    with pytest.raises((CortextError, ValueError), match=said) as raised:
        create_app(store, **given)
    assert "break" not in str(raised.value)
    if store == "memory:":
        assert "open_store('memory:')" in getattr(raised.value, "hint", "")


def test_create_app_error_hides_password_of_store_url() -> None:
    """Who gives the URL of a store instead of it is told what to do, without it."""
    with pytest.raises(CortextError) as raised:
        create_app("redis://u:secret@127.0.0.1/0")  # pyright: ignore[reportArgumentType]
    assert "secret" not in f"{raised.value} {raised.value.hint}"
    assert "open_store('redis:…')" in raised.value.hint


@in_loop
async def test_app_awaits_asynchronous_owner_of() -> None:
    """An `async` function, and any other that gives something to wait for."""
    import asyncio

    async def asked(scope: Mapping[str, Any]) -> str | None:
        await asyncio.sleep(0)
        return _by_header(scope)

    for owner_of in (asked, lambda scope: asked(scope)):
        async with _client(create_app(MemoryConversationStore(), owner_of=owner_of)) as client:
            made = await client.post("/v1/conversations", headers={"X-User": "anna"})
            assert (made.status_code, made.json()["owner"]) == (201, "anna")
            assert (await client.get("/v1/conversations")).status_code == 401


@pytest.mark.parametrize("found", [7, b"anna", ["anna"], True, ValueError("secret"), KeyError("u")])
@pytest.mark.parametrize("is_async", [False, True])
@in_loop
async def test_failing_owner_of_answers_500_and_stores_nothing(
    found: Any, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Never of the client: 500, of which the log says more; nothing is stored, and whether the
    process lives is answered all the same."""

    def owner_of(_scope: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    async def later(scope: Any) -> Any:
        return owner_of(scope)

    store = MemoryConversationStore()
    async with _client(create_app(store, owner_of=later if is_async else owner_of)) as client:
        made = await client.post("/v1/conversations", json={})
        assert (made.status_code, made.json()["code"]) == (500, "internal")
        assert "secret" not in made.text
        assert (await client.get("/healthz")).status_code == 200
    assert "owner_of" in caplog.text
    assert await store.list() == []


@in_loop
async def test_pages_open_with_token_link_and_show_own_conversations_only() -> None:
    """A link with a token makes a cookie, which opens the pages and the data; strangers get none,
    and another client gets only what is its own."""
    tokens = {TOKEN: "", "u" * 20: "bob"}
    app = create_app(MemoryConversationStore(), tokens=tokens, sessions=True, pages=True)
    async with _client(app) as client:
        assert (await client.get("/")).status_code == 401
        await client.get("/?token=" + "u" * 20)
        to = await client.get("/")
        assert (to.status_code, to.headers["location"]) == (303, "/kept")
        assert (await client.get("/charts")).status_code == 404
        entered = await client.get(f"/?token={TOKEN}")
        assert entered.status_code == 303
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "SameSite=Strict" in entered.headers["set-cookie"]
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/v1/conversations")).status_code == 200


@in_loop
async def test_login_cookie_holds_no_token_and_works_only_in_its_process() -> None:
    """Browsers send cookies to all ports of a host: it holds a secret of this process, under a
    name of this port, which is good here only and no longer than it runs."""
    store = MemoryConversationStore()
    app, other = (
        create_app(store, tokens={TOKEN: ""}, sessions=True, pages=True) for _ in range(2)
    )
    async with _client(app) as client:
        url = f"http://127.0.0.1:8733/?token={TOKEN}&kind=plan"
        entered = await client.get(url)
        assert (entered.status_code, entered.headers["location"]) == (303, "/?kind=plan")
        name, _, secret = entered.headers["set-cookie"].partition(";")[0].partition("=")
        assert (name, len(secret) > 40) == ("cortext-8733", True)
        assert TOKEN not in entered.headers["set-cookie"]
    home = "http://127.0.0.1:8733/"
    for served, cookie, status in [
        (app, f"{name}={secret}", 200),
        (other, f"{name}={secret}", 401),
        (app, f"{name}={TOKEN}", 401),
        (app, f"cortext_token={TOKEN}", 401),
        (app, f"cortext-1={secret}", 401),
        (app, f"{name}=", 401),
    ]:
        async with _client(served) as client:
            for path in ("", "v1/conversations"):
                found = await client.get(home + path, headers={"Cookie": cookie})
                assert found.status_code == status, (cookie, path)


@in_loop
async def test_wrong_token_in_link_sets_no_cookie_or_header() -> None:
    """And nobody can smuggle anything into an answer."""
    app = create_app(MemoryConversationStore(), tokens={TOKEN: "", "u" * 20: "bob"}, pages=True)
    async with _client(app) as client:
        for given in ("", "x", "u" * 19, "a%3B%20Domain%3Devil%0d%0aX-Y%3A1"):
            answer = await client.get(f"/?token={given}")
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
            assert "x-y" not in answer.headers


@in_loop
async def test_metrics_contain_no_ids_texts_tokens_or_owners() -> None:
    """Whatever a client puts into a request: no label is of its choosing."""
    app = create_app(MemoryConversationStore(), tokens={TOKEN: "anna"})
    async with _client(app) as client:
        given = {"Authorization": f"Bearer {TOKEN}"}
        made = (await client.post("/v1/conversations", headers=given)).json()
        body = {"role": "user", "content": "secret words", "id": "secret-id"}
        path = f"/v1/conversations/{made['id']}"
        for method, address in [
            ("POST", f"{path}/messages"), ("GET", path), ("GET", f"{path}/summary?x=secret"),
            ("GET", "/secret/path"), ("SECRET", path),
            ("POST", "/v1/conversations/secret/messages"), ("POST", f"{path}/messages/"),
            ("DELETE", path), ("GET", f"{path}/messages?limit=secret"),
        ]:  # fmt: skip
            sent = body if method == "POST" else None
            await client.request(method, address, headers=given, json=sent)
        found = (await client.get("/metrics")).text
    for secret in ("secret", "SECRET", made["id"], TOKEN, "anna"):
        assert secret not in found
    posted = 'method="POST",route="/v1/conversations/{id}/messages"'
    assert f'cortext_http_requests_total{{{posted},status="201"}} 1' in found
    assert f'cortext_http_requests_total{{{posted},status="200"}} 1' in found
    assert f'cortext_http_requests_total{{{posted},status="404"}} 1' in found
    assert "cortext_messages_total 1" in found
    assert 'method="other"' in found


@in_loop
async def test_metrics_name_every_method_of_the_service() -> None:
    """Only what it does not have is `other`."""
    app = create_app(MemoryConversationStore(), tokens={TOKEN: "anna"})
    async with _client(app) as client:
        paths = (await client.get("/schema")).json()["paths"]
        methods = {method.upper() for path in paths.values() for method in path}
        for method in methods:
            await client.request(method, "/v1/conversations/x")
        found = (await client.get("/metrics")).text
    assert {"GET", "POST", "PATCH", "DELETE"} <= methods
    assert [f'method="{method}"' in found for method in methods] == [True] * len(methods)
    assert 'method="other"' not in found


def _client(app: Any, address: str = "127.0.0.1") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(address, 1), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
