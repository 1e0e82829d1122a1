"""Error pages. Each shows one sentence about the error, and a hint that says what to do."""

from __future__ import annotations

import logging
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException

from cortext.errors import CortextError, SessionNotFoundError, SessionStorageError
from cortext.service.http import problem_responses
from cortext.service.http.plain_error_page import prefers_html
from cortext.service.http.request_guard import OWNER
from cortext.web.page_access import stranger
from cortext.web.templating import HEADERS, common, is_person, page

Ask = Request[Any, Any, Any]
_log = logging.getLogger("cortext.web")


def refused(request: Ask, error: CortextError) -> Response[Any]:
    """Return the error page for a CortextError that a handler has raised."""
    if isinstance(error, SessionStorageError) and not isinstance(error, SessionNotFoundError):
        return _storage_error_page(request, error)
    status = 404 if isinstance(error, SessionNotFoundError) else 400
    return _page(request, status, str(error), error.hint)


def _storage_error_page(request: Ask, error: SessionStorageError) -> Response[Any]:
    """Return the error page for a storage error.

    The details may contain paths. Only the user of this machine sees them.
    """
    problem = problem_responses.problem_of(error)
    if is_person(request):
        return _page(request, problem.status, str(error), error.hint)
    return _page(request, problem.status, f"{problem.title}: {problem.detail}", "try again later")


def odd(request: Ask, error: Exception) -> Response[Any]:
    """Return the response for an HTTP error of the framework, or for an unexpected exception.

    If the owner of the request is unknown, the response only asks the user to sign in. Otherwise it
    is an HTML page for a browser, and JSON for a program.
    """
    scope: Any = request.scope
    if scope.get(OWNER) is None:
        return stranger(request)
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status >= 500:
        _log.error("an unexpected error", exc_info=error)
    problem = problem_responses.problem_of_status(status, getattr(error, "detail", ""), None)
    if prefers_html(request.headers.get("accept", "")):
        hint = "" if status < 500 else "see the terminal in which `cortext web` runs"
        return _page(request, problem.status, f"{problem.title}.", hint)
    data = problem_responses.encode(problem)
    return Response(
        data, status_code=problem.status, media_type=problem_responses.MEDIA_TYPE, headers=HEADERS
    )


def _page(request: Ask, status: int, sentence: str, hint: str) -> Response[Any]:
    values = {**common(request), "sentence": sentence, "hint": hint}
    return page("error.html", status=status, status_code=status, **values)
