"""The pages inside the service: the same door for both, and for each client its own."""

import asyncio
from typing import Any

import pytest

from cortext.service.http.application import create_app

LOCAL, OTHER = "a" * 24, "b" * 24


@pytest.fixture
def service() -> Any:
    from cortext.service.stores.memory_store import MemoryConversationStore

    tokens = {LOCAL: "", OTHER: "client"}
    return create_app(MemoryConversationStore(), tokens=tokens, sessions=True, pages=True)


def ask(service: Any, path: str, **headers: str) -> Any:
    from httpx import ASGITransport, AsyncClient

    async def once() -> Any:
        transport = ASGITransport(service)
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(once())


def test_pages_without_token_ask_for_token(service: Any) -> None:
    """They are asked for a token, whatever they ask for."""
    for path in ("/", "/charts", "/usage", "/kept", "/kept/x", "/c/x"):
        answer = ask(service, path)
        assert (answer.status_code, 'name="token"' in answer.text) == (401, True)
    assert ask(service, "/charts", Cookie=f"cortext_token={OTHER}").status_code == 401
    assert ask(service, "/", Cookie="cortext_token=wrong").status_code == 401


def test_token_link_sets_cookie_and_leaves_address(service: Any) -> None:
    """It becomes the cookie that the service knows, and leaves the address."""
    answer = ask(service, f"/charts?token={LOCAL}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/charts")
    cookie, *flags = answer.headers["set-cookie"].split("; ")
    assert set(flags) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    found = ask(service, "/", Cookie=cookie)
    assert found.status_code == 200
    assert "No conversations yet" in found.text
    assert found.headers["content-type"].startswith("text/html")
    assert ask(service, "/v1/conversations/x", Cookie=cookie).status_code == 404


def test_cookies_of_other_programs_are_ignored(service: Any) -> None:
    """Whatever is in them, ours is found behind them."""
    cookie = ask(service, f"/?token={LOCAL}").headers["set-cookie"].partition(";")[0]
    for odd in ('prefs={"theme":"dark"}', "a[b]=1", "x=hello world", 'q="a'):
        assert ask(service, "/", Cookie=f"{odd}; {cookie}").status_code == 200, odd
        assert ask(service, "/", Cookie=odd).status_code == 401, odd


def test_token_link_quotes_path_and_stays_on_host(service: Any) -> None:
    """A path that a header cannot hold is quoted, and none leads to another host."""
    for path in ("/%5Cevil.invalid/", "/%F0%9F%99%82", "/a%0D%0Ab"):
        answer = ask(service, f"{path}?token={LOCAL}")
        assert (answer.status_code, answer.headers["location"]) == (303, path)


def test_token_with_control_characters_sets_no_cookie(service: Any) -> None:
    """Nothing can be smuggled into the headers of an answer."""
    answer = ask(service, "/?token=a%3B%20Domain%3Devil%0d%0aX-Y%3A1")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_store_pages_show_own_conversations_as_plain_text(service: Any) -> None:
    """A list, and one page each; markup in it is text, and others' conversations are not there."""
    from httpx import ASGITransport, AsyncClient

    async def run() -> None:
        transport = ASGITransport(service)
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            ids: list[str] = []
            for token, text in ((LOCAL, "Find <b>React</b> libraries"), (OTHER, "A secret")):
                bearer = {"Authorization": f"Bearer {token}"}
                made = await client.post("/v1/conversations", headers=bearer)
                ids.append(made.json()["id"])
                said = {"role": "user", "content": text, "structuredData": {"type": "search"}}
                await client.post(
                    f"/v1/conversations/{ids[-1]}/messages", json=said, headers=bearer
                )
            assert (await client.get("/kept")).status_code == 401
            await client.get(f"/?token={LOCAL}")
            listed = (await client.get("/kept")).text
            assert f'href="/kept/{ids[0]}"' in listed
            assert ids[1] not in listed
            opened = await client.get(f"/kept/{ids[0]}")
            assert opened.status_code == 200
            assert "Find &lt;b&gt;React&lt;/b&gt; libraries" in opened.text
            assert "search" in opened.text
            for id in (ids[1], "00000000-0000-4000-8000-000000000000"):
                missing = await client.get(f"/kept/{id}")
                assert (missing.status_code, "A secret" in missing.text) == (404, False)

    asyncio.run(run())


