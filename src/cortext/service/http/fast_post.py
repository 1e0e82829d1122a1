"""Adding a message: what is asked most, so it is answered without the framework.

What a framework prepares for a request (its objects, its parameters, its response) takes four
times as long as the message itself. Everything that is not plainly this goes on to the framework,
which has the same route for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cortext.model import json_codec
from cortext.service.http import problem_responses
from cortext.service.http.metrics import Metrics
from cortext.service.http.ownership import Owned
from cortext.service.http.request_bodies import NewMessage, decode
from cortext.service.http.request_guard import OWNER, refuse, too_large

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send

_PATH = re.compile(r"/v1/conversations/([^/]+)/messages")
_TEMPLATE = "/v1/conversations/{id}/messages"
_JSON = (b"content-type", b"application/json")


class Posting:
    """An application in front of another, behind `Guard`."""

    def __init__(self, app: ASGIApp, owned: Owned, metrics: Metrics, max_body: int) -> None:
        self._app = app
        self._owned = owned
        self._metrics = metrics
        self._max_body = max_body

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope["query_string"]:
            found = _PATH.fullmatch(scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["path_template"] = _TEMPLATE
        data = await self._body(receive)
        if data is None:
            return
        if len(data) > self._max_body:
            await refuse(send, too_large(self._max_body))
            return
        try:
            status, answer = await add_posted(
                self._owned, self._metrics, scope[OWNER], found[1], data
            )
        except Exception as error:  # noqa: BLE001  as the framework does with what a handler raises
            await refuse(send, problem_responses.problem_of(error))
            return
        headers = [_JSON, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer, "more_body": False})

    async def _body(self, receive: Receive) -> bytes | None:
        """All of it, or as much as shows that it is too large; None if the client has left."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            # Servers may leave out what is empty.
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if not message.get("more_body", False) or size > self._max_body:
                return part if len(parts) == 1 else b"".join(parts)


async def add_posted(
    owned: Owned, metrics: Metrics, owner: str, id: str, data: bytes
) -> tuple[int, bytes]:
    """Add the message that was posted. When the store has it: the status of the answer, and the
    message as it is stored. If a message with its id is there nothing is added, and the answer is
    that one, with 200."""
    message = decode(data, NewMessage).to_message()
    if await owned.add(owner, id, message):
        metrics.messages += 1
        return 201, json_codec.encode(message)
    # One that has left the window since it was sent for the first time cannot be told.
    return 200, json_codec.encode(await owned.message(id, message.id) or message)
