"""The pages inside the service: the same door for both, and nothing for its other clients."""

import asyncio
from typing import Any

import pytest

from cortext.web.service import create_app

LOCAL, OTHER = "a" * 24, "b" * 24


@pytest.fixture
def service() -> Any:
    from cortext.conversations.memory import MemoryConversationStore

    return create_app(MemoryConversationStore(), tokens={LOCAL: "", OTHER: "client"}, pages=True)


def ask(service: Any, path: str, **headers: str) -> Any:
    from httpx import ASGITransport, AsyncClient

    async def once() -> Any:
        transport = ASGITransport(service)
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(once())


def test_strangers_and_clients_see_no_page(service: Any) -> None:
    """Only the person's own token opens them; a client's is for its conversations."""
    assert ask(service, "/").status_code == 401
    assert ask(service, "/charts", Cookie=f"cortext_token={OTHER}").status_code == 401
    assert ask(service, "/", Authorization=f"Bearer {OTHER}").status_code == 401
    assert ask(service, "/", Cookie="cortext_token=wrong").status_code == 401


def test_a_link_with_the_token_lets_the_person_in(service: Any) -> None:
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


def test_cookies_of_other_programs_are_passed_over(service: Any) -> None:
    """Whatever is in them, ours is found behind them."""
    cookie = ask(service, f"/?token={LOCAL}").headers["set-cookie"].partition(";")[0]
    for odd in ('prefs={"theme":"dark"}', "a[b]=1", "x=hello world", 'q="a'):
        assert ask(service, "/", Cookie=f"{odd}; {cookie}").status_code == 200, odd
        assert ask(service, "/", Cookie=odd).status_code == 401, odd


def test_a_link_to_any_path_is_answered(service: Any) -> None:
    """A path that a header cannot hold is quoted, and none leads to another host."""
    for path in ("/%5Cevil.invalid/", "/%F0%9F%99%82", "/a%0D%0Ab"):
        answer = ask(service, f"{path}?token={LOCAL}")
        assert (answer.status_code, answer.headers["location"]) == (303, path)


def test_a_token_that_cannot_be_a_cookie_is_not_made_one(service: Any) -> None:
    """Nothing can be smuggled into the headers of an answer."""
    answer = ask(service, "/?token=a%3B%20Domain%3Devil%0d%0aX-Y%3A1")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_what_the_service_keeps_has_pages(service: Any) -> None:
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
