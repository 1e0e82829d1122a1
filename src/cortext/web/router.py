"""The URLs of the web pages.

`pages_router` can be part of any litestar application that identifies its users.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from typing import Any

from litestar import MediaType, Request, Response, Router, get
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from litestar.response import ServerSentEvent

from cortext import clock
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.listing.unique_conversation_names import reopens
from cortext.features.transfer.export import FORMATS
from cortext.features.transfer.exported_markdown import attach_document
from cortext.features.usage.usage_overview import summarize_usage
from cortext.service.http.mount_path import base_of
from cortext.web import chart_geometry
from cortext.web.chart_counts import Counting
from cortext.web.conversation_lookup import ConversationLookup
from cortext.web.conversation_turns import Turns
from cortext.web.error_pages import refused
from cortext.web.export_download import as_file, check_format
from cortext.web.list_page import browse, card, search
from cortext.web.list_request import ListRequest, choices
from cortext.web.live_updates import ShutdownFlag, follow
from cortext.web.open_conversation_cache import OpenConversationCache, document_of
from cortext.web.page_access import check_access, redirect_to_store
from cortext.web.store_pages.store_router import (
    kept,
    kept_one,
    search_store,
    store_conversation_events,
    store_export,
    store_list_events,
)
from cortext.web.templating import ASSETS, HEADERS, TYPES, common, page
from cortext.web.usage_pages.usage_charts import draw_usage, expensive_conversations, project_bars
from cortext.web.usage_pages.usage_reading import UsageReading
from cortext.web.usage_pages.usage_request import UsageRequest, usage_choices

WINDOW = 40
"""The number of messages on a new page. Scrolling adds the same number of messages."""
_MAX_MESSAGES = 200
_MAX_REQUESTS = 200
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)

Ask = Request[Any, Any, Any]
Key = FromPath[str]
LookupDependency = NamedDependency[ConversationLookup]
CacheDependency = NamedDependency[OpenConversationCache]
CountsDependency = NamedDependency[Counting]
UsageDependency = NamedDependency[UsageReading]
EndingHere = NamedDependency[ShutdownFlag]


def pages_router(
    ending: ShutdownFlag | None = None, *, machine: bool = False, serving: bool = False
) -> Router:
    """Return the litestar router of the web pages.

    The application must set `OWNER` in the ASGI scope to the owner who makes the request.

    Args:
        ending: The flag that the server sets when it stops. Open event streams then end.
        machine: Whether to add the pages of this machine's conversations, for its user only.
        serving: Whether to add the pages of the conversations in the application's store. Each
            client sees only its own conversations.
    """
    shelf, desk, counting, reading, end = (
        ConversationLookup(),
        OpenConversationCache(),
        Counting(),
        UsageReading(),
        ending or ShutdownFlag(),
    )
    handlers = [asset_file]
    if machine:
        handlers += [conversations, one, window, events, text, export, chart_page, usage_page]
    else:
        handlers += [home]
    if serving:
        handlers += [kept, kept_one, store_list_events, store_conversation_events, store_export]
    return Router(
        path="/",
        route_handlers=handlers,
        dependencies={
            "shelf": Provide(lambda: shelf, sync_to_thread=False),
            "desk": Provide(lambda: desk, sync_to_thread=False),
            "counting": Provide(lambda: counting, sync_to_thread=False),
            "reading": Provide(lambda: reading, sync_to_thread=False),
            "ending": Provide(lambda: end, sync_to_thread=False),
        },
        before_request=check_access,
        exception_handlers={CortextError: refused},
        include_in_schema=False,
    )


@get("/", sync_to_thread=False)
def home(request: Ask) -> Response[Any]:
    """Redirect to the list of the conversations in the store.

    This is the start page of an application that does not serve this machine's conversations.
    """
    return redirect_to_store(request)


@get("/")
async def conversations(request: Ask, shelf: LookupDependency) -> Response[Any]:
    """Show the list of this machine's conversations, or the results of a search.

    If the application also has a store, the first page of a search without filters also shows
    results from this store.
    """
    asked = ListRequest.of(request.query_params)
    listing = asyncio.to_thread(_list_values, asked, shelf)
    if asked.q and asked.page == 1 and not asked.is_filtered and "owned" in request.app.state:
        values, in_store = await asyncio.gather(listing, search_store(request, asked.q))
    else:
        values, in_store = await listing, None
    return page("list.html", **common(request), asked=asked, beside=in_store, **values)


def _list_values(asked: ListRequest, shelf: ConversationLookup) -> dict[str, Any]:
    rows = shelf.rows()
    found = search(asked) if asked.q else browse(rows, asked)
    return {"page": found, "choices": choices(rows, asked), "all": len(rows)}


@get("/c/{key:str}", sync_to_thread=True)
def one(request: Ask, key: Key, shelf: LookupDependency, desk: CacheDependency) -> Response[Any]:
    """Show `WINDOW` messages of one conversation.

    The query parameter `at` is the number of a message that must be shown. Without `at`, the page
    shows the end of an active conversation, or the beginning of any other conversation.
    """
    opened = desk.open(shelf.row(key))
    # Read the version before the messages, so that a change meanwhile is reported to the page.
    version, turns = opened.version, opened.turns
    total = turns.total
    at = _number(request, "at", total if opened.row.status == "active" else 1)
    at = max(min(at, total), 1)
    first = _window_start(turns, at)
    last = min(first + WINDOW - 1, total)
    return page(
        "conversation.html",
        **common(request),
        card=card(opened.row),
        opened=opened,
        document=document_of(opened.row),
        turns=list(turns.window(first, last)),
        total=total,
        version=version,
        first=first,
        last=last,
        at=at,
        requests=turns.requests(at, _MAX_REQUESTS),
        resume=resume_command(opened.row),
        formats=FORMATS,
        key=key,
    )


@get("/c/{key:str}/messages", sync_to_thread=True)
def window(request: Ask, key: Key, shelf: LookupDependency, desk: CacheDependency) -> Response[Any]:
    """Return more messages of a conversation, as HTML that a script inserts into the page.

    The query parameters `from` and `to` are the numbers of the first and the last message. If
    `around` is given instead, the messages around this number are returned. The response headers
    have the numbers of the first and the last returned message.
    """
    turns = desk.open(shelf.row(key)).turns
    around = _number(request, "around", 0)
    first = _number(request, "from", 1)
    first = max(_window_start(turns, around) if around else first, 1)
    last = min(_number(request, "to", first + WINDOW - 1), first + _MAX_MESSAGES - 1, turns.total)
    base = base_of(request.scope)
    response = page("turns.html", turns=list(turns.window(first, last)), key=key, base=base)
    response.headers |= {"X-First": str(first), "X-Last": str(last), "X-Total": str(turns.total)}
    return response


@get("/c/{key:str}/events")
async def events(
    request: Ask, key: Key, shelf: LookupDependency, desk: CacheDependency, ending: EndingHere
) -> ServerSentEvent:
    """Send a server-sent event each time the conversation changes.

    The query parameter `seen` is the version that the page shows. If the browser reconnects, the
    header `Last-Event-ID` has this version.
    """
    opened = await asyncio.to_thread(lambda: desk.open(shelf.row(key)))
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    return ServerSentEvent(follow(opened, seen, ending), headers=HEADERS)


@get("/c/{key:str}/text/{number:int}", sync_to_thread=True)
def text(
    key: Key, number: FromPath[int], shelf: LookupDependency, desk: CacheDependency
) -> Response[bytes]:
    """Return the full text of one message as plain text."""
    turns = desk.open(shelf.row(key)).turns
    if not 1 <= number <= turns.total:
        raise SessionNotFoundError(f"message {number}")
    data = turns.text(number).encode("utf-8", "replace")
    return Response(data, media_type=MediaType.TEXT, headers=HEADERS)


@get("/c/{key:str}/export/{format:str}", sync_to_thread=True)
def export(
    key: Key, format: FromPath[str], shelf: LookupDependency, desk: CacheDependency
) -> Response[bytes]:
    """Return the conversation as a file, as `cortext export` writes it."""
    check_format(format)
    opened = desk.open(shelf.row(key))
    session = attach_document(opened.session, opened.row)
    return as_file(session, opened.row.id, format)


@get("/charts", sync_to_thread=True)
def chart_page(request: Ask, shelf: LookupDependency, counting: CountsDependency) -> Response[Any]:
    """Show charts of the activity: messages, times, tools, models and costs."""
    counted = counting.count(shelf.rows())
    hours = [f"{hour:02}" for hour in range(24)]
    return page(
        "charts.html",
        **common(request),
        counted=counted,
        calendar=chart_geometry.calendar(counted.days, clock.now().astimezone().date()),
        tools=chart_geometry.bars(counted.tools),
        types=chart_geometry.bars(counted.types),
        tokens=chart_geometry.bars([one for one in counted.models if one.tokens], "tokens"),
        hours=chart_geometry.columns(counted.hours, hours),
        weekdays=chart_geometry.columns(counted.weekdays, chart_geometry.WEEKDAYS),
    )


@get("/usage", sync_to_thread=True)
def usage_page(request: Ask, reading: UsageDependency) -> Response[Any]:
    """Show the cost and the tokens of AI tools, by day, model, project and conversation.

    Until the usage of all sessions is read, the page shows only the progress.
    """
    asked = UsageRequest.of(request.query_params)
    span = asked.span
    snapshot = reading.snapshot()
    if snapshot is None:
        return page("usage_reading.html", **common(request), unread=reading.unread)
    overview = summarize_usage(snapshot, since=span.since, until=span.until, folder=asked.project)
    return page(
        "usage.html",
        **common(request),
        asked=asked,
        choices=usage_choices(asked, snapshot.folders),
        overview=overview,
        charts=draw_usage(overview, span) if overview.days else None,
        projects=project_bars(overview.projects),
        conversations=expensive_conversations(overview),
    )


@get("/assets/{name:str}", sync_to_thread=True)
def asset_file(name: FromPath[str]) -> Response[bytes]:
    """Return a style sheet, a script or an image of the web pages."""
    kind = TYPES.get(os.path.splitext(name)[1])
    if kind is None or name not in os.listdir(ASSETS):
        raise SessionNotFoundError(name[:80])
    with open(os.path.join(ASSETS, name), "rb") as file:
        data = file.read()
    # The URL changes with the file, so browsers may cache it.
    headers = {**HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, media_type=kind, headers=headers)


def resume_command(row: ConversationRow) -> str:
    """Return the shell command that continues a conversation.

    Return "" if another program wrote the session, because cortext cannot continue it.
    """
    if row.tool == DOCUMENT:
        return ""
    return reopens(row, row.key if row.tool else row.address, shlex.quote)


def _window_start(turns: Turns, at: int) -> int:
    """Return the number of the first message of a window that shows the message `at`."""
    shown = turns.shown_in(min(at, turns.total))
    return max(min(shown - WINDOW // 4, turns.total - WINDOW + 1), 1)


def _number(request: Ask, name: str, default: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if _NUMBER.fullmatch(given) else default
