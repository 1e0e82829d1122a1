"""A stub that says its text piece by piece, and can be made to wait in the middle of it.

with StreamingStub(["one ", "two ", "three"], hold=2) as stub:
    ...  # two pieces are sent; the third follows stub.go.set()
"""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tests.tools.real.stub import Stub, _Handler, _Server
from tests.tools.real.wire import JSON, SSE, TOKENS_IN, TOKENS_OUT, dialect_of

_MARK = "the text"
_LONGEST_HOLD = 60.0


class StreamingStub(Stub):
    """Every request for a stream is answered with these pieces, one event each; before piece
    number `hold` it waits for `go`."""

    def __init__(self, pieces: Sequence[str], *, hold: int = -1) -> None:
        super().__init__(["".join(pieces)] * 50)
        self.pieces, self.hold = list(pieces), hold
        self.go = threading.Event()
        self._server.RequestHandlerClass = _Streaming

    def __enter__(self) -> "StreamingStub":
        super().__enter__()
        return self

    def streamed(self, path: str, body: dict[str, Any]) -> Iterator[bytes]:
        """The events of an answer, as the API of this path has them."""
        dialect = dialect_of(path)
        assert dialect is not None
        events = dialect(_MARK, body, path)[1].decode().removesuffix("\n\n").split("\n\n")
        delta = next(n for n, event in enumerate(events) if f'"{_MARK}"' in event)
        whole = "".join(self.pieces)
        for number, event in enumerate(events):
            if number != delta:
                yield _said(event, whole)
                continue
            if "output_item.added" in event:
                yield from self._held(_codex_deltas(event, self.pieces))
            elif "candidates" in event:
                yield from self._held(_gemini_parts(event, self.pieces))
            else:
                yield from self._held(_said(event, piece) for piece in self.pieces)

    def _held(self, events: Iterator[bytes]) -> Iterator[bytes]:
        for number, event in enumerate(events):
            if number == self.hold:
                self.go.wait(_LONGEST_HOLD)
            yield event


def _said(event: str, text: str) -> bytes:
    """The event with a text in the place of the mark."""
    return event.replace(json.dumps(_MARK), json.dumps(text)).encode() + b"\n\n"


def _codex_deltas(added: str, pieces: Sequence[str]) -> Iterator[bytes]:
    """The item without its text, then the text: that is how the Responses API streams."""
    item = json.loads(added.partition("data: ")[2])["item"]
    first = _said(added, "")
    for number, piece in enumerate(pieces):
        event = {
            "type": "response.output_text.delta",
            "item_id": item["id"],
            "output_index": 0,
            "content_index": 0,
            "delta": piece,
        }
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        yield data if number else first + data


def _gemini_parts(event: str, pieces: Sequence[str]) -> Iterator[bytes]:
    """Whole responses, of which only the last says that it is over."""
    value = json.loads(event.partition("data: ")[2])
    for number, piece in enumerate(pieces):
        (candidate,) = value["candidates"]
        candidate["content"]["parts"] = [{"text": piece}]
        candidate["finishReason"] = "STOP" if number == len(pieces) - 1 else None
        usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}
        part = {**value, "usageMetadata": {**usage, "totalTokenCount": TOKENS_IN + TOKENS_OUT}}
        if number < len(pieces) - 1:
            del part["usageMetadata"]
            part["candidates"] = [{k: v for k, v in candidate.items() if v is not None}]
        yield f"data: {json.dumps(part)}\n\n".encode()


class FailingStub(Stub):
    """Refuses every request to a model, and says why."""

    WHY = "this stub answers nothing"

    def _choose(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, str, bytes, bool]:
        error = {"type": "invalid_request_error", "code": 400, "message": self.WHY}
        return 400, JSON, json.dumps({"type": "error", "error": error}).encode(), True


class _Streaming(_Handler):
    def _serve(self) -> None:
        assert isinstance(self.server, _Server)
        stub = self.server.stub
        assert isinstance(stub, StreamingStub)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, kind, data = stub.answer(self.command, self.path, headers, raw)
        body = json.loads(raw) if status == 200 else {}
        self.send_response(status)
        self.send_header("content-type", kind)
        if kind != SSE or not body.get("tools"):  # an aside is said in one piece
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
            return
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in stub.streamed(self.path, body):
            self.wfile.write(event)
            self.wfile.flush()

    do_CONNECT = do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve
