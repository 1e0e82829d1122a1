"""The pages in a real browser: list, search, open, follow, charts, export, dark, narrow."""

import os
import re
import shutil
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cortext import Session, SessionMessage, SessionStorage, open_session_store
from tests import homes
from tests.web import stories
from tests.web.conftest import Site, Visit

pytestmark = pytest.mark.needs("chromium", "to open the pages")
TURN = ".turn[data-n]"


@pytest.fixture(scope="module")
def site(at_home: Path, serving: Callable[[Path], Site]) -> Site:
    """Conversations of a workspace, of the four tools and of `aur spawn`; one is very long."""
    root = stories.workspace(at_home / "home/shop")
    stories.year(root, days=330 if os.environ.get("KEEP_PICTURES") else 40)
    stories.checkout(root)
    stories.long(root)
    own = homes.lay_out(at_home / "recorded").own
    for tool, path in own.items():
        data = Path(os.environ["XDG_DATA_HOME"])
        target = data / "opencode" if tool == "opencode" else at_home / f"home/.{tool}"
        shutil.copytree(path, target)
    at = stories.datetime(2026, 1, 1, tzinfo=stories.UTC)
    spawned = Session("20260101-000000-abcd", title="An agent of ours", agent="claude")
    spawned.created_at = spawned.updated_at = at
    spawned.status = "completed"
    spawned.messages.append(SessionMessage("user", "A marmot said hello.", at))
    open_session_store(f"log:{os.environ['AURORA_HOME']}/spawn/sessions").save(spawned)
    kept = Session("of-a-program", title="Kept by a program", created_at=at, updated_at=at)
    kept.messages.append(SessionMessage("user", "Programs talk, too.", at))
    SessionStorage().save(kept)
    return serving(at_home)


@pytest.fixture
def visit(browser: Browser, site: Site) -> Generator[Visit]:
    """A visitor who followed the link; nothing may go wrong, and nobody else may be asked."""
    context = entered(browser, site)
    found = Visit(context.new_page(), site)
    yield found
    found.assert_calm()
    context.close()


def entered(browser: Browser, site: Site, **options: object) -> BrowserContext:
    context = browser.new_context(**options)  # pyright: ignore[reportArgumentType]
    page = context.new_page()
    page.goto(site.link)
    assert page.url == f"{site.address}/"  # the token is gone from the address
    page.close()
    return context


def open_titled(visit: Visit, title: str, query: str = "/") -> None:
    """Open a conversation from a list, in which a new one may be a moment later."""
    end = time.monotonic() + 60
    visit.go(query)
    while not visit.page.locator("a.go", has_text=title).count():
        assert time.monotonic() < end, f"{title} is never listed"
        visit.go(query)
    visit.page.locator("a.go", has_text=title).first.click()
    visit.page.wait_for_url("**/c/*")


def test_list_shows_conversations_of_every_tool(visit: Visit) -> None:
    """By day, the latest first, each with its facts; those of tools and of spawn among them."""
    visit.go("/")
    page = visit.page
    first = page.locator(".row").first
    expect(first.locator("a.go")).to_have_text("Checkout fails for carts with a gift card")
    expect(first.locator(".status")).to_have_text("active")
    expect(first.locator(".meta")).to_contain_text("Claude Code")
    expect(page.locator(".day > h2").first).to_have_text(re.compile("Today|Yesterday"))
    for tool in ("claude", "codex", "gemini", "opencode", "spawn", "aur", "document"):
        visit.go(f"/?tool={tool}")
        assert page.locator(".row").count() > 0
    visit.go("/?tool=aur")
    expect(page.get_by_label("Tool")).to_have_value("spawn")