def test_client_pages_show_only_own_conversations(service: Any) -> None:
    """A client's list has its conversations and no other's, not even the person's; a foreign id is
    the same 404 as one that was never given, and of this machine it sees nothing."""
    from httpx import ASGITransport, AsyncClient

    async def run() -> None:
        transport = ASGITransport(service)
        home = "http://127.0.0.1:8000"
        ids: dict[str, str] = {}
        async with AsyncClient(transport=transport, base_url=home) as client:
            for token in (LOCAL, OTHER):
                bearer = {"Authorization": f"Bearer {token}"}
                body = {"metadata": {"title": f"That of {token}"}}
                made = await client.post("/v1/conversations", headers=bearer, json=body)
                ids[token] = made.json()["id"]
        for token, other in ((OTHER, LOCAL), (LOCAL, OTHER)):
            async with AsyncClient(transport=transport, base_url=home) as client:
                entered = await client.get(f"/?token={token}")
                assert (entered.status_code, entered.headers["location"]) == (303, "/")
                listed = (await client.get("/kept")).text
                assert f"That of {token}" in listed
                assert ids[other] not in listed
                assert f"That of {other}" not in listed
                assert (await client.get(f"/kept/{ids[token]}")).status_code == 200
                missing = "00000000-0000-4000-8000-000000000000"
                foreign, never = [await client.get(f"/kept/{id}") for id in (ids[other], missing)]
                assert (foreign.status_code, never.status_code) == (404, 404)
                assert foreign.text.replace(ids[other], missing) == never.text
                for path in ("/charts", "/usage", "/c/0123456789abcdef"):
                    if token == OTHER:
                        assert (await client.get(path)).status_code == 404
                assert ('href="/charts"' in listed) == (token == LOCAL)

    asyncio.run(run())


def test_conversation_title_falls_back_to_first_text(service: Any) -> None:
    """What its program calls it, else what was asked first, else what was said; never its id."""
    from httpx import ASGITransport, AsyncClient

    async def run() -> None:
        transport = ASGITransport(service)
        bearer = {"Authorization": f"Bearer {LOCAL}"}
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            for title, role, text in (
                ("Given by the program", "user", "asked, too"),
                (None, "user", "Asked first"),
                (None, "assistant", "Said by the agent"),
                (7, None, ""),
            ):
                body = {"metadata": {"title": title}}
                made = await client.post("/v1/conversations", headers=bearer, json=body)
                said = {"role": role, "content": text}
                path = f"/v1/conversations/{made.json()['id']}/messages"
                if role:
                    await client.post(path, headers=bearer, json=said)
            listed = (await client.get("/kept", headers=bearer)).text
        found = [part.partition("</a>")[0] for part in listed.split('dir="auto">')[1:]]
        assert found == [
            *("No messages yet", "Said by the agent", "Asked first", "Given by the program"),
        ]

    asyncio.run(run())


def test_login_cookie_works_across_processes_with_same_secret() -> None:
    """With the same secret and the same tokens, and not with another."""
    from cortext.service.stores.memory_store import MemoryConversationStore

    def made(secret: str, token: str = LOCAL) -> Any:
        tokens = {token: "", OTHER: "client"}
        return create_app(MemoryConversationStore(), tokens=tokens, pages=True, secret=secret)

    one, two = "one" * 8, "two" * 8
    given = ask(made(one), f"/?token={OTHER}").headers["set-cookie"].partition(";")[0]
    assert OTHER not in given
    assert ask(made(one), "/kept", Cookie=given).status_code == 200
    assert ask(made(two), "/kept", Cookie=given).status_code == 401
    gone = create_app(MemoryConversationStore(), tokens={LOCAL: ""}, pages=True, secret=one)
    assert ask(gone, "/kept", Cookie=given).status_code == 401


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e'


