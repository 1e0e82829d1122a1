"""`cortext web --store`: what other processes keep there, as it is now."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from cortext import Message, open_store
from tests.command import SCRIPT
from tests.service.http.serve_command import PATIENCE
from tests.web.conftest import Site, Visit, environment_of


def with_store(folder: Path, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Do something to the store in this process, which is not the server's."""

    async def run() -> Any:
        async with open_store(f"file:{folder / 'kept'}") as store:
            return await work(store)

    # Playwright has a loop in this thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result(PATIENCE)


def say(folder: Path, text: str, *, id: str = "", owner: str = "") -> str:
    async def work(store: Any) -> str:
        to = id or await store.create(owner=owner)
        await store.add_message(to, Message("user", text))
        return to

    return with_store(folder, work)


@pytest.fixture(scope="module")
def site(at_home: Path) -> Iterator[Site]:
    """A server over a store with one conversation."""
    say(at_home, "Where is the bill?", owner="shop")
    command = [sys.executable, "-m", "cortext", "web", "--no-open", "--port", "0"]
    command += ["--store", f"file:{at_home / 'kept'}"]
    environment = {**os.environ, **environment_of(at_home)}
    process = subprocess.Popen(
        command, cwd=at_home, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    yield Site(link, link.partition("/kept?")[0], at_home)
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visit]:
    context = browser.new_context()
    made = Visit(context.new_page(), site)
    made.page.goto(site.link)
    yield made
    made.assert_calm()
    context.close()


def test_conversation_page_shows_new_messages_and_deletion_live(visit: Visit) -> None:
    """What another process adds is there without a reload, and when it removes it, that is said and
    stays there."""
    folder, page = visit.site.folder, visit.page
    id = say(folder, "The first of all")
    visit.go(f"/kept/{id}")
    expect(page.locator(".turn .role")).to_have_text("User")
    say(folder, "And the second", id=id)
    expect(page.locator(".turn").get_by_text("And the second")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(2)
    with_store(folder, lambda store: store.delete(id))
    expect(page.get_by_text("This conversation no longer exists. You see")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(2)


def test_list_updates_live_and_keeps_typed_search(visit: Visit) -> None:
    """While somebody types into its field, too."""
    folder, page = visit.site.folder, visit.page
    page.get_by_role("searchbox").press_sequentially("half a wo")
    id = say(folder, "A new one")
    expect(page.get_by_role("link", name="A new one")).to_be_visible()
    page.keyboard.type("rd")
    expect(page.get_by_role("searchbox")).to_have_value("half a word")
    with_store(folder, lambda store: store.delete(id))
    expect(page.get_by_role("link", name="A new one")).to_have_count(0)
    expect(page.get_by_role("searchbox")).to_have_value("half a word")


def test_owner_link_filters_list_to_that_owner(visit: Visit) -> None:
    page = visit.page
    id = say(visit.site.folder, "Of somebody else", owner="bob")
    expect(page.get_by_role("link", name="Of somebody else")).to_be_visible()
    page.get_by_role("link", name="shop").click()
    expect(page.get_by_role("link", name="Where is the bill?")).to_be_visible()
    expect(page.get_by_role("link", name="Of somebody else")).to_have_count(0)
    page.get_by_role("link", name="All owners").click()
    expect(page.get_by_role("link", name="Of somebody else")).to_be_visible()
    with_store(visit.site.folder, lambda store: store.delete(id))


def test_global_search_includes_store_conversations(visit: Visit) -> None:
    """Beside what this machine keeps."""
    visit.go("/")
    visit.page.get_by_role("searchbox").fill("bill")
    visit.page.keyboard.press("Enter")
    beside = visit.page.locator(".beside")
    expect(beside.get_by_role("heading", name="In the store")).to_be_visible()
    expect(beside.locator("mark")).to_have_text("bill")
    beside.locator(".hits a").click()
    expect(visit.page.locator("#m1")).to_be_visible()


@pytest.mark.parametrize("width", [320, 400])
def test_header_fits_narrow_screen_without_wrapping(visit: Visit, width: int) -> None:
    """Each on one line, and nothing beyond the edge of a narrow screen."""
    page = visit.page
    page.set_viewport_size({"width": width, "height": 700})
    tall: list[int] = page.evaluate(
        """() => [...document.querySelectorAll('.name, .strip nav a')].map((one) => {
            const range = document.createRange();
            range.selectNodeContents(one);
            return range.getClientRects().length;
        })"""
    )
    assert tall == [1] * 5
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for name in ("Conversations", "Charts", "Store"):
        box = page.locator(".strip nav").get_by_role("link", name=name).bounding_box()
        assert box
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width


def test_store_pages_require_login_cookie(site: Site) -> None:
    """The streams, too."""
    for path in ("/kept", "/kept-list/events", "/kept/x", "/kept/x/events", "/kept?q=bill"):
        found = httpx.get(f"{site.address}{path}")
        assert (found.status_code, "bill" in found.text) == (401, False)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (".workspace", r"project is a workspace, not a conversation store"),
        ("notes", r"project is not a conversation store: it contains other files"),
    ],
)
def test_web_refuses_folder_that_is_not_a_store(tmp_path: Path, inside: str, said: str) -> None:
    """Instead of an empty list."""
    (tmp_path / "project" / inside).mkdir(parents=True)
    done = subprocess.run(
        [SCRIPT, "web", "--no-open", "--store", "file:./project"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(said, done.stderr)
    assert "hint: " in done.stderr