def test_filters_narrow_the_list(visit: Visit) -> None:
    """A choice is enough; the address keeps it, and several add up."""
    visit.go("/")
    page = visit.page
    page.get_by_label("Type").select_option("debug")
    page.wait_for_url("**/?kind=debug")
    kinds = page.locator(".row .kind").all_inner_texts()
    assert kinds
    assert set(kinds) == {"debug"}
    page.get_by_label("Tag").select_option("urgent")
    page.wait_for_url("**/?kind=debug&tag=urgent")
    assert set(page.locator(".row a.go").all_inner_texts()) == {
        "Checkout fails for carts with a gift card"
    }
    visit.go("/?when=1999")
    expect(page.locator(".none h2")).to_have_text("No results")


@pytest.mark.slow
def test_long_list_is_paged_without_repeats(visit: Visit) -> None:
    """Older ones are a click away, and none is on two pages."""
    visit.go("/")
    page = visit.page
    first = page.locator("a.go").evaluate_all("all => all.map(one => one.href)")
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**/?page=2")
    second = page.locator("a.go").evaluate_all("all => all.map(one => one.href)")
    assert len(first) == 50
    assert second
    assert not set(first) & set(second)


def test_search_hit_opens_conversation_at_message(visit: Visit) -> None:
    """What was said is found, marked, and opens at the very message."""
    visit.go("/")
    page = visit.page
    page.keyboard.press("/")
    page.keyboard.type("payment provider refuses")
    page.keyboard.press("Enter")
    hit = page.locator(".hits a").first
    expect(hit.locator("mark").first).to_have_text("payment")
    hit.click()
    page.wait_for_url("**#m5")
    expect(page.locator("#m5")).to_be_in_viewport()
    expect(page.locator("#m5")).to_contain_text("payment provider")
    visit.go("/?q=marmot")
    expect(page.locator(".found a.go")).to_have_text("An agent of ours")
    visit.go("/?q=notsaidanywhere")
    expect(page.locator(".none h2")).to_have_text("No results")


def test_conversation_page_renders_markdown_code_and_folded_calls(visit: Visit) -> None:
    """Markdown, code with colours, a table; tool calls are folded, with their result inside."""
    open_titled(visit, "Checkout fails", "/?status=active")
    page = visit.page
    expect(page.locator("#m5 strong").first).to_have_text("before")
    expect(page.locator("#m5 pre .k").first).to_have_text("def")
    assert page.locator("#m5 pre .k").first.evaluate("e => getComputedStyle(e).color") != (
        page.locator("#m5 pre").evaluate("e => getComputedStyle(e).color")
    )
    expect(page.locator("#m5 table td.right").first).to_have_text("19.98")
    link = page.locator("#m5 a[href^=https]")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    call = page.locator("#m2 details", has_text="Grep")
    expect(call.locator("pre").last).to_be_hidden()
    call.locator("summary").click()
    expect(call.locator("pre").last).to_contain_text("shop/order.py:88")
    expect(page.locator("#m5 .tokens")).to_have_text("1,240 tokens")
    expect(page.locator(".facts")).to_contain_text("48.2 k in, 3,904 out")


def test_conversations_of_programs_and_spawn_open(visit: Visit) -> None:
    """Whatever keeps them."""
    open_titled(visit, "Kept by a program", "/?tool=document")
    expect(visit.page.locator("#m1")).to_contain_text("Programs talk, too.")
    open_titled(visit, "An agent of ours", "/?tool=aur")
    expect(visit.page.locator("#resume")).to_have_text(
        "cortext spawn --resume 20260101-000000-abcd"
    )
    visit.go("/?tool=codex")
    visit.page.locator("a.go").first.click()
    expect(visit.page.locator(".turn.user").first).to_be_visible()


def test_link_to_folded_tool_result_unfolds_result(visit: Visit) -> None:
    """A deep link to a message that stands folded in a call unfolds it."""
    open_titled(visit, "Checkout fails", "/?status=active")
    visit.go(visit.page.url.removeprefix(visit.site.address) + "#m4")
    visit.page.reload()
    expect(visit.page.locator("#m4 pre").last).to_be_visible()


