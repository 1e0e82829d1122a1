"""Small transcripts of each tool whose tokens are known."""

import json
import sqlite3
from pathlib import Path
from typing import Any

LINE = {"sessionId": "s", "cwd": "/home/you/shop", "version": "2.1.325"}


def claude_answer(
    id: str, *, at: str = "2026-03-10T12:00:00Z", model: str = "claude-sonnet-4-5", **usage: Any
) -> dict[str, Any]:
    """A line of Claude Code with one part of an answer.

    `usage` has the numbers that the API reports; `hour` is the part of `write` that is kept for an
    hour.
    """
    written, hour = usage.pop("write", 0), usage.pop("hour", 0)
    counts = {
        "input_tokens": usage.pop("input", 0),
        "output_tokens": usage.pop("output", 0),
        "cache_read_input_tokens": usage.pop("read", 0),
        "cache_creation_input_tokens": written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written - hour,
            "ephemeral_1h_input_tokens": hour,
        },
    }
    message = {"id": id, "role": "assistant", "model": model, "usage": counts, "content": []}
    line = {**LINE, "type": "assistant", "uuid": f"u-{id}", "parentUuid": None, "timestamp": at}
    return {**line, "requestId": f"req_{id}", "message": message, **usage}


def claude_request(text: str = "Hello", at: str = "2026-03-10T11:59:00Z") -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {**LINE, "type": "user", "uuid": f"q-{text}", "timestamp": at, "message": message}


def write_lines(path: Path, *lines: dict[str, Any] | str, mode: str = "w") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        file.writelines(
            (line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))) + "\n"
            for line in lines
        )
    return path


SESSION_A = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
SESSION_B = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"


def claude_file(home: Path, session: str, *lines: dict[str, Any] | str) -> Path:
    folder = home / ".claude/projects/-home-you-shop"
    return write_lines(folder / f"{session}.jsonl", claude_request(), *lines)


CODEX_ID = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e5f"
CODEX_FORK = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e60"


def codex_file(home: Path, id: str, *lines: dict[str, Any] | str) -> Path:
    folder = home / ".codex/sessions/2026/03/10"
    return write_lines(folder / f"rollout-2026-03-10T12-00-00-{id}.jsonl", *lines)


def codex_meta(id: str, **fields: Any) -> dict[str, Any]:
    payload = {"id": id, "cwd": "/home/you/shop", "cli_version": "0.166.0", **fields}
    return {"timestamp": "2026-03-10T12:00:00Z", "type": "session_meta", "payload": payload}


def codex_turn(model: str = "gpt-5.1-codex") -> dict[str, Any]:
    payload = {"model": model, "cwd": "/home/you/shop"}
    return {"timestamp": "2026-03-10T12:00:01Z", "type": "turn_context", "payload": payload}


def codex_request(text: str = "Hello") -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    payload = {"type": "message", "role": "user", "content": content}
    return {"timestamp": "2026-03-10T12:00:01Z", "type": "response_item", "payload": payload}


def codex_total(
    input: int,
    cached: int,
    output: int,
    reasoning: int = 0,
    write: int = 0,
    *,
    last: Any = None,
    at: str = "",
) -> dict[str, Any]:
    """The running totals of a session after an answer. `last` has those of the last answer."""
    names = (
        "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens",
        "cache_write_input_tokens",
    )  # fmt: skip
    total = dict(zip(names, (input, cached, output, reasoning, write), strict=True))
    info: dict[str, Any] = {"total_token_usage": total}
    if last is not None:
        info["last_token_usage"] = dict(zip(names, last, strict=False))
    payload = {"type": "token_count", "info": info}
    time = at or "2026-03-10T12:00:02Z"
    return {"timestamp": time, "type": "event_msg", "payload": payload}


GEMINI_ID = "11112222-3333-4444-5555-666677778888"
GEMINI_FORK = "99992222-3333-4444-5555-666677778888"


def gemini_file(
    home: Path, *lines: dict[str, Any], id: str = GEMINI_ID, start: str = "2026-03-10T12:00:00Z"
) -> Path:
    head = {"sessionId": id, "projectHash": "x", "kind": "main"}
    head |= {"startTime": start, "lastUpdated": start}
    user = {"id": "q", "type": "user", "timestamp": "2026-03-10T12:00:00Z", "content": "Hello"}
    path = home / f".gemini/tmp/shop/chats/session-2026-03-10T12-00-{id[:8]}.jsonl"
    return write_lines(path, head, user, *lines)


def gemini_answer(id: str, model: str = "gemini-2.5-pro", **tokens: int) -> dict[str, Any]:
    line = {"id": id, "type": "gemini", "timestamp": "2026-03-10T12:00:05Z", "content": "Hi"}
    return {**line, "model": model, "tokens": tokens}


def opencode_database(
    home: Path,
    messages: list[tuple[str, str, dict[str, Any]]],
    *,
    forked_at: int | None = None,
) -> Path:
    """A database with the session `ses_1` and its sub-agent `ses_2`. A message has its session, its
    id and its data. If `forked_at` is given, `ses_0` is a session that began then."""
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.executescript(
        """
        CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
            version TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
            time_updated INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
            time_created INTEGER, time_updated INTEGER, data TEXT);
        INSERT INTO session VALUES ('ses_1', NULL, '/home/you/shop', 'Shop', '1.18',
            1773140000000, 1773231000000);
        INSERT INTO session VALUES ('ses_2', 'ses_1', '/home/you/shop', 'Sub', '1.18',
            1773140000000, 1773231000000);
        """
    )
    if forked_at is not None:
        row = ("ses_0", None, "/home/you/shop", "Fork", "1.18", forked_at, forked_at)
        db.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?)", row)
    for number, (session, id, data) in enumerate(messages):
        row = (id, session, 1000 + number, 1000 + number, json.dumps(data))
        db.execute("INSERT INTO message VALUES (?,?,?,?,?)", row)
    db.commit()
    db.close()
    return path


def opencode_answer(created: int, cost: float = 0.0, **tokens: Any) -> dict[str, Any]:
    cache = {"read": tokens.pop("read", 0), "write": tokens.pop("write", 0)}
    data = {"role": "assistant", "modelID": "claude-sonnet-4-5", "providerID": "anthropic"}
    times = {"created": created, "completed": created + 1}
    return {**data, "cost": cost, "time": times, "tokens": {**tokens, "cache": cache}}
