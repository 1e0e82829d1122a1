"""The URLs of the pages. `pages_router` fits into any application that identifies its users."""

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
from cortext.features.listing.conversation_names import reopens
from cortext.features.transfer.export import FORMATS
from cortext.service.http.mount_path import base_of
from cortext.web import charts_page
from cortext.web.chart_counts import Counting
from cortext.web.conversation_lookup import ConversationLookup
from cortext.web.conversation_page import Turns
from cortext.web.error_pages import refused
from cortext.web.export_download import as_file, check_format
from cortext.web.list_page import browse, card, search
from cortext.web.list_request import ListRequest, choices
from cortext.web.live_updates import Ending, follow
from cortext.web.open_conversation_cache import Desk, document_of
from cortext.web.page_access import only_who_may, to_kept
from cortext.web.store_pages.store_router import (
    find_kept,
    kept,
    kept_events,
    kept_export,
    kept_one,
    kept_one_events,
)
from cortext.web.templating import ASSETS, HEADERS, TYPES, common, page

WINDOW = 40
"""The number of messages that a page shows at first, and that each scroll adds."""
_MOST = 200
_REQUESTS = 200
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)

Ask = Request[Any, Any, Any]
Key = FromPath[str]
ShelfHere = NamedDependency[ConversationLookup]
DeskHere = NamedDependency[Desk]
CountingHere = NamedDependency[Counting]
EndingHere = NamedDependency[Ending]


def pages_router(
    ending: Ending | None = None, *, machine: bool = False, serving: bool = False
) -> Router:
    """Return the router of all pages.

    `machine` adds the pages of this machine's conversations, for its user only. `serving` adds the
    pages of a service's conversations, where each client sees its own. The scope of a request must
    say under `OWNER` who makes the request. Set `ending.is_near` when the server stops, so that
    open connections do not delay it.
    """
    shelf, desk, counting, end = ConversationLookup(), Desk(), Counting(), ending or Ending()
    handlers = [asset_file]
    if machine:
        handlers += [conversations, one, window, events, text, export, chart_page]
    else:
        handlers += [home]
    if serving:
        handlers += [kept, kept_one, kept_events, kept_one_events, kept_export]
    return Router(
        path="/",
        route_handlers=handlers,
        dependencies={
            "shelf": Provide(lambda: shelf, sync_to_thread=False),
            "desk": Provide(lambda: desk, sync_to_thread=False),
            "counting": Provide(lambda: counting, sync_to_thread=False),
            "ending": Provide(lambda: end, sync_to_thread=False),
        },
        before_request=only_who_may,
        exception_handlers={CortextError: refused},
        include_in_schema=False,
    )


@get("/", sync_to_thread=False)
def home(request: Ask) -> Response[Any]:
    """Redirect to the conversations of the service: there are no pages of this machine."""
    return to_kept(request)


@get("/")
async def conversations(request: Ask, shelf: ShelfHere) -> Response[Any]:
    """Show all conversations, or search them and those of the service or store."""
    asked = ListRequest.of(request.query_params)
    listing = asyncio.to_thread(_listed, asked, shelf)
    if asked.q and asked.page == 1 and not asked.is_filtered and "owned" in request.app.state:
        made, beside = await asyncio.gather(listing, find_kept(request, asked.q))
    else:
        made, beside = await listing, None
    return page("list.html", **common(request), asked=asked, beside=beside, **made)


def _listed(asked: ListRequest, shelf: ConversationLookup) -> dict[str, Any]:
    rows = shelf.rows()
    found = search(asked) if asked.q else browse(rows, asked)
    return {"page": found, "choices": choices(rows, asked), "all": len(rows)}


@get("/c/{key:str}", sync_to_thread=True)
def one(request: Ask, key: Key, shelf: ShelfHere, desk: DeskHere) -> Response[Any]:
    """Show a window of one conversation.

    The window contains the message `at`. The default is the end of an active conversation, and the
    beginning of any other.
    """
    opened = desk.open(shelf.row(key))
    # Read the version before the messages: a change in between is then reported again.
    version, turns = opened.version, opened.turns
    total = turns.total
    at = _number(request, "at", total if opened.row.status == "active" else 1)
    at = max(min(at, total), 1)
    first = _begin(turns, at)
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
        requests=turns.requests(at, _REQUESTS),
        resume=resume_command(opened.row),
        formats=FORMATS,
        key=key,
    )