def test_conversation_page_shows_appended_messages_live(visit: Visit, site: Site) -> None:
    """What another process appends appears by itself, also the result of a call that was open."""
    root = str(site.folder / "home/shop")
    store = open_session_store(f"workspace:{root}")
    story = stories.conversation(
        "031-plan-live", stories.datetime.now(stories.UTC), [("user", "Begin.")], title="Growing"
    )
    stories.keep(root, story)
    open_titled(visit, "Growing")
    page = visit.page
    expect(page.locator("[data-live]")).to_be_visible()
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "make"}}
    store.append("031-plan-live", SessionMessage("assistant", "I try.", tool_calls=[call]))
    expect(page.locator("#m2")).to_contain_text("No result recorded", timeout=10_000)
    store.append("031-plan-live", SessionMessage("tool", "made it", tool_call_id="c1"))
    expect(page.locator("#m2 details")).to_contain_text("made it", timeout=10_000)
    store.append("031-plan-live", SessionMessage("assistant", "Done: **yes**."))
    expect(page.locator("#m4 strong")).to_have_text("yes", timeout=10_000)
    expect(page.locator("dd[data-total]")).to_have_text("4")
    assert page.locator(TURN).evaluate_all("all => all.map(one => one.dataset.n)") == [
        "1",
        "2",
        "4",
    ]


def test_changed_message_is_redrawn_in_place(visit: Visit, site: Site) -> None:
    """An answer that is completed in its place grows on the page; what was unfolded stays so."""
    at = stories.datetime.now(stories.UTC)
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "make"}}
    messages = [
        SessionMessage("user", "Tell me.", at),
        SessionMessage("assistant", "One", at, tool_calls=[call]),
        SessionMessage("tool", "made it", at, tool_call_id="c1"),
        SessionMessage("assistant", "The beg", at),
    ]
    story = Session("streamed", title="Streaming", created_at=at, updated_at=at, messages=messages)
    storage = SessionStorage(site.folder / "xdg_data_home/src/opencode/sessions")
    storage.save(story)
    open_titled(visit, "Streaming", "/?tool=document")
    page = visit.page
    page.locator("#m2 summary").click()
    page.evaluate("document.querySelector('#m1').seen = true")
    for number, text in ((4, "The beginning, and the **end**."), (2, "One, two")):
        old = story.messages[number - 1]
        story.messages[number - 1] = SessionMessage(
            "assistant", text, at, old.id, tool_calls=old.tool_calls
        )
        storage.save(story)
        expect(page.locator(f"#m{number}")).to_contain_text(text[:8], timeout=10_000)
    expect(page.locator("#m4 strong")).to_have_text("end")
    expect(page.locator("#m2 details")).to_have_attribute("open", "")
    assert page.evaluate("document.querySelector('#m1').seen"), "the first was drawn anew"
    expect(page.locator("dd[data-total]")).to_have_text("4")


def test_empty_conversation_page_shows_first_message_live(visit: Visit, site: Site) -> None:
    """Of one in which nothing was said yet the first message appears by itself."""
    root = str(site.folder / "home/shop")
    now = stories.datetime.now(stories.UTC)
    stories.keep(root, stories.conversation("032-plan-new", now, [], title="Unsaid"))
    open_titled(visit, "Unsaid")
    expect(visit.page.locator("[data-unsaid]")).to_be_visible()
    store = open_session_store(f"workspace:{root}")
    store.append("032-plan-new", SessionMessage("user", "The first."))
    expect(visit.page.locator("#m1")).to_contain_text("The first.", timeout=10_000)


@pytest.mark.parametrize("at", ["1.5", "-1", "x", "%23", "1e3"])
def test_invalid_message_number_shows_notice_and_conversation(visit: Visit, at: str) -> None:
    """The page says so and shows the conversation as without it."""
    open_titled(visit, "Kept by a program", "/?tool=document")
    visit.go(f"{visit.page.url.removeprefix(visit.site.address)}?at={at}")
    expect(visit.page.locator("#said")).to_contain_text("is not a message number")
    expect(visit.page.locator("#m1")).to_be_in_viewport()


