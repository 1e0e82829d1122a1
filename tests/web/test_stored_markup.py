"""Stored text never runs: not in a list, not in a search, not in a conversation, not in charts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route

from cortext import Session, SessionMessage
from cortext.model.message import ToolInvocation
from tests.formats.exports.page_probes import LOOK, QUIET, REST, RUNNING
from tests.web import stories
from tests.web.conftest import Site

pytestmark = pytest.mark.needs("chromium", "to open the pages")
PAYLOADS = [*RUNNING, *QUIET]


@pytest.fixture(scope="module")
def site(at_home: Path, serving: Callable[[Path], Site]) -> Site:
    """A conversation for each payload, with it wherever a text can be, and one with all of them."""
    root = stories.workspace(at_home / "home/hostile")
    at = datetime.now(UTC) - timedelta(days=1)
    for number, text in enumerate(PAYLOADS, 1):
        stories.keep(root, _holding(f"{number:03}-plan-x", at, [text], title=text))
    stories.keep(root, _holding("900-plan-all", at, PAYLOADS, title="All of them"))
    return serving(at_home)


def _holding(id: str, at: datetime, texts: list[str], title: str) -> Session:
    text = texts[0]
    session = stories.conversation(
        *(id, at, [("user", "needle")]),
        title=title,
        kind="plan",
        status="paused",
        summary=text,
        tags=["x", text],
        model=text,
        agent=text,
    )
    for one in texts:
        call = {"id": one, "name": one, "arguments": {one: one, "command": one}}
        session.messages += [
            SessionMessage("system", one, at),
            SessionMessage("user", f"needle {one}", at, name=one),
            SessionMessage("assistant", f"- {one}\n\n> {one}", at, tool_calls=[call]),
            SessionMessage("tool", f"{one}\n" * 3, at, tool_call_id=one, name=one),
            SessionMessage("assistant", f"# {one}\n\n\t{one}", at, structured_data={"x": one}),
        ]
    session.tool_history.append(ToolInvocation(text, {text: text}, text, success=False, error=text))
    return session


class Watched:
    """A page that tells what it did. With `escaped`, the policy is taken away: escaping alone has
    to hold."""

    def __init__(self, page: Page, site: Site, *, escaped: bool) -> None:
        self.page, self.site, self.escaped = page, site, escaped
        self.events: list[str] = []
        page.expose_function("ran", lambda *_: self.events.append("ran"))
        page.on("dialog", self._dialog)
        page.on("console", lambda said: self.events.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: self.events.append(f"error: {error}"))
        page.on("popup", lambda _: self.events.append("popup"))
        page.route("**/*", self._route)

    def _dialog(self, dialog: Dialog) -> None:
        self.events.append("dialog")
        dialog.dismiss()

    def _route(self, route: Route) -> None:
        if not route.request.url.startswith(f"{self.site.address}/"):
            self.events.append(f"request: {route.request.url}")
            route.abort()
        elif self.escaped and route.request.resource_type in ("document", "fetch"):
            answer = route.fetch(max_redirects=0)
            kept = {k: v for k, v in answer.headers.items() if k != "content-security-policy"}
            route.fulfill(response=answer, headers=kept)
        else:
            route.continue_()

    def visit(self, path: str) -> list[tuple[str, list[str], str | None]]:
        """Open a page, unfold everything; its elements."""
        self.page.goto(self.site.address + path, wait_until="load")
        self.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.page.evaluate(REST)
        return self.page.evaluate(LOOK)


@pytest.mark.parametrize(
    "escaped",
    [pytest.param(False, id="policy", marks=pytest.mark.slow), pytest.param(True, id="escaped")],
)
def test_stored_markup_never_runs_loads_or_leads_away(
    browser: Browser, site: Site, escaped: bool
) -> None:
    """All payloads in all places, with the policy and, by escaping alone, without it."""
    context = browser.new_context()
    first = context.new_page()
    first.goto(site.link)
    links = set(first.locator("a.go").evaluate_all("all => all.map(a => a.pathname)"))
    everything = first.locator("a.go", has_text="All of them").get_attribute("href")
    first.goto(f"{site.address}/?page=2")
    links |= set(first.locator("a.go").evaluate_all("all => all.map(a => a.pathname)"))
    first.close()
    assert len(links) == len(PAYLOADS) + 1
    watched = Watched(context.new_page(), site, escaped=escaped)
    total = 1 + 5 * len(PAYLOADS)
    windows = [f"{everything}?at={at}" for at in range(1, total, 30)]
    singles = sorted(links)[::24]
    for path in ["/", "/?page=2", "/?q=needle", "/?q=script", "/charts", *windows, *singles]:
        found = watched.visit(path)
        assert watched.events == [], path
        tags = [tag for tag, _, _ in found]
        assert tags.count("script") == 1
        assert not {"style", "iframe", "img", "object", "embed", "base", "video"} & set(tags)
        attributes = {name for _, names, _ in found for name in names}
        assert not {name for name in attributes if name.startswith("on") or name == "style"}
        hrefs = {href for tag, _, href in found if href and tag == "a"}
        allowed = ("/", "?", "#m", "#main", "http://x.invalid", "https://")
        assert {href for href in hrefs if not href.startswith(allowed)} == set()
    context.close()


def test_script_detection_notices_injected_script(browser: Browser, site: Site) -> None:
    """The control: a script that is put into a page without the policy is noticed, and with it is
    refused."""
    for escaped in (True, False):
        context = browser.new_context()
        page = context.new_page()
        page.goto(site.link)
        watched = Watched(page, site, escaped=escaped)
        watched.visit("/")
        page.evaluate(
            "() => { const d = document.createElement('div');"
            " d.innerHTML = '<img src=x onerror=ran()>'; document.body.append(d); }"
        )
        page.wait_for_timeout(300)
        assert ("ran" in watched.events) is escaped
        assert watched.events
        context.close()