def test_store_pages_escape_titles_and_messages(service: Any) -> None:
    """What a program calls a conversation, and what was said in it, becomes no markup."""
    from httpx import ASGITransport, AsyncClient

    async def run() -> None:
        transport = ASGITransport(service)
        bearer = {"Authorization": f"Bearer {LOCAL}"}
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            body = {"metadata": {"title": HOSTILE}}
            made = await client.post("/v1/conversations", headers=bearer, json=body)
            id = made.json()["id"]
            said = {"role": "user", "content": HOSTILE, "structuredData": {"x": HOSTILE}}
            await client.post(f"/v1/conversations/{id}/messages", headers=bearer, json=said)
            for path in ("/kept", f"/kept/{id}"):
                found = await client.get(path, headers=bearer)
                assert found.status_code == 200
                assert "&lt;script&gt;alert(1)" in found.text
                for markup in ("<script>alert", "<img", "\u202e"):
                    assert markup not in found.text
                assert "default-src 'self'" in found.headers["content-security-policy"]

    asyncio.run(run())


def test_login_cookie_is_useless_to_other_origins_and_hosts(service: Any) -> None:
    """A form or a script of another page, and a page that lies about its host, are refused with
    the very cookie that our own page may use; nothing is stored."""
    from httpx import ASGITransport, AsyncClient

    async def run() -> None:
        transport = ASGITransport(service)
        home = "http://127.0.0.1:8000"
        async with AsyncClient(transport=transport, base_url=home) as client:
            await client.get(f"/?token={LOCAL}")
            path = "/v1/conversations"
            for headers, status in (
                ({"Origin": "http://evil.example"}, 403),
                ({"Origin": "null"}, 403),
                ({"Origin": "http://127.0.0.1:8001"}, 403),
                ({"Host": "evil.example"}, 403),
                ({"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}, 403),
                ({"Content-Type": "text/plain"}, 415),
                ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
            ):
                kind = {"Content-Type": "application/json", **headers}
                answer = await client.post(path, content=b"{}", headers=kind)
                assert answer.status_code == status, headers
                assert not any("access-control" in name for name in answer.headers)
                if status == 403:
                    page = await client.get("/kept", headers=headers)
                    assert page.status_code == 403, headers
            assert (await client.get(path)).json() == {"conversations": []}
            own = {"Origin": home, "Content-Type": "application/json"}
            assert (await client.post(path, content=b"{}", headers=own)).status_code == 201

    asyncio.run(run())


@pytest.mark.parametrize("id", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "a%00b", "x" * 129, "%ff"])
def test_invalid_conversation_id_has_no_page(service: Any, id: str) -> None:
    """Neither a file nor an error of ours."""
    answer = ask(service, f"/kept/{id}", Authorization=f"Bearer {LOCAL}")
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text


def test_store_error_page_shows_address_to_local_token_only() -> None:
    """To the person all of it, to a client without the server's addresses; neither is an error of
    ours. What the machine keeps is searched all the same."""
    from cortext import SessionStorageError
    from cortext.service.stores.memory_store import MemoryConversationStore

    class Down(MemoryConversationStore):
        async def list(self, **_options: Any) -> Any:
            raise SessionStorageError("no answer from Redis at 10.0.0.7:6379 within 5 s")

    tokens = {LOCAL: "", OTHER: "client"}
    service = create_app(Down(), tokens=tokens, sessions=True, pages=True)
    mine, theirs = [ask(service, "/kept", Authorization=f"Bearer {t}") for t in (LOCAL, OTHER)]
    assert (mine.status_code, theirs.status_code) == (503, 503)
    assert "no answer from Redis at 10.0.0.7:6379 within 5 s" in mine.text
    assert "no answer from Redis within 5 s" in theirs.text
    assert "10.0.0.7" not in theirs.text
    everything = ask(service, "/?q=rounding", Authorization=f"Bearer {LOCAL}")
    assert everything.status_code == 200
    assert "The search failed: no answer from Redis at 10.0.0.7:6379" in everything.text
    assert "No results there" not in everything.text
