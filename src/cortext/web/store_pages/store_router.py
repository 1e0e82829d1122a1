"""The URLs of the web pages that show the conversations in the store of a service.

A client of the service sees only its own conversations. `cortext web --store` shows all of them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import ServerSentEvent

from cortext.errors import SessionNotFoundError, SessionStorageError
from cortext.features.transfer.export import FORMATS
from cortext.model import json_codec
from cortext.model.session import Session
from cortext.service.http.owned_store import OwnedStore
from cortext.service.http.request_guard import OWNER, STAYS
from cortext.service.stores.base import Conversations
from cortext.service.stores.port import Conversation, to_session_message
from cortext.web.conversation_turns import Turns
from cortext.web.export_download import as_file, check_format
from cortext.web.live_updates import ShutdownFlag
from cortext.web.store_pages.store_conversation_list import StoreListPage, StoreListRequest, see
from cortext.web.store_pages.store_conversation_scan import StoreSearchResult, find
from cortext.web.store_pages.store_row import StoreRow, row_of
from cortext.web.store_pages.store_updates import tell
from cortext.web.templating import HEADERS, ROLES, common, page

_LONGEST = 400
_log = logging.getLogger("cortext.web")
Ask = Request[Any, Any, Any]
EndingHere = NamedDependency[ShutdownFlag]


@get("/kept")
async def kept(request: Ask) -> Response[Any]:
    """Show the list of conversations in the store, or the results of a search."""
    q = request.query_params.get("q", "")[:_LONGEST].strip()
    here = _list_request(request)
    values: dict[str, Any] = {"here": here, "q": q, "found": None, "sight": StoreListPage()}
    if q:
        values["found"] = await find(here, q)
    else:
        values["sight"] = await see(here)
    values |= {"has_users": _has_users(request), "roles": _roles(request)}
    return page("kept.html", **common(request), **values)


@get("/kept/{id:str}")
async def kept_one(request: Ask, id: FromPath[str]) -> Response[Any]:
    """Show one conversation, with the messages that the store returns."""
    owned: OwnedStore = request.app.state.owned
    found = await owned.get(_owner(request), id)
    session = _session_of(found)
    turns = list(Turns(session).window(1, len(session.messages)))
    row: StoreRow = row_of(found)
    rest = {name: value for name, value in found.metadata.items() if name != "title"}
    values: dict[str, Any] = {
        "row": row,
        "found": found,
        "turns": turns,
        "key": "",
        "seen": version_of(found),
        "metadata": json_codec.pretty(rest).decode("utf-8", "replace") if rest else "",
        "by": _owner(request),
        "formats": FORMATS,
    }
    return page("kept_one.html", **common(request), **values, roles=_roles(request))


@get("/kept/{id:str}/export/{format:str}")
async def store_export(request: Ask, id: FromPath[str], format: FromPath[str]) -> Response[bytes]:
    """Return one conversation as a file to download."""
    check_format(format)
    owned: OwnedStore = request.app.state.owned
    found = await owned.get(_owner(request), id)
    return as_file(_session_of(found), found.id, format)


@get("/kept-list/events")
async def store_list_events(request: Ask, ending: EndingHere) -> ServerSentEvent:
    """Send a server-sent event each time the list of conversations changes.

    The query parameter `seen` is the version of the list that the page shows.
    """
    here = _list_request(request)

    async def look() -> str:
        return (await see(here, titles=False)).version

    return _stream(request, look, None, ending)


@get("/kept/{id:str}/events")
async def store_conversation_events(
    request: Ask, id: FromPath[str], ending: EndingHere
) -> ServerSentEvent:
    """Send a server-sent event each time a conversation changes, and when it is deleted or expires.

    The query parameter `seen` is the version of the conversation that the page shows.
    """
    owned: OwnedStore = request.app.state.owned
    owner = _owner(request)
    await owned.get(owner, id)

    async def look() -> str:
        try:
            return version_of(await owned.get(owner, id))
        except SessionNotFoundError:
            return ""

    return _stream(request, look, id, ending)


async def search_store(request: Ask, q: str) -> StoreSearchResult:
    """Search the conversations in the store that the client may see.

    `q` is the query. If the store fails, the result has the reason in `wrong`, and no error is
    raised. So the page can still show its other results.
    """
    try:
        return await find(_list_request(request)._replace(owner=None), q)
    except SessionStorageError as error:
        _log.warning("the search of the store failed: %s", error)
        return StoreSearchResult(wrong=str(error))


def version_of(found: Conversation) -> str:
    """Return a short text that changes when a conversation or its metadata changes."""
    last = found.messages[-1].id if found.messages else ""
    data = json_codec.encode(
        [found.updated_at.isoformat(), len(found.messages), last, found.metadata]
    )
    return hashlib.sha256(data).hexdigest()[:16]


def _session_of(found: Conversation) -> Session:
    return Session(
        found.id,
        title=row_of(found).title,
        created_at=found.created_at,
        updated_at=found.updated_at,
        messages=[to_session_message(each) for each in found.messages],
        metadata=found.metadata,
        owner=found.owner,
    )


def _stream(
    request: Ask, look: Callable[[], Awaitable[str]], id: str | None, end: ShutdownFlag
) -> ServerSentEvent:
    scope: Any = request.scope
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    store: Conversations = request.app.state.owned.store
    # `cortext web` sets no `STAYS`, because its user may always receive events.
    stream = tell(look, store.events(id), seen, end, scope.get(STAYS, lambda: True))
    return ServerSentEvent(stream, headers=HEADERS)


def _list_request(request: Ask) -> StoreListRequest:
    asked = request.query_params
    page = asked.get("page", "")
    is_number = page.isascii() and page.isdecimal() and len(page) < 7
    return StoreListRequest(
        request.app.state.owned,
        _owner(request),
        asked.get("owner", "")[:_LONGEST] or None,
        max(int(page), 1) if is_number else 1,
    )


def _owner(request: Ask) -> str:
    """Return the owner who makes the request. `check_access` rejects requests without an owner."""
    scope: Any = request.scope
    return scope[OWNER]


def _roles(request: Ask) -> dict[str, str]:
    """Return the names that the pages show for the roles of messages.

    The role "user" is shown as "You" if the application has an `owner_of` function, otherwise as
    "User".
    """
    return ROLES if _has_users(request) else {**ROLES, "user": "User"}


def _has_users(request: Ask) -> bool:
    return bool(request.app.state.get("has_users"))
