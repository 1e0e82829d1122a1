"""What went wrong, as a page for people and as JSON for programs, each with what to do about it."""

import pytest

from cortext.service.http import problem_responses
from cortext.service.http.plain_error_page import html_of, prefers_html
from tests.service.http.serve_command import Served

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (CHROMIUM, True),
        ("text/html", True),
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/json, text/html;q=0.9", False),
        ("application/json;q=0.5, text/html;q=0.9", True),
        ("text/html;q=0", False),
        ("text/html;q=nonsense", False),
        ("text/html;level=1;q=0.4, application/problem+json;q=0.3", True),
    ],
)
def test_prefers_html_follows_accept_header(accept: str, expected: bool) -> None:
    assert prefers_html(accept) is expected


def test_error_page_escapes_markup_in_problem_detail() -> None:
    """Also not what a client sent, which a problem repeats."""
    kind, body, headers = html_of(
        problem_responses.problem("bad-request", "<script>alert(1)</script>")
    )
    assert kind.startswith("text/html")
    assert b"<script" not in body
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_every_problem_code_has_a_hint() -> None:
    for code in problem_responses.KINDS:
        assert problem_responses.problem(code).hint, code


@pytest.mark.parametrize(
    ("path", "status", "headers", "said"),
    [
        ("/nope", 404, {}, b"Unknown path"),
        ("/v1/conversations", 401, {"Authorization": None}, b"Authorization: Bearer TOKEN"),
        ("/healthz", 403, {"Host": "evil.invalid"}, b"--allow-host"),
        ("/v1/conversations?limit=x", 400, {}, b"GET /schema"),
    ],
)
def test_errors_are_html_for_browsers_and_json_for_programs(
    server: Served, path: str, status: int, headers: dict[str, str | None], said: bytes
) -> None:
    page = server.ask("GET", path, headers={**headers, "Accept": CHROMIUM})
    assert (page.status, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert said in page.body
    assert b"<h1>" in page.body
    told = server.ask("GET", path, headers=headers)
    assert (told.status, told.code in problem_responses.KINDS) == (status, True)
    assert told.json["hint"]
