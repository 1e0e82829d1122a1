"""The web page in a real browser: nothing that a conversation holds is run, loaded or followed."""

import re
import shutil
from collections import Counter
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, sync_playwright

from cortext.formats.exports import export_formats
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from tests.formats.exports.page_probes import LOOK, QUIET, REST, RUNNING

pytestmark = pytest.mark.needs("chromium", "to open the page")
WHEN = datetime(2026, 3, 4, 9, 15, tzinfo=UTC)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')

OUR_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "dl", "div", "dt", "dd",
    "bdi", "main", "article", "span", "time", "details", "summary", "pre", "code", "footer",
    "script", "a", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td",
    "em", "strong", "s", "br", "hr", "h2", "h3", "h4", "h5", "h6",
}  # fmt: skip
OUR_ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "dir", "class", "id", "datetime", "type",
    "data-shown", "href", "rel", "title", "start",
}  # fmt: skip
ONCE = {
    "html": 1,
    "head": 1,
    "title": 1,
    "style": 1,
    "body": 1,
    "script": 1,
    "main": 1,
    "article": 6,
}


class Opened:
    """A page that was opened, and all that it did."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.events: list[str] = []
        page.expose_function("ran", lambda *_: self.events.append("ran"))
        page.on("dialog", self._dismiss)
        page.on("console", lambda message: self.events.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.events.append(f"error: {error}"))
        page.on("popup", lambda _: self.events.append("popup"))
        page.route("**/*", self._route)

    def _dismiss(self, dialog: Dialog) -> None:
        self.events.append("dialog")
        dialog.dismiss()

    def _route(self, route: Route) -> None:
        if route.request.url == self.wanted:
            route.continue_()
        else:
            self.events.append(f"request: {route.request.url}")
            route.abort()

    def open(self, path: Path) -> list[str]:
        """What happened until the page was at rest."""
        self.wanted = path.as_uri()
        self.events.clear()
        self.page.goto(self.wanted, wait_until="load")
        # Two frames and a task later, whatever an event or a timer of 0 s began has begun.
        self.page.evaluate(REST)
        return list(self.events)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Generator[Opened]:
    context = browser.new_context(offline=True)
    yield Opened(context.new_page())
    context.close()


def hostile(text: str) -> Session:
    """A conversation with the same text wherever one can be."""
    call = {"id": text, "name": text, "arguments": {text: text, "command": text}}
    return Session(
        "001-plan-x",
        title=text,
        created_at=WHEN,
        updated_at=WHEN,
        kind=text,
        summary=text,
        tags=[text, "x"],
        agent=text,
        model=text,
        owner=text,
        parent_id=text,
        working_dir=text,
        metadata={text: text},
        messages=[
            SessionMessage("system", text, WHEN),
            SessionMessage("user", text, WHEN, name=text),
            SessionMessage("assistant", f"- {text}\n\n> {text}", WHEN, tool_calls=[call]),
            SessionMessage("tool", f"{text}\n" * 3, WHEN, tool_call_id=text, name=text),
            SessionMessage("assistant", f"# {text}\n\n\t{text}", WHEN, structured_data={"x": text}),
        ],
        tool_history=[ToolInvocation(text, {text: text}, text, success=False, error=text)],
    )


@pytest.mark.parametrize("payload", [*RUNNING, *QUIET])
def test_hostile_text_runs_loads_and_follows_nothing_in_page(
    payload: str, opened: Opened, tmp_path: Path
) -> None:
    """With the page's policy and, by escaping alone, without it."""
    page = export_formats.encode(hostile(payload), "html").decode("utf-8")
    for name, text in (("policy", page), ("escaped", POLICY.sub("", page, count=1))):
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        assert opened.open(path) == []
        found = opened.page.evaluate(LOOK)
        tags = Counter(tag for tag, _, _ in found)
        assert set(tags) <= OUR_TAGS
        assert {tag: tags[tag] for tag in ONCE} == ONCE
        assert tags["meta"] == (5 if name == "policy" else 4)
        assert {attribute for _, names, _ in found for attribute in names} <= OUR_ATTRIBUTES
        assert [href for _, _, href in found if href and not href.startswith("http")] == []


@pytest.mark.parametrize("payload", RUNNING)
def test_browser_check_detects_unescaped_payload(
    payload: str, opened: Opened, tmp_path: Path
) -> None:
    """The control: each payload, placed in a page as it is, is noticed."""
    path = tmp_path / "control.html"
    path.write_text(f"<!doctype html><title>x</title><body>{payload}\n<p>x", encoding="utf-8")
    assert opened.open(path) != []


def test_content_security_policy_blocks_planted_scripts(opened: Opened, tmp_path: Path) -> None:
    """The second control: what is put into our page unescaped is refused by its policy."""
    page = export_formats.encode(hostile("x"), "html").decode("utf-8")
    path = tmp_path / "planted.html"
    planted = "<script>ran()</script><img src='http://x.invalid/a.png' onerror=ran()>"
    path.write_text(page.replace("<main>", f"<main>{planted}"), encoding="utf-8")
    events = opened.open(path)
    assert len(events) == 3
    assert all("The action has been blocked." in event for event in events)


def test_page_shows_title_text_and_tool_calls_as_plain_words(
    opened: Opened, tmp_path: Path
) -> None:
    """Title, text and tool calls stand there as words; what is folded opens without a script."""
    text = "<b>not bold</b> & **bold** \x1b[31m \u202e"
    path = tmp_path / "page.html"
    path.write_bytes(export_formats.encode(hostile(text), "html"))
    assert opened.open(path) == []
    page = opened.page
    shown = "<b>not bold</b> & **bold** �[31m �"
    assert page.title() == shown
    assert page.locator("header h1").inner_text() == shown
    assert page.locator("#m2 .text").inner_text() == "<b>not bold</b> & bold �[31m �"
    assert page.locator("#m2 .text strong").inner_text() == "bold"
    output = page.locator("#m4 pre")
    assert not output.is_visible()
    page.locator("#m4 summary").click()
    assert output.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_page_fits_screen_width_and_has_contrast(
    scheme: str, width: int, browser: Browser, tmp_path: Path
) -> None:
    """Nothing wider than the window, and words that differ from their ground."""
    session = hostile("x" * 300)
    session.messages.append(
        SessionMessage("user", f"|{'a|' * 60}\n|{'-|' * 60}\n\n```\n{'y' * 500}\n```")
    )
    path = tmp_path / "page.html"
    path.write_bytes(export_formats.encode(session, "html"))
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
        offline=True,
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    ink, ground = page.locator("body").evaluate(colours)
    light, dark = (sum(map(int, re.findall(r"\d+", text)[:3])) for text in (ground, ink))
    assert (light > dark + 300) if scheme == "light" else (dark > light + 300)
    context.close()
