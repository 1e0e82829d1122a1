"""The model APIs' answers, each as the tools read it: one reply in, the body of a response out.

A reply is a text, or a `Call` of one of the tool's own tools.
"""

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

MODEL = "stub-1"
TOKENS_IN, TOKENS_OUT = 11, 7


@dataclass(frozen=True)
class Call:
    """The model asks for one tool call. Codex has the tools of a server in a namespace."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    namespace: str = ""


Reply = str | Call
JSON, SSE = "application/json", "text/event-stream"


def _id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def _events(events: Iterable[tuple[str, Any]]) -> bytes:
    """Server-sent events; an empty name writes the data alone."""
    lines: list[str] = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(lines).encode()


def _plain(value: Any) -> tuple[str, bytes]:
    return JSON, json.dumps(value).encode()


def anthropic(reply: Reply, body: dict[str, Any], path: str) -> tuple[str, bytes]:
    if isinstance(reply, Call):
        block = {"type": "tool_use", "id": _id("toolu_"), "name": reply.name}
        whole, start = {**block, "input": reply.input}, {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.input)}
    else:
        whole, start = {"type": "text", "text": reply}, {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": reply}
    stop = "tool_use" if isinstance(reply, Call) else "end_turn"
    message = {"id": _id("msg_"), "type": "message", "role": "assistant"} | {
        "model": body.get("model", MODEL),
        "stop_sequence": None,
    }
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
    if not body.get("stream"):
        return _plain({**message, "content": [whole], "stop_reason": stop, "usage": usage})
    opened = {**message, "content": [], "stop_reason": None, "usage": usage}
    ended = {"stop_reason": stop, "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": opened},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": usage},
        {"type": "message_stop"},
    ]
    return SSE, _events((event["type"], event) for event in events)


def responses(reply: Reply, body: dict[str, Any], path: str) -> tuple[str, bytes]:
    if isinstance(reply, Call):
        item: dict[str, Any] = {"type": "function_call", "id": _id("fc_"), "call_id": _id("call_")}
        item |= {"name": reply.name, "arguments": json.dumps(reply.input)}
        item |= {"namespace": reply.namespace} if reply.namespace else {}
    else:
        content = [{"type": "output_text", "text": reply, "annotations": []}]
        item = {"type": "message", "id": _id("msg_"), "role": "assistant", "content": content}
    usage = {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    response = {"id": _id("resp_"), "object": "response", "model": body.get("model", MODEL)}
    whole = {**response, "status": "completed", "output": [item], "usage": usage}
    if not body.get("stream"):
        return _plain(whole)
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return SSE, _events((event["type"], event) for event in events)


def chat(reply: Reply, body: dict[str, Any], path: str) -> tuple[str, bytes]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(reply, Call):
        function = {"name": reply.name, "arguments": json.dumps(reply.input)}
        call = {"index": 0, "id": _id("call_"), "type": "function", "function": function}
        message["tool_calls"] = [call]
    else:
        message["content"] = reply
    stop = "tool_calls" if isinstance(reply, Call) else "stop"
    usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT}
    usage["total_tokens"] = TOKENS_IN + TOKENS_OUT
    head = {"id": _id("chatcmpl-"), "created": 0, "model": body.get("model", MODEL)}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": stop}
        head["object"] = "chat.completion"
        return _plain({**head, "choices": [choice], "usage": usage})
    head["object"] = "chat.completion.chunk"
    said = {"index": 0, "delta": message, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": stop}
    chunks = [{**head, "choices": [said]}, {**head, "choices": [ended], "usage": usage}, "[DONE]"]
    return SSE, _events(("", chunk) for chunk in chunks)


def gemini(reply: Reply, body: dict[str, Any], path: str) -> tuple[str, bytes]:
    if isinstance(reply, Call):
        part: dict[str, Any] = {"functionCall": {"name": reply.name, "args": reply.input}}
    else:
        part = {"text": reply}
    usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}
    usage["totalTokenCount"] = TOKENS_IN + TOKENS_OUT
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    model = path.rpartition("/models/")[2].partition(":")[0] or MODEL
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}
    if ":streamGenerateContent" in path:
        return SSE, _events([("", whole)])
    return _plain(whole)


Dialect = Callable[[Reply, dict[str, Any], str], tuple[str, bytes]]


def dialect_of(path: str) -> Dialect | None:
    """Which API a POST to this path speaks; None for anything else."""
    bare = path.partition("?")[0]
    for end, dialect in (
        ("/v1/messages", anthropic),
        ("/responses", responses),
        ("/chat/completions", chat),
        (":generateContent", gemini),
        (":streamGenerateContent", gemini),
    ):
        if bare.endswith(end):
            return dialect
    return None


def counted(path: str) -> bytes | None:
    """The answer to a request that only counts tokens."""
    bare = path.partition("?")[0]
    if bare.endswith("/messages/count_tokens"):
        return json.dumps({"input_tokens": TOKENS_IN}).encode()
    if bare.endswith(":countTokens"):
        return json.dumps({"totalTokens": TOKENS_IN}).encode()
    return None
