"""Coming in by a token that is typed, by a link that is good once, and going out again."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from cortext import CortextError, MemoryConversationStore
from cortext.asgi import Service, create_app
from cortext.service.http.access_tokens import AccessTokens
from cortext.service.http.browser_login import Entrance
from tests.service.stores.loops import in_loop
from tests.web.page_requests import HOME, browsing

TOKEN = "t" * 24


def made(**more: Any) -> Service:
    return create_app(MemoryConversationStore(), tokens={TOKEN: "anna"}, pages=True, **more)


@in_loop
async def test_login_form_redirects_to_requested_page() -> None:
    """It is in no address; the form knows what was asked for."""
    async with browsing(made()) as client:
        asked = await client.get("/kept?page=2&q=a%26b")
        assert asked.status_code == 401
        assert re.search(r'<form[^>]*action="/sign-in"[^>]*method="post"', asked.text)
        to = re.search(r'name="to" value="([^"]*)"', asked.text)
        assert to
        form = {"token": TOKEN, "to": to[1].replace("&amp;", "&")}
        entered = await client.post("/sign-in", data=form, headers={"Origin": HOME})
        assert (entered.status_code, entered.headers["location"]) == (303, "/kept?page=2&q=a%26b")
        assert (await client.get("/kept")).status_code == 200


@in_loop
async def test_login_reports_unknown_token_without_repeating_token() -> None:
    """Typed or in a link; who comes without any is only asked for one."""
    async with browsing(made()) as client:
        typed = await client.post("/sign-in", data={"token": "wrong", "to": "/kept?page=2"})
        linked = await client.get("/kept?token=wrong")
        for found in (typed, linked):
            assert found.status_code == 401
            assert "Unknown token." in found.text
            assert "set-cookie" not in found.headers
            assert "wrong" not in found.text
        assert 'value="/kept?page=2"' in typed.text
        assert "Unknown token." not in (await client.get("/kept")).text


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("//evil.invalid/x", "/evil.invalid/x"),
        ("https://evil.invalid/", "/https%3A//evil.invalid/"),
        ("/%5Cevil.invalid", "/%5Cevil.invalid"),
        ("\r\nX-Y: 1", "/%0D%0AX-Y%3A%201"),
        ("/sign-in", "/"),
        ("", "/"),
        ("/kept?token=secret&page=2", "/kept?page=2"),
    ],
)
@in_loop
async def test_login_never_redirects_to_another_host(to: str, expected: str) -> None:
    """Whatever a form says, the next page is one of ours."""
    async with browsing(made()) as client:
        found = await client.post("/sign-in", data={"token": TOKEN, "to": to})
    assert (found.status_code, found.headers["location"]) == (303, expected)
    assert "x-y" not in found.headers


@in_loop
async def test_login_and_logout_refuse_foreign_origin_and_large_body() -> None:
    """Nobody is signed in or out by a page of somebody else, nor with a flood of text."""
    async with browsing(made()) as client:
        for origin in ("http://evil.invalid", "null"):
            for path in ("/sign-in", "/sign-out"):
                data, headers = {"token": TOKEN}, {"Origin": origin}
                found = await client.post(path, data=data, headers=headers)
                assert (found.status_code, "set-cookie" in found.headers) == (403, False)
        flood = await client.post("/sign-in", data={"token": "x" * 10_000})
        assert (flood.status_code, "set-cookie" in flood.headers) == (413, False)


@in_loop
async def test_logout_removes_login_cookie() -> None:
    """The cookie is gone then; who came by no cookie is offered none of it."""
    async with browsing(made()) as client:
        await client.post("/sign-in", data={"token": TOKEN})
        assert 'action="/sign-out"' in (await client.get("/kept")).text
        left = await client.post("/sign-out", headers={"Origin": HOME})
        assert (left.status_code, left.headers["location"]) == (303, "/")
        assert (await client.get("/kept")).status_code == 401
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert "/sign-out" not in (await client.get("/kept", headers=bearer)).text


@in_loop
async def test_login_link_works_only_once() -> None:
    """It has no token in it, and whoever reads it in a log comes too late."""
    service = made()
    link = service.link_once(TOKEN)
    assert TOKEN not in link
    async with browsing(service) as client:
        first = await client.get(link)
        assert (first.status_code, urlsplit(first.headers["location"]).query) == (303, "")
        assert (await client.get("/kept")).status_code == 200
    async with browsing(service) as other:
        assert (await other.get(link)).status_code == 401
        assert (await other.get("/kept")).status_code == 401


@in_loop
async def test_login_link_expires_after_ten_minutes() -> None:
    """Ten minutes after it was made it opens nothing, used or not."""
    now = [0.0]
    entrance = Entrance(AccessTokens({TOKEN: "anna"}), clock=lambda: now[0])
    links = [entrance.link_once(TOKEN) for _ in range(2)]
    for link, passed, status in ((links[0], 599.0, 303), (links[1], 601.0, None)):
        now[0] = passed
        assert await _status(entrance, link) == status


async def _status(entrance: Entrance, link: str) -> int | None:
    """Of the entrance's own answer; None if it had none."""
    answers: list[Any] = []

    async def nothing(*_given: Any) -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        answers.append(message)

    path, _, query = link.partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    scope |= {"headers": [(b"host", b"127.0.0.1:8000")], "scheme": "http"}
    await entrance.wrap_pages(nothing)(scope, nothing, send)  # pyright: ignore[reportArgumentType]
    return answers[0]["status"] if answers else None


def test_link_once_refuses_unknown_token_and_app_without_tokens() -> None:
    """A token that nobody has, or an application that knows no tokens, gives none."""
    with pytest.raises(CortextError, match="unknown token"):
        made().link_once("x" * 24)
    with pytest.raises(CortextError, match="this application has no sign-in links"):
        create_app(MemoryConversationStore(), owner_of=lambda _scope: "anna").link_once(TOKEN)