def test_message_number_out_of_range_opens_nearest_end(visit: Visit) -> None:
    """As one below the first is the first."""
    open_titled(visit, "A very long story", "/?kind=plan")
    address = visit.page.url.removeprefix(visit.site.address)
    for at, number in (("99999", 10_000), ("0", 1)):
        visit.go(f"{address}?at={at}")
        expect(visit.page.locator(f"#m{number}")).to_be_in_viewport()


def scroll_until(page: Page, selector: str, to: str) -> None:
    """Scroll again and again, as a person does, until something is there."""
    end = time.monotonic() + 60
    while not page.locator(selector).count():
        assert time.monotonic() < end, f"{selector} never came"
        page.evaluate(f"scrollTo(0, {to})")
        page.wait_for_timeout(50)


def test_long_conversation_loads_in_windows_and_jumps_to_message(visit: Visit) -> None:
    """A part is there at once, more comes with scrolling, and any message is a jump away."""
    open_titled(visit, "A very long story", "/?kind=plan")
    page = visit.page
    assert page.locator(TURN).count() < 200
    address = page.url
    page.locator(".jump input").fill("5001")
    page.locator(".jump input").press("Enter")
    expect(page.locator("#m5001")).to_be_in_viewport()
    page.wait_for_url("**#m5001")
    scroll_until(page, "#m5060", "document.body.scrollHeight")
    scroll_until(page, "#m4960", "0")
    page.keyboard.press("G")
    expect(page.locator("#m10000")).to_be_in_viewport()
    page.goto(f"{address}#m777")
    page.reload()
    expect(page.locator("#m777 strong")).to_have_text("bold 777")
    expect(page.locator("#m777")).to_be_in_viewport()


@pytest.mark.slow
def test_far_scrolling_keeps_bounded_window_without_gaps(visit: Visit) -> None:
    """Messages leave at one end as others come at the other, in order and without a gap."""
    open_titled(visit, "A very long story", "/?kind=plan")
    page = visit.page
    scroll_until(page, "#m900", "document.body.scrollHeight")
    numbers = page.locator(TURN).evaluate_all("all => all.map(one => Number(one.dataset.n))")
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert len(numbers) <= 441


def test_charts_have_text_alternatives_and_link_to_days(visit: Visit) -> None:
    """Pictures with words for those who do not see them; a day leads to its conversations."""
    visit.go("/charts")
    page = visit.page
    assert page.locator(".calendar rect").count() > 360
    assert page.locator(".calendar a").count() > 10
    expect(page.locator(".chart", has_text="Tools").locator("tbody")).to_contain_text("Claude Code")
    expect(page.locator(".totals")).to_contain_text("Cost$")
    assert page.get_by_role("img", name=re.compile("by hour: 00 [0-9]")).count() == 1
    page.locator(".told summary").click()
    assert page.locator(".told tbody tr").count() >= 2
    page.locator(".calendar a").last.click()
    page.wait_for_url(re.compile(r"/\?when=\d{4}-\d\d-\d\d$"))
    assert page.locator(".row").count() > 0


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("Markdown", b"#"),
        pytest.param("HTML", b"<!doctype html>", marks=pytest.mark.slow),
        pytest.param("JSON", b"{", marks=pytest.mark.slow),
        pytest.param("JSONL", b'{"type":', marks=pytest.mark.slow),
    ],
)
def test_export_button_downloads_importable_file(
    visit: Visit, name: str, beginning: bytes, tmp_path: Path
) -> None:
    """Each button gives a file that `cortext import` can read."""
    from cortext.formats.exports.export_formats import decode, find_body

    open_titled(visit, "Checkout fails", "/?status=active")
    with visit.page.expect_download() as waiting:
        visit.page.get_by_role("link", name=name, exact=True).click()
    assert waiting.value.suggested_filename.startswith("004-debug-checkout.")
    data = Path(waiting.value.path()).read_bytes()
    assert data.lstrip().startswith(beginning)
    assert len(decode(find_body(data)).session.messages) == 9


