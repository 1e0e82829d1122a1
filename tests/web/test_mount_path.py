"""The pages below a path of another application, and by themselves: no address leads nowhere."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from cortext import MemoryConversationStore
from cortext.asgi import create_app
from tests.service.http.background import in_background
from tests.web import stories
from tests.web.conftest import Site, Visit, environment_of

TOKEN, ANNAS = "t" * 24, "a" * 24


class Addresses(HTMLParser):
    """All that a page points at on its own server."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self._page = str(page.url)
        self.found: set[str] = set()
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action") and value and not value.startswith("#"):
                address = urljoin(self._page, value)
                if urlsplit(address).netloc == urlsplit(self._page).netloc:
                    self.found.add(address.partition("#")[0])


@pytest.fixture(scope="module")
def root(at_home: Path) -> str:
    made = stories.workspace(at_home / "shop")
    stories.checkout(made)
    stories.long(made, 300)
    return made


@pytest.fixture(autouse=True)
def mounted_home(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server runs in this process, and each test has a home of its own before this."""
    for name, value in environment_of(at_home).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module", params=["", "/chat", "/a/b c"])
def address(request: pytest.FixtureRequest, root: str) -> Iterator[str]:
    """Where the pages are, without a slash at the end."""
    base: str = request.param
    tokens = {TOKEN: "", ANNAS: "anna"}
    store = MemoryConversationStore()
    service: Any = create_app(store, tokens=tokens, sessions=True, pages=True)
    app = Starlette(routes=[Mount(base, service)]) if base else service
    with in_background(app) as url:
        yield f"{url}{base.replace(' ', '%20')}"
    service.end_streams()


def test_every_link_and_asset_resolves_below_mount_path(address: str) -> None:
    """Of the list, a conversation, the charts, what is served and what is not found."""
    with httpx.Client(follow_redirects=True) as client:
        refused = client.get(f"{address}/")
        assert refused.status_code == 401
        for asset in Addresses(refused).found - {f"{address}/sign-in"}:
            assert client.get(asset).status_code == 200, asset
        entered = client.get(f"{address}/?token={TOKEN}")
        assert (entered.status_code, str(entered.url)) == (200, f"{address}/")
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        made = client.post(f"{address}/v1/conversations", headers=bearer)
        assert client.get(urljoin(address, made.headers["location"])).status_code == 200
        conversation = next(one for one in Addresses(entered).found if "/c/" in one)
        pages = ["/", "/charts", "/usage", "/kept", "/?q=rounding", "/?kind=debug"]
        seen: set[str] = set()
        for page in (*(f"{address}{path}" for path in pages), conversation):
            found = client.get(page)
            assert found.status_code == 200
            seen |= Addresses(found).found
        missing = client.get(f"{address}/c/0000000000000000")
        assert missing.status_code == 404
        seen |= Addresses(missing).found
        assert len(seen) > 15
        for each in seen:
            assert each.startswith(f"{address}/"), each
            assert client.get(each).status_code == 200, each


def test_login_cookie_is_limited_to_mount_path(address: str) -> None:
    """The application around them, and others beside them, are not sent it."""
    answer = httpx.get(f"{address}/charts?token={ANNAS}")
    path = urlsplit(address).path
    assert answer.headers["location"] == f"{path}/charts"
    assert f"Path={path or '/'}" in answer.headers["set-cookie"].split("; ")


def test_login_form_works_below_mount_path(address: str, browser: Browser) -> None:
    """Who has a token types it, and sees what is theirs."""
    context = browser.new_context()
    try:
        site = Site(address, address, Path())
        visit = Visit(context.new_page(), site)
        visit.page.goto(f"{address}/")
        visit.wrong.clear()  # the 401 itself is told
        visit.page.get_by_label("Token").fill(ANNAS)
        visit.page.get_by_role("button", name="Sign in").click()
        expect(visit.page.get_by_role("heading", name="Your conversations")).to_be_visible()
        assert visit.page.url == f"{address}/kept"
        visit.assert_calm()
    finally:
        context.close()


def test_page_script_works_below_mount_path(address: str, browser: Browser) -> None:
    """A long conversation is scrolled, the theme is kept, and keys lead to the list."""
    context = browser.new_context()
    try:
        visit = Visit(context.new_page(), Site(address, address, Path()))
        page = visit.page
        page.goto(f"{address}/?token={TOKEN}")
        page.get_by_role("link", name="A very long story").click()
        page.get_by_label("Go to message").fill("250")
        page.keyboard.press("Enter")
        expect(page.locator("#m250")).to_be_visible()
        page.keyboard.press("t")
        dark = page.locator("html").get_attribute("data-theme")
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == dark
        page.keyboard.press("u")
        expect(page.get_by_role("link", name="A very long story")).to_be_visible()
        assert page.url == f"{address}/"
        visit.assert_calm()
    finally:
        context.close()


def test_conversation_page_updates_live_below_mount_path(address: str, browser: Browser) -> None:
    """What a program adds appears by itself, also the first message; when it is deleted, that is
    said."""
    bearer = {"Authorization": f"Bearer {ANNAS}"}
    context = browser.new_context()
    with httpx.Client(headers=bearer) as program:
        id = program.post(f"{address}/v1/conversations").json()["id"]
        try:
            visit = Visit(context.new_page(), Site(address, address, Path()))
            page = visit.page
            page.goto(f"{address}/kept/{id}?token={ANNAS}")
            expect(page.get_by_text("No messages yet").last).to_be_visible()
            for text in ("The first of all", "<b>The second</b>"):
                said = {"role": "user", "content": text}
                program.post(f"{address}/v1/conversations/{id}/messages", json=said)
                expect(page.locator(".turn").get_by_text(text)).to_be_visible()
            program.delete(f"{address}/v1/conversations/{id}")
            expect(page.locator("#said")).to_have_text("This conversation was deleted")
            visit.assert_calm()
        finally:
            context.close()


def test_unknown_path_below_mount_shows_page_with_link_back(address: str) -> None:
    """Which leads back; a stranger is not told whether there is one, and a program gets JSON."""
    with httpx.Client(follow_redirects=True, headers={"Accept": "text/html"}) as client:
        assert client.get(f"{address}/nothing").status_code == 401
        client.get(f"{address}/?token={ANNAS}")
        found = client.get(f"{address}/nothing")
        assert (found.status_code, "`" in found.text) == (404, False)
        assert f"{address}/" in Addresses(found).found
        answer = client.get(f"{address}/nothing", headers={"Accept": "application/json"})
        assert answer.json()["code"] == "no-such-path"
