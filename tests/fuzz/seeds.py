"""Write the valid files of the corpus anew: `scripts/with-home python -m tests.fuzz.seeds`.

They are made of the golden files of the formats and of the transcripts of the real tools, each cut
to what is worth changing.
"""

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cortext import Session, SessionIndex, SessionStorage
from cortext.durability.gzip_members import pack
from cortext.formats import line_checksum
from cortext.formats.exports.export_formats import encode
from tests.fuzz.files import PARTS
from tests.fuzz.target import CORPUS
from tests.tools.opencode.opencode_data import SCHEMA, START

TESTS = Path(__file__).parent.parent
FORMATS, TOOLS = TESTS / "formats/golden", TESTS / "tools/golden"
_LONGEST_LINE = 2500
_MOST = 12_000


def _formats() -> Iterator[tuple[str, bytes]]:
    log = (FORMATS / "log.jsonl").read_bytes()
    head, *turns = log.splitlines()
    yield "log/valid", log
    yield "log/valid-sealed", b"\n".join((head, *map(line_checksum.seal, turns), b""))
    head, lines = (FORMATS / f"folder/{name}" for name in ("session.json", "messages.jsonl"))
    yield "folder/valid", head.read_bytes() + PARTS + lines.read_bytes()
    document = (FORMATS / "document.json").read_bytes()
    yield "document/valid", document
    yield "document/valid-indented", json.dumps(json.loads(document), indent=1).encode()


def _index() -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        storage = SessionStorage(folder)
        for id in "ab":
            storage.save(Session(id, title=id.upper(), tags=["x"], owner="anna"))
        SessionIndex(storage).close()
        yield "index/valid-export", Path(folder, "index.json").read_bytes()
        yield "index/valid-database", Path(folder, ".cortext/index.sqlite3").read_bytes()


def _cut(data: bytes) -> bytes:
    """Lines that are not too long, one of each shape first, up to a size."""
    lines = [line for line in data.split(b"\n") if 0 < len(line) <= _LONGEST_LINE]
    size, kept = 0, list[bytes]()
    for line in lines:
        size += len(line)
        if size > _MOST:
            break
        kept.append(line)
    return b"\n".join((*kept, b""))


def _transcripts() -> Iterator[tuple[str, bytes]]:
    for tool in ("claude", "codex", "gemini"):
        for path in sorted((TOOLS / tool).rglob("*.jsonl")):
            data = _cut(path.read_bytes())
            yield f"{tool}/valid-{path.parts[-1][-13:-6]}", data
            yield (
                f"{tool}/valid-{path.parts[-1][-13:-6]}-end",
                _cut(b"\n".join(path.read_bytes().split(b"\n")[-14:])),
            )
            if tool == "claude":
                yield (
                    f"packed/valid-{path.parts[-1][-13:-6]}",
                    pack(data[:3000]) + pack(data[3000:]),
                )
    yield "gemini/valid-document", json.dumps(_gemini(), indent=2).encode()


def _gemini() -> dict[str, object]:
    """A document, as older releases wrote it."""
    when = "2026-01-01T00:00:00.000Z"
    given = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a"}}}
    call = {"id": "c", "name": "ls", "args": {"path": "."}, "status": "success",
            "result": [given], "timestamp": when}  # fmt: skip
    said = [
        {"id": "1", "timestamp": when, "type": "user", "content": "hello"},
        {"id": "2", "timestamp": when, "type": "gemini", "content": "Hi", "thoughts": [],
         "tokens": {"input": 5, "output": 2, "total": 7}, "model": "m", "toolCalls": [call]},
    ]  # fmt: skip
    return {"sessionId": "11111111-1111-4111-8111-111111111111", "projectHash": "x",
            "startTime": when, "lastUpdated": when, "summary": "A talk",
            "messages": said}  # fmt: skip