def test_copy_button_copies_resume_command(browser: Browser, site: Site) -> None:
    """One click, and it is in the clipboard."""
    context = entered(browser, site)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.address)
    visit = Visit(context.new_page(), site)
    open_titled(visit, "Checkout fails", "/?status=active")
    visit.page.get_by_role("button", name="Copy").click()
    expect(visit.page.locator("#said")).to_have_text("Copied")
    text = visit.page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"cortext resume \d{4}-\d\d-\d\d/004-debug-checkout", text)
    visit.assert_calm()
    context.close()


def test_chosen_theme_overrides_system_theme_on_next_page(browser: Browser, site: Site) -> None:
    """The system's choice holds until the person's; that one is kept on the next page."""
    context = entered(browser, site, color_scheme="dark")
    visit = Visit(context.new_page(), site)
    visit.go("/")
    assert brightness(visit) < 100
    visit.page.keyboard.press("t")
    assert brightness(visit) > 600
    visit.go("/charts")
    assert visit.page.locator("html").get_attribute("data-theme") == "light"
    assert brightness(visit) > 600
    visit.assert_calm()
    context.close()


def brightness(visit: Visit) -> int:
    colour = visit.page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.parametrize("width", [pytest.param(320, marks=pytest.mark.slow), 400])
def test_pages_fit_phone_screen_width(browser: Browser, site: Site, width: int) -> None:
    """Nothing is wider than the screen, unfolded or not, and no filter is beyond its edge."""
    context = entered(browser, site, viewport={"width": width, "height": 800})
    visit = Visit(context.new_page(), site)
    open_titled(visit, "Checkout fails", "/?status=active")
    address = visit.page.url.removeprefix(site.address)
    for path in ("/", "/?q=gift", address, "/charts", "/usage?when=all"):
        visit.go(path)
        visit.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        for filter in visit.page.locator(".filters select").all():
            box = filter.bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    visit.assert_calm()
    context.close()


def test_keyboard_shortcuts_select_open_and_show_help(visit: Visit) -> None:
    """j and k choose, Enter opens, ? says which keys there are."""
    visit.go("/")
    page = visit.page
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator(".row").first).to_have_class(re.compile(r"\bat\b"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    # The browser gives the focus back a moment after the dialog is hidden.
    page.wait_for_function("document.activeElement === document.body")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/*", wait_until="commit", timeout=90_000)
    page.locator("section.turns").wait_for()
    page.keyboard.press("u")
    page.wait_for_url(f"{visit.site.address}/", wait_until="commit", timeout=90_000)


@pytest.mark.slow
def test_pages_work_without_javascript(browser: Browser, site: Site) -> None:
    """Links and forms do what the scripts do more quickly."""
    context = entered(browser, site, java_script_enabled=False)
    visit = Visit(context.new_page(), site)
    open_titled(visit, "A very long story", "/?kind=plan")
    visit.page.get_by_role("link", name="Later messages").click()
    expect(visit.page.locator("#m50")).to_have_count(1)
    visit.page.get_by_role("link", name="Latest").click()
    expect(visit.page.locator("#m10000")).to_have_count(1)
    visit.go("/?q=gift+card")
    assert visit.page.locator(".found").count() > 0
    context.close()


@pytest.mark.slow
def test_documentation_screenshots_have_expected_size(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    """Two screenshots; with KEEP_PICTURES=1 they become those of the documentation."""
    context = entered(browser, site, viewport={"width": 1240, "height": 900})
    visit = Visit(context.new_page(), site)
    open_titled(visit, "Checkout fails", "/?status=active")
    visit.page.locator("#m5 pre").wait_for()
    visit.page.evaluate("scrollTo(0, 0)")
    folder = (
        Path(__file__).parents[2] / "docs/picture" if os.environ.get("KEEP_PICTURES") else tmp_path
    )
    visit.page.screenshot(path=folder / "web-conversation.png")
    visit.go("/charts")
    visit.page.screenshot(path=folder / "web-charts.png")
    for name in ("web-conversation.png", "web-charts.png"):
        assert 20_000 < (folder / name).stat().st_size < 200_000
    visit.assert_calm()
    context.close()
