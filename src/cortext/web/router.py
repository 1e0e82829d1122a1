"""The addresses of the pages. `pages_router` is put into any app that lets only its person in."""

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
"""Messages that a page has at first, and that each scroll adds."""
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
    """All pages, from `/` on: those of what this `machine` keeps, and where a service is `serving`,
    of what that keeps. They answer only where the scope says under `OWNER` who asks: the person of
    this machine, or of what a service keeps each client for itself. Without `machine` there are no
    pages of it for anybody. `ending` is told when the server ends, so that open connections do not
    hold it up."""
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
    """Where nothing of this machine is shown, what is kept is all there is."""
    return to_kept(request)


@get("/")
async def conversations(request: Ask, shelf: ShelfHere) -> Response[Any]:
    """All conversations, or what was found in them, and in what is kept beside them."""
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
    """One conversation: the window of it that `at` is in, else its beginning, or its end while it
    goes on."""
    opened = desk.open(shelf.row(key))
    # Before the messages: what comes meanwhile is told to the page once more.
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
    """The messages from one number to another, to be put into the page; `around` is a window
    with one in it. The headers say which they are."""
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
    """Says whenever the conversation looks different from the version that the page has `seen`, or
    that it was told of before its connection broke."""
    opened = await asyncio.to_thread(lambda: desk.open(shelf.row(key)))
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    return ServerSentEvent(follow(opened, seen, ending), headers=HEADERS)


@get("/c/{key:str}/text/{number:int}", sync_to_thread=True)
def text(key: Key, number: FromPath[int], shelf: ShelfHere, desk: DeskHere) -> Response[bytes]:
    """All that one message says, as it is."""
    turns = desk.open(shelf.row(key)).turns
    if not 1 <= number <= turns.total:
        raise SessionNotFoundError(f"message {number}")
    data = turns.text(number).encode("utf-8", "replace")
    return Response(data, media_type=MediaType.TEXT, headers=HEADERS)


@get("/c/{key:str}/export/{format:str}", sync_to_thread=True)
def export(key: Key, format: FromPath[str], shelf: ShelfHere, desk: DeskHere) -> Response[bytes]:
    """The conversation as a file, as `cortext export` writes it."""
    check_format(format)
    opened = desk.open(shelf.row(key))
    return as_file(opened.session, opened.row.id, format)


@get("/charts", sync_to_thread=True)
def chart_page(request: Ask, shelf: ShelfHere, counting: CountingHere) -> Response[Any]:
    """How much was said, when, with what, and what it cost."""
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
    """A file of ours; there are only those that lie in the folder."""
    kind = TYPES.get(os.path.splitext(name)[1])
    if kind is None or name not in os.listdir(ASSETS):
        raise SessionNotFoundError(name[:80])
    with open(os.path.join(ASSETS, name), "rb") as file:
        data = file.read()
    # Its address changes with it.
    headers = {**HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, media_type=kind, headers=headers)


def resume_command(row: ConversationRow) -> str:
    """What a person types to go on with a conversation; "" where a program has it."""
    if row.tool == DOCUMENT:
        return ""
    return reopens(row, row.key if row.tool else row.address, shlex.quote)


def _begin(turns: Turns, at: int) -> int:
    """Where the window begins in which a message is shown."""
    shown = turns.shown_in(min(at, turns.total))
    return max(min(shown - WINDOW // 4, turns.total - WINDOW + 1), 1)


def _number(request: Ask, name: str, default: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if _NUMBER.fullmatch(given) else default