def _opencode() -> Iterator[tuple[str, bytes]]:
    time = {"created": START, "completed": START + 5}
    rows = (
        {"messageID": "m9", "partID": "p9"},
        {"role": "user", "time": time, "agent": "build",
         "model": {"providerID": "p", "modelID": "m"}},
        {"type": "text", "text": "hello", "time": {"start": START, "end": START}},
        {"role": "assistant", "time": time, "modelID": "m", "providerID": "p", "cost": 0.1,
         "tokens": {"input": 5, "output": 2, "reasoning": 0, "cache": {"read": 1, "write": 2}},
         "path": {"cwd": "/x", "root": "/"}, "finish": "stop", "error": {"name": "E", "data": {}}},
        {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed",
         "input": {"command": "ls"}, "output": "a\nb", "title": "ls", "metadata": {"exit": 0},
         "time": {"start": START, "end": START + 2}}},
        {"role": "assistant", "time": time, "summary": True, "mode": "compaction"},
        {"type": "compaction", "auto": True},
        {"type": "file", "mime": "text/plain", "filename": "a", "url": "data:,x",
         "source": {"path": "a", "text": {"value": "@a", "start": 0, "end": 2}}},
    )  # fmt: skip
    yield "opencode-rows/valid", b"\n".join(json.dumps(row).encode() for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "opencode.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript("PRAGMA page_size=1024;" + SCHEMA)
            db.execute("INSERT INTO session VALUES ('s','p',NULL,'x','/x','T','1',NULL,?,?)",
                       (START, START))  # fmt: skip
            for number, row in enumerate(rows[1:6]):
                kind = "part" if "type" in row else "message"
                own = ["m0"] if kind == "part" else []
                values = [f"m{number}", *own, "s", START + number, START, json.dumps(row)]
                marks = ",".join("?" * len(values))
                db.execute(f"INSERT INTO {kind} VALUES ({marks})", values)
        yield "opencode/valid", path.read_bytes()


SETTINGS = b"""# what holds for me
[sessions]
git = "off"
pause_minutes = 2.5
[resume]
budget = 5_000
tool = 'codex'
[sources]
documents = ["~/a", "/b"]
[serve]
rate = 0x10
"""
AURORA = {
    "spawner": {
        "tool": "claude",
        "interactive": {"session_expiry_days": 3.5, "max_tokens": 9000},
    },
    "logging": {"level": "INFO"},
}
CALLS = (
    ("tools/call", {"name": "search_workspace", "arguments": {"query": "a OR b*", "limit": 3,
     "type": "plan", "date_range": "last 10 days", "from": "1.5.2", "all": True}}),
    ("tools/call", {"name": "get_context", "arguments": {"topic": "cursors", "max_results": 2}}),
    ("tools/call", {"name": "get_conversation", "arguments": {"id": "001", "from": 1, "limit": 2,
     "full": True, "part": "document"}}),
    ("tools/call", {"name": "list_conversations", "arguments": {"status": "paused", "from": 1}}),
    ("tools/call", {"name": "save_conversation", "arguments": {"id": "001", "summary": "x"}}),
    ("resources/read", {"uri": "cortext://conversation/001"}),
    ("resources/list", {"cursor": "0"}),
    ("prompts/get", {"name": "continue-conversation", "arguments": {"words": "paging"}}),
    ("tools/list", {}),
)  # fmt: skip
REQUESTS = (
    ("POST /v1/conversations", {"conversationId": "x", "metadata": {"a": [1, None]}}),
    ("POST /v1/conversations/{id}/messages", {"role": "user", "content": "hé", "id": "m1",
     "timestamp": "2026-01-01T00:00:00Z", "structuredData": {"a": {"b": [1.5, True]}}}),
    ("GET /v1/conversations?limit=5&offset=1", None),
    ("GET /v1/conversations/{id}/messages?limit=2", None),
    ("DELETE /v1/conversations/x", None),
)  # fmt: skip


HOOKS = (
    {"session_id": "s", "transcript_path": "/x/s.jsonl", "cwd": "/x", "hook_event_name": "Stop",
     "stop_hook_active": False, "last_assistant_message": "Done."},
    {"session_id": "s", "prompt": "/workspace.stop", "cwd": "."},
    {"type": "agent-turn-complete", "thread-id": "t", "turn-id": "1", "cwd": "/x",
     "input-messages": ["hello"], "last-assistant-message": "Hi"},
)  # fmt: skip
ITEMS = (
    {"content": "Where is it?", "role": "user"},
    {"arguments": '{"id": 7}', "call_id": "c", "name": "track", "type": "function_call"},
    {"call_id": "c", "output": "in Bergen", "type": "function_call_output"},
    {"id": "m", "content": [{"text": "Hi", "type": "output_text"}], "role": "assistant",
     "status": "completed", "type": "message"},
    {"role": "assistant", "parts": [{"type": "text", "text": "I look."},
     {"type": "tool_call", "id": "c", "name": "track", "arguments": {"id": 7}}]},
    {"role": "tool", "parts": [{"type": "tool_result", "id": "c", "name": "track",
     "output": "in Bergen"}]},
)  # fmt: skip
SAID = (
    "password = hunter2-is-not-one", "it is {token}.", "`export GH_TOKEN={token}`",
    "postgres://anna:{token}@db/x", "Authorization: Bearer {token}", '{"key": "{token}"}',
    "-----BEGIN {kind} KEY-----\n" + "aB3x" * 20 + "\n-----END {kind} KEY-----",
)  # fmt: skip
"""What the target makes secrets of: no file here holds one."""


def _asked() -> Iterator[tuple[str, bytes]]:
    yield "config/valid", SETTINGS
    yield "aurora/valid", json.dumps(AURORA, indent=1).encode()
    for number, (method, given) in enumerate(CALLS):
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
        yield f"mcp/valid-{number}", json.dumps(asked).encode()
    for number, (line, body) in enumerate(REQUESTS):
        yield f"http/valid-{number}", f"{line}\n{json.dumps(body) if body else ''}".encode()


def _others() -> Iterator[tuple[str, bytes]]:
    """What is taken in beside: exports, calls of hooks, notes of the archive, items."""
    session = Session.from_json((FORMATS / "document.json").read_bytes())
    for format in ("md", "html", "json", "jsonl"):
        yield f"export/valid-{format}", encode(session, format)
    for number, call in enumerate(HOOKS):
        yield f"hook/valid-{number}", json.dumps(call).encode()
    known = {"projects/-x/a.jsonl": ["1-2-3", 100, 50, "ab" * 16, 0]}
    yield "notes/valid-known", json.dumps(known).encode()
    yield "notes/valid-masked", b'["claude","projects/-x/a.jsonl","0123abcd",["0123456789ab"]]\n'
    yield "items/valid", b"\n".join(json.dumps(item).encode() for item in ITEMS)
    yield "masking/valid", b"\n".join(json.dumps({"content": text}).encode() for text in SAID)
    yield "masking/valid-text", "\n".join(SAID).encode()


def write() -> None:
    for made in (_formats(), _index(), _transcripts(), _opencode(), _asked(), _others()):
        for name, data in made:
            path = CORPUS / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    write()
