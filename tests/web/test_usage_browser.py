"""The page of usage in a real browser: charts, tables, hostile names, narrow, without scripts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.formats.exports.page_probes import QUIET, RUNNING
from tests.web import usage_machine
from tests.web.conftest import Site, Visit

pytestmark = pytest.mark.needs("chromium", "to open the pages")
PAYLOADS = [*RUNNING, *QUIET]


@pytest.fixture(scope="module")
def site(at_home: Path, serving: Callable[[Path], Site]) -> Site:
    """Two months of work, and sessions whose titles and models are hostile."""
    home = at_home / "home"
    usage_machine.month(home)
    for number, text in enumerate(PAYLOADS, 1000):
        answer = (f"unknown {text}", number % 2, 50_000 + number)
        session = usage_machine.session_id(number)
        usage_machine.answer_file(home, "hostile", session, answer, title=text)
    return serving(at_home)


def open_usage(visit: Visit, query: str = "") -> Page:
    """Open the page of usage. It loads itself again until all is read."""
    visit.page.goto(visit.site.link)
    visit.go(f"/usage{query}")
    expect(visit.page.locator(".totals dt").first).to_have_text("Cost", timeout=60_000)
    return visit.page


def test_charts_of_usage_have_tables_and_link_to_conversations(
    browser: Browser, site: Site
) -> None:
    context = browser.new_context()
    visit = Visit(context.new_page(), site)
    project = f"?project={site.folder}/home/work/shop"
    page = open_usage(visit, project)
    for title in ("Cost by day", "Tokens by day"):
        chart = page.locator(".chart", has=page.get_by_role("heading", name=title))
        assert chart.locator(".stacks rect").count() > 10
        chart.locator("summary").click()
        assert chart.locator("tbody tr").count() > 5
    page.locator(".told tbody th a").first.click()
    page.wait_for_url("**/usage?when=*&project=*")
    expect(page.locator(".ranking tbody tr")).to_have_count(1)
    visit.go(f"/usage{project}")
    page.locator(".ranking a").first.click()
    page.wait_for_url("**/c/*")
    expect(page.locator("h1")).to_contain_text("part")
    visit.assert_calm()
    context.close()


def test_choice_of_period_is_enough_to_show_it(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    visit = Visit(context.new_page(), site)
    page = open_usage(visit)
    page.get_by_label("Period").select_option("past year")
    page.wait_for_url("**/usage?when=past+year")
    expect(page.get_by_role("heading", name="Cost by week")).to_be_visible()
    visit.assert_calm()
    context.close()


def test_hostile_titles_and_models_stay_text(browser: Browser, site: Site) -> None:
    """The policy is taken away: escaping alone has to hold."""
    context = browser.new_context()
    page = context.new_page()
    ran: list[str] = []
    page.expose_function("ran", lambda *_: ran.append("ran"))
    page.route("**/usage*", _without_policy)
    visit = Visit(page, site)
    open_usage(visit, f"?project={site.folder}/home/work/hostile")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, video, style, base").count() == 0
    for place in (".ranking", ".models", ".notes", ".sideways thead"):
        expect(page.locator(place).first).to_contain_text("ran()")
    assert ran == []
    visit.assert_calm()
    context.close()


def _without_policy(route: Route) -> None:
    answer = route.fetch()
    kept = {k: v for k, v in answer.headers.items() if k != "content-security-policy"}
    route.fulfill(response=answer, headers=kept)


@pytest.mark.parametrize("width", [pytest.param(320, marks=pytest.mark.slow), 400])
def test_usage_fits_phone_screen_width(browser: Browser, site: Site, width: int) -> None:
    viewport = {"width": width, "height": 800}
    context = browser.new_context(viewport=viewport)  # pyright: ignore[reportArgumentType]
    visit = Visit(context.new_page(), site)
    page = open_usage(visit, "?when=all")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.get_by_role("link", name="Usage", exact=True).bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    context.close()


def test_filter_works_without_javascript(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = open_usage(Visit(context.new_page(), site))
    page.get_by_label("Project").select_option(label="docs")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".bars tbody tr")).to_have_count(1)
    expect(page.locator(".bars tbody th")).to_have_text("docs")
    context.close()
