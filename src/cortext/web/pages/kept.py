"""The conversations that the service itself keeps, beside those of this machine: its person sees
those that belong to no other client, as everywhere."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, NamedTuple

from litestar import Request, Response, get
from litestar.params import FromPath

from cortext.conversations.port import Conversation, to_session_message
from cortext.errors import SessionNotFoundError
from cortext.model.session import Session
from cortext.web.owned import Owned
from cortext.web.pages.rendering import common, page
from cortext.web.pages.turns import Turns, one_line

_MOST = 100
_PERSON = ""
Ask = Request[Any, Any, Any]


class Row(NamedTuple):
    """A conversation in the list, under the first that is known of what was said."""

    id: str
    title: str
    messages: int
    when: datetime


@get("/kept")
async def kept(request: Ask) -> Response[Any]:
    """The newest of them."""
    owned: Owned = request.app.state.owned
    entries = await owned.entries(_PERSON, _MOST + 1)
    found = await asyncio.gather(*(_find(owned, each.id) for each in entries[:_MOST]))
    rows = [_row(each) for each in found if each is not None]
    more = len(entries) > _MOST
    return page("kept.html", **common(request), rows=rows, more=more, most=_MOST)


@get("/kept/{id:str}")
async def kept_one(request: Ask, id: FromPath[str]) -> Response[Any]:
    """One, with the messages of its window."""
    owned: Owned = request.app.state.owned
    found = await owned.get(_PERSON, id)
    session = Session(found.id, messages=[to_session_message(each) for each in found.messages])
    turns = list(Turns(session).window(1, len(session.messages)))
    row = _row(found)
    return page("kept_one.html", **common(request), row=row, found=found, turns=turns, key="")


async def _find(owned: Owned, id: str) -> Conversation | None:
    """None for one that went away since it was listed."""
    try:
        return await owned.get(_PERSON, id)
    except SessionNotFoundError:
        return None


def _row(found: Conversation) -> Row:
    asked = (message.content for message in found.messages if message.role == "user")
    title = one_line(next(asked, ""), 90) or found.id
    return Row(found.id, title, len(found.messages), found.updated_at)
