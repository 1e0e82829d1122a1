"""The conversations of a service, or of a store, beside those of this machine: each client sees its
own, as everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from litestar import Request, Response, get
from litestar.params import FromPath

from cortext.conversations.port import Conversation, to_session_message
from cortext.model.session import Session
from cortext.web.guard import OWNER
from cortext.web.owned import Owned
from cortext.web.pages.rendering import common, page
from cortext.web.pages.turns import Turns, one_line

_MOST = 100
_LONGEST = 90
_UNSAID = "Nothing was said yet"
Ask = Request[Any, Any, Any]


class Row(NamedTuple):
    """A conversation in the list, under its title."""

    id: str
    title: str
    messages: int
    when: datetime
    owner: str


@get("/kept")
async def kept(request: Ask) -> Response[Any]:
    """The newest of them."""
    owned: Owned = request.app.state.owned
    found = await owned.titled(_owner(request), _MOST + 1)
    rows = [_row(each) for each in found[:_MOST]]
    more = len(found) > _MOST
    owner = _owner(request)
    return page("kept.html", **common(request), rows=rows, more=more, most=_MOST, owner=owner)


@get("/kept/{id:str}")
async def kept_one(request: Ask, id: FromPath[str]) -> Response[Any]:
    """One, with the messages of its window."""
    owned: Owned = request.app.state.owned
    found = await owned.get(_owner(request), id)
    session = Session(found.id, messages=[to_session_message(each) for each in found.messages])
    turns = list(Turns(session).window(1, len(session.messages)))
    values: dict[str, Any] = {"row": _row(found), "found": found, "turns": turns, "key": ""}
    # The service itself tells of what is new; a store that is only shown has nobody who does.
    follow = "streams" in request.app.state
    return page("kept_one.html", **common(request), **values, follow=follow)


def _owner(request: Ask) -> str:
    """Text: nobody else was let in."""
    scope: Any = request.scope
    return scope[OWNER]


def _row(found: Conversation) -> Row:
    title = next(filter(None, (one_line(each, _LONGEST) for each in _titles(found))), _UNSAID)
    return Row(found.id, title, len(found.messages), found.updated_at, found.owner)


def _titles(found: Conversation) -> Iterator[str]:
    """What a conversation can be called by: what its program calls it, what was asked first of all
    that the window still has, what was said first."""
    given = found.metadata.get("title")
    yield given if isinstance(given, str) else ""
    yield from (message.content for message in found.messages if message.role == "user")
    yield from (message.content for message in found.messages)