@get("/c/{key:str}/messages", sync_to_thread=True)
def window(request: Ask, key: Key, shelf: ShelfHere, desk: DeskHere) -> Response[Any]:
    """Return the messages from one number to another, as HTML to insert into the page.

    With `around`, return a window that contains this message. The headers say which messages are
    returned.
    """
    turns = desk.open(shelf.row(key)).turns
    around = _number(request, "around", 0)
    first = _number(request, "from", 1)
    first = max(_begin(turns, around) if around else first, 1)
    last = min(_number(request, "to", first + WINDOW - 1), first + _MOST - 1, turns.total)
    base = base_of(request.scope)
    made = page("turns.html", turns=list(turns.window(first, last)), key=key, base=base)
    made.headers |= {"X-First": str(first), "X-Last": str(last), "X-Total": str(turns.total)}
    return made


@get("/c/{key:str}/events")
async def events(
    request: Ask, key: Key, shelf: ShelfHere, desk: DeskHere, ending: EndingHere
) -> ServerSentEvent:
    """Send an event whenever the conversation differs from the version that the page has `seen`.

    After a reconnect, `Last-Event-ID` names that version.
    """
    opened = await asyncio.to_thread(lambda: desk.open(shelf.row(key)))
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    return ServerSentEvent(follow(opened, seen, ending), headers=HEADERS)


@get("/c/{key:str}/text/{number:int}", sync_to_thread=True)
def text(key: Key, number: FromPath[int], shelf: ShelfHere, desk: DeskHere) -> Response[bytes]:
    """Return the full text of one message, unformatted."""
    turns = desk.open(shelf.row(key)).turns
    if not 1 <= number <= turns.total:
        raise SessionNotFoundError(f"message {number}")
    data = turns.text(number).encode("utf-8", "replace")
    return Response(data, media_type=MediaType.TEXT, headers=HEADERS)


@get("/c/{key:str}/export/{format:str}", sync_to_thread=True)
def export(key: Key, format: FromPath[str], shelf: ShelfHere, desk: DeskHere) -> Response[bytes]:
    """Return the conversation as a file, as `cortext export` writes it."""
    check_format(format)
    opened = desk.open(shelf.row(key))
    return as_file(opened.session, opened.row.id, format)


@get("/charts", sync_to_thread=True)
def chart_page(request: Ask, shelf: ShelfHere, counting: CountingHere) -> Response[Any]:
    """Show how much was said, when, in which tools, and what it cost."""
    counted = counting.count(shelf.rows())
    hours = [f"{hour:02}" for hour in range(24)]
    return page(
        "charts.html",
        **common(request),
        counted=counted,
        calendar=charts_page.calendar(counted.days, clock.now().astimezone().date()),
        tools=charts_page.bars(counted.tools),
        types=charts_page.bars(counted.types),
        tokens=charts_page.bars([one for one in counted.models if one.tokens], "tokens"),
        hours=charts_page.columns(counted.hours, hours),
        weekdays=charts_page.columns(counted.weekdays, charts_page.WEEKDAYS),
    )


@get("/assets/{name:str}", sync_to_thread=True)
def asset_file(name: FromPath[str]) -> Response[bytes]:
    """Return a static file from the folder of assets."""
    kind = TYPES.get(os.path.splitext(name)[1])
    if kind is None or name not in os.listdir(ASSETS):
        raise SessionNotFoundError(name[:80])
    with open(os.path.join(ASSETS, name), "rb") as file:
        data = file.read()
    # The URL changes with the file, so browsers may cache it.
    headers = {**HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, media_type=kind, headers=headers)


def resume_command(row: ConversationRow) -> str:
    """Return the command that continues a conversation.

    Return "" for the session of a program, which has no such command.
    """
    if row.tool == DOCUMENT:
        return ""
    return reopens(row, row.key if row.tool else row.address, shlex.quote)


def _begin(turns: Turns, at: int) -> int:
    """Return the number of the first message of the window that shows the message `at`."""
    shown = turns.shown_in(min(at, turns.total))
    return max(min(shown - WINDOW // 4, turns.total - WINDOW + 1), 1)


def _number(request: Ask, name: str, default: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if _NUMBER.fullmatch(given) else default
