"""Error responses to lines from the client that are not valid messages of the protocol.

The SDK ignores such lines. Without a response, the client would wait forever.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

Item = SessionMessage | Exception


@asynccontextmanager
async def answered(incoming: Any, outgoing: Any) -> AsyncGenerator[ObjectReceiveStream[Item]]:
    """Return a context manager for a stream that has only the client's valid messages.

    `incoming` is the stream of everything that the client sends. For each invalid message, an error
    response is sent to the client through the stream `outgoing`.
    """
    good, messages = anyio.create_memory_object_stream[Item](0)

    async def sort() -> None:
        async with good, incoming:
            async for item in incoming:
                if not isinstance(item, Exception):
                    await good.send(item)
                elif (error := refusal(item)) is not None:
                    await outgoing.send(SessionMessage(error))

    async with anyio.create_task_group() as group, messages:
        group.start_soon(sort)
        yield messages


def refusal(error: Exception) -> types.JSONRPCError | None:
    """Return the error response to an invalid message, or None if the message needs no response.

    `error` is the SDK's parse error. An empty line needs no response. The same is true for an
    invalid answer of the client to a request of this server.
    """
    text, content = _rejected_line(error)
    if not text.strip() and content is None:
        return None
    message = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if "method" not in message and ("result" in message or "error" in message):
        return None
    id = message.get("id") if "method" in message else None
    known = (
        id if isinstance(id, str | int) and not isinstance(id, bool) and _is_encodable(id) else None
    )
    code, why = (
        (types.PARSE_ERROR, "not valid JSON in UTF-8, or nested too deeply")
        if text
        else (types.INVALID_REQUEST, "not a JSON-RPC 2.0 request")
    )
    data = types.ErrorData(code=code, message=f"{why}\nhint: send each message on one line")
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=data)


def _rejected_line(error: Exception) -> tuple[str, Any]:
    """Return the line that the SDK rejected, and its parsed content.

    If the line is valid JSON but not a valid message, the first value is "". If the line cannot be
    parsed, the content is None. If `error` does not contain the line, return "?" and None.
    """
    if not isinstance(error, ValidationError):
        return "?", None
    details = error.errors(include_url=False)
    text = next((each["input"] for each in details if each["type"] == "json_invalid"), None)
    if isinstance(text, str):
        try:
            return text, json.loads(text)
        except (ValueError, RecursionError):
            return text, None
    # The SDK compares an object with all kinds of messages, and always reports a missing field,
    # because no object has the fields of all kinds. This error contains the whole object.
    return "", next((each["input"] for each in details if each["type"] == "missing"), ())


def _is_encodable(id: str | int) -> bool:
    """Return whether an id can be encoded as UTF-8. This is impossible for a lone surrogate."""
    return isinstance(id, int) or not any("\ud800" <= sign <= "\udfff" for sign in id)
