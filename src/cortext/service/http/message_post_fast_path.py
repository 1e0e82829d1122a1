"""A fast path for the most frequent request, which adds a message to a conversation.

For such a request, the web framework needs four times as long as the store. So these requests
bypass the framework, and all other requests go through the framework.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cortext.model import json_codec
from cortext.service.http import problem_responses
from cortext.service.http.metrics import Metrics
from cortext.service.http.owned_store import OwnedStore
from cortext.service.http.request_bodies import NewMessage, decode
from cortext.service.http.request_guard import OWNER, refuse, too_large

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send

_PATH = re.compile(r"/v1/conversations/([^/]+)/messages")
_TEMPLATE = "/v1/conversations/{id}/messages"
_JSON = (b"content-type", b"application/json")


class FastPost:
    """An ASGI application that adds posted messages. It passes all other requests to `app`.

    `Guard` has already checked each request.
    """

    def __init__(self, app: ASGIApp, owned: OwnedStore, metrics: Metrics, max_body: int) -> None:
        self._app = app
        self._owned = owned
        self._metrics = metrics
        self._max_body = max_body

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        match = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope["query_string"]:
            match = _PATH.fullmatch(scope["path"])
        if match is None:
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
                self._owned, self._metrics, scope[OWNER], match[1], data
            )
        except Exception as error:  # noqa: BLE001  as the framework does for its handlers
            await refuse(send, problem_responses.problem_of(error))
            return
        headers = [_JSON, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer, "more_body": False})

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the body of the request, or None if the client disconnected.

        If the body exceeds the limit, stop reading, and return only the part that was read. This
        part also exceeds the limit, so the caller can reject the request.
        """
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            # Servers may omit an empty body.
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if not message.get("more_body", False) or size > self._max_body:
                return part if len(parts) == 1 else b"".join(parts)


async def add_posted(
    owned: OwnedStore, metrics: Metrics, owner: str, id: str, data: bytes
) -> tuple[int, bytes]:
    """Store a posted message, and return the HTTP status and the body of the response.

    If the message was added, the status is 201, and the body is the stored message.

    If the conversation already has a message with the same id, nothing is added, and the status is
    200. The body is then the existing message. If the store no longer returns the existing message,
    the body is the posted message.

    `id` is the id of the conversation, and `data` is the posted JSON.
    """
    message = decode(data, NewMessage).to_message()
    if await owned.add(owner, id, message):
        metrics.messages += 1
        return 201, json_codec.encode(message)
    # The existing message may have left the window. In this case return the posted message.
    return 200, json_codec.encode(await owned.message(id, message.id) or message)
