"""Only the person of this machine is let in, and Ctrl+C ends it: the real server, by bare HTTP."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from cortext import SessionMessage, open_session_store
from tests.web import stories
from tests.web.conftest import Site, environment_of


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


@pytest.fixture(scope="module")
def site(at_home: Path, serving: Callable[[Path], Site]) -> Site:
    root = stories.workspace(at_home / "home/shop")
    stories.checkout(root)
    return serving(at_home)


def ask(site: Site, path: str, **headers: str) -> Answer:
    host = site.address.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", path, headers={"Host": host, **headers})
    found = connection.getresponse()
    body = found.read().decode()
    answer = Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, body)
    connection.close()
    return answer


def enter(site: Site) -> str:
    """Follow the link; the cookie."""
    answer = ask(site, site.link.removeprefix(site.address))
    assert answer.status == 303
    assert answer.headers["location"] == "/"
    cookie, *flags = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(flags)
    assert site.link.partition("token=")[2] not in cookie
    return cookie


@pytest.mark.parametrize(
    "path", ["/", "/charts", "/usage", "/c/0123456789abcdef", "/?token=wrong", "/?token="]
)
def test_pages_without_cookie_show_only_refusal(site: Site, path: str) -> None:
    """Without the cookie every page is the same refusal, which tells nothing."""
    answer = ask(site, path)
    assert answer.status == 401
    assert "Checkout" not in answer.body
    assert "This page is private" in answer.body
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_login_link_sets_valid_cookie(site: Site) -> None:
    """That cookie is good; another is not, nor is the same under another name."""
    cookie = enter(site)
    assert "Checkout fails" in ask(site, "/", Cookie=cookie).body
    assert ask(site, "/", Cookie=f"{cookie}x").status == 401
    assert ask(site, "/", Cookie=cookie.replace("cortext-", "cortext_")).status == 401
    assert ask(site, "/", Cookie='"; =;;(').status == 401


ODD = ['prefs={"theme":"dark"}', "a[b]=1", "x=hello world", "=", "flag", 'q="a', "é=ü"]


def test_cookies_of_other_programs_are_ignored(site: Site) -> None:
    """Browsers send those of every port of a host, whatever is in them."""
    cookie = enter(site)
    for odd in [*ODD, "; ".join(ODD)]:
        assert ask(site, "/", Cookie=f"{odd}; {cookie}").status == 200, odd
        assert ask(site, "/", Cookie=f"{odd}; {cookie}; {odd}").status == 200, odd
        assert ask(site, "/", Cookie=odd).status == 401, odd


def test_login_link_keeps_path_and_never_redirects_to_another_host(site: Site) -> None:
    """Filters stay; an address that looks like another host's does not become one."""
    token = site.link.partition("token=")[2]
    assert ask(site, f"/?kind=plan&token={token}").headers["location"] == "/?kind=plan"
    assert ask(site, f"//evil.invalid/?token={token}").headers["location"] == "/evil.invalid/"
    for path, clean in [
        ("/%5Cevil.invalid/", "/%5Cevil.invalid/"),
        ("/%F0%9F%99%82", "/%F0%9F%99%82"),
        ("/a%0D%0AX-Y:1", "/a%0D%0AX-Y%3A1"),
    ]:
        answer = ask(site, f"{path}?token={token}")
        assert (answer.status, answer.headers["location"]) == (303, clean)


@pytest.mark.parametrize("host", ["evil.invalid", "127.0.0.1", "127.0.0.1:1", "localhost.invalid"])
def test_server_refuses_foreign_host_header(site: Site, host: str) -> None:
    """Also with the cookie: a page that lies about its host gets nothing."""
    answer = ask(site, "/", Cookie=enter(site), Host=host)
    assert answer.status == 403
    assert "Checkout" not in answer.body


@pytest.mark.parametrize("origin", ["http://evil.invalid", "null", "http://127.0.0.1:1"])
def test_server_refuses_foreign_origin(site: Site, origin: str) -> None:
    """A request that a page of somebody else sends is not answered."""
    assert ask(site, "/", Cookie=enter(site), Origin=origin).status == 403


def test_server_accepts_own_origin(site: Site) -> None:
    """As our own script does."""
    assert ask(site, "/", Cookie=enter(site), Origin=site.address).status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/c/0123456789abcdef", 404),
        ("/c/..%2f..%2fetc%2fpasswd", 404),
        ("/assets/..%2frouter.py", 404),
        ("/assets/nothing.css", 404),
        ("/assets/page.css", 200),
        ("/?when=never", 400),
        ("/?page=-3&kind=%00&status=%ff", 200),
        ("/?page=99999999999999999999", 200),
    ],
)
def test_odd_addresses_answer_without_traceback_or_foreign_file(
    site: Site, path: str, status: int
) -> None:
    """One sentence, no traceback, and no file but ours."""
    answer = ask(site, path, Cookie=enter(site))
    assert answer.status == status
    assert "Traceback" not in answer.body
    assert "def pages_router" not in answer.body


CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_unknown_path_is_html_for_browsers_and_json_for_programs(site: Site) -> None:
    """For a person; a program gets JSON, and a stranger is told nothing."""
    cookie = enter(site)
    page = ask(site, "/nope", Cookie=cookie, Accept=CHROMIUM)
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "All conversations" in page.body
    told = ask(site, "/nope", Cookie=cookie)
    assert (told.status, told.headers["content-type"]) == (404, "application/problem+json")
    assert '"code":"no-such-path"' in told.body
    assert "This page is private" in ask(site, "/nope", Accept=CHROMIUM).body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/export/md", "text/markdown; charset=utf-8"),
        ("/export/html", "text/html; charset=utf-8"),
        ("/export/json", "application/json"),
        ("/export/jsonl", "application/x-ndjson"),
        ("/text/1", "text/plain; charset=utf-8"),
    ],
)
def test_content_type_has_at_most_one_charset(site: Site, path: str, kind: str) -> None:
    """With one charset where it needs one: JSON is always UTF-8."""
    cookie = enter(site)
    found = ask(site, conversation_path(site, cookie) + path, Cookie=cookie)
    assert (found.status, found.headers["content-type"]) == (200, kind)


def conversation_path(site: Site, cookie: str) -> str:
    found = re.search(r'href="(/c/[0-9a-f]{16})"', ask(site, "/", Cookie=cookie).body)
    assert found
    return found[1]


def test_messages_route_reports_window_and_total(site: Site) -> None:
    """The messages that were asked for, and how many there are; numbers beyond the end are none."""
    cookie = enter(site)
    path = conversation_path(site, cookie)
    answer = ask(site, f"{path}/messages?from=5&to=6", Cookie=cookie)
    assert [answer.headers[f"x-{name}"] for name in ("first", "last", "total")] == ["5", "6", "9"]
    assert re.findall(r'data-n="(\d+)"', answer.body) == ["5", "6"]
    beyond = ask(site, f"{path}/messages?from=50&to=90", Cookie=cookie)
    assert (beyond.status, beyond.body.strip()) == (200, "")
    assert ask(site, f"{path}/text/3", Cookie=cookie).body.startswith("shop/cart.py:41")
    assert ask(site, f"{path}/text/0", Cookie=cookie).status == 404
    assert ask(site, f"{path}/export/exe", Cookie=cookie).status == 400


def test_huge_result_is_cut_and_linked_in_full(site: Site) -> None:
    """A page stays small whatever a tool printed; the whole text is a link away."""
    root = str(site.folder / "home/shop")
    call = {"id": "big", "name": "Bash", "arguments": {"command": "yes"}}
    story = stories.conversation(
        "050-debug-big", stories.datetime(2026, 1, 2, tzinfo=stories.UTC), []
    )
    story.title = "A flood"
    story.messages = [
        SessionMessage("assistant", "", tool_calls=[call]),
        SessionMessage("tool", "y\n" * 1_000_000, tool_call_id="big"),
    ]
    open_session_store(f"workspace:{root}").save(story)
    cookie = enter(site)
    end = time.monotonic() + 60
    while "A flood" not in (listed := ask(site, "/", Cookie=cookie).body):
        assert time.monotonic() < end, "it is never listed"
    found = re.search(r'href="(/c/[0-9a-f]{16})"[^>]*>A flood', listed)
    assert found
    answer = ask(site, found[1], Cookie=cookie)
    assert len(answer.body) < 100_000
    assert "1,980,000 more characters" in answer.body
    assert len(ask(site, f"{found[1]}/text/2", Cookie=cookie).body) == 2_000_000


def start_web(at_home: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cortext", "web", "--no-open", *options],
        cwd=at_home,
        env={**os.environ, **environment_of(at_home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_stops_server_with_open_event_stream(at_home: Path) -> None:
    """With an open stream of events it ends within seconds, and says nothing odd."""
    process = start_web(at_home, "--port", "0")
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    site = Site(link, link.partition("/?")[0], at_home)
    cookie = enter(site)
    path = conversation_path(site, cookie)
    host = site.address.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", f"{path}/events?seen=1", headers={"Host": host, "Cookie": cookie})
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    first = [stream.readline().decode().strip() for _ in range(2)]
    assert "event: grown" in first
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    connection.close()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "ERROR" not in errors


def test_web_reports_port_in_use_in_one_sentence(site: Site) -> None:
    """And a hint, no traceback."""
    port = site.address.rpartition(":")[2]
    command = [sys.executable, "-m", "cortext", "web", "--no-open", "--port", port]
    environment = {**os.environ, **environment_of(site.folder)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert found.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: address already in use" in found.stderr
    assert "hint: `--port 0` uses any free port" in found.stderr


def test_web_announces_port_when_default_port_is_taken(at_home: Path) -> None:
    with socket.socket() as usual:
        with suppress(OSError):  # another program may have taken the port already
            usual.bind(("127.0.0.1", 8642))
        process = start_web(at_home)
        assert process.stdout is not None
        link = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    port = urlsplit(link).port
    assert port != 8642
    assert f"Port 8642 is in use. Using port {port}.\n" in errors
