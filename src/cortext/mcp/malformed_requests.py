"""Error responses to lines that are not valid messages of the protocol.

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
    """Return a context with the stream of valid messages from `incoming`.

    An invalid message gets an error response on `outgoing`.
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
    """Return the error response to an invalid message. `error` is the SDK's parse error.

    Return None for an empty line, and for an invalid response to a request of this server.
    """
    text, found = _sent(error)
    if not text.strip() and found is None:
        return None
    said = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if "method" not in said and ("result" in said or "error" in said):
        return None
    id = said.get("id") if "method" in said else None
    known = id if isinstance(id, str | int) and not isinstance(id, bool) and _is_text(id) else None
    code, why = (
        (types.PARSE_ERROR, "this is no JSON in Unicode, or it is nested too deeply")
        if text
        else (types.INVALID_REQUEST, "this is no request of JSON-RPC 2.0")
    )
    data = types.ErrorData(code=code, message=f"{why}\nhint: one message is one line")
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=data)


def _sent(error: Exception) -> tuple[str, Any]:
    """Return the invalid line, and its content as far as it can be parsed.

    The line is "" if it is valid JSON but not a valid message.
    """
    if not isinstance(error, ValidationError):
        return "?", None
    told = error.errors(include_url=False)
    text = next((each["input"] for each in told if each["type"] == "json_invalid"), None)
    if isinstance(text, str):
        try:
            return text, json.loads(text)
        except (ValueError, RecursionError):
            return text, None
    # An object never fits all kinds of messages, so some error is about a missing field of it.
    return "", next((each["input"] for each in told if each["type"] == "missing"), ())


def _is_text(id: str | int) -> bool:
    """Return whether an id can be sent back. Text with a lone surrogate cannot be encoded."""
    return isinstance(id, int) or not any("\ud800" <= sign <= "\udfff" for sign in id)
