"""A conversation in Claude Code and one in Codex, had in ~/demo, in an empty home."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = os.getcwd()
CLAUDE, CODEX = "3f0c2f6e-7d1b-4c8e-9a55-0b8f5f3f6a10", "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e5f"


def stamp(hours: float) -> str:
    return f"{datetime.now(UTC) - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S.000Z}"


def claude(turns: list[tuple[str, str]], hours: float) -> None:
    lines: list[dict[str, object]] = []
    for number, (role, text) in enumerate(turns):
        said: dict[str, object] = {"role": role, "content": text}
        if role == "assistant":
            said |= {"id": f"msg_{number}", "model": "claude-sonnet-4-5"}
        parent = f"u{number - 1}" if number else None
        line = {"type": role, "uuid": f"u{number}", "parentUuid": parent, "sessionId": CLAUDE}
        lines.append({**line, "cwd": HERE, "timestamp": stamp(hours), "message": said})
    slug = "".join(letter if letter.isalnum() else "-" for letter in HERE)
    write(Path.home() / f".claude/projects/{slug}/{CLAUDE}.jsonl", lines)


def codex(turns: list[tuple[str, str]], hours: float) -> None:
    meta = {"id": CODEX, "cwd": HERE, "cli_version": "0.166.0", "timestamp": stamp(hours)}
    items: list[tuple[str, object]] = [("session_meta", meta)]
    for role, text in turns:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        items.append(("response_item", {"type": "message", "role": role, "content": content}))
    lines = [{"timestamp": stamp(hours), "type": type, "payload": item} for type, item in items]
    folder = Path.home() / ".codex/sessions/2026/01/12"
    write(folder / f"rollout-2026-01-12T09-30-00-{CODEX}.jsonl", lines)


def write(path: Path, lines: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


claude(
    [
        ("user", "Why does the parser get slower with every file?"),
        ("assistant", "The cache is never emptied: each file keeps its whole tree."),
        ("user", "Empty it every hour."),
        ("assistant", "Done: `expire()` runs every hour, and a test shows it."),
    ],
    hours=50,
)
codex(
    [
        ("user", "Design the retry logic for uploads"),
        ("assistant", "Three tries, a jittered back-off, and the chunk's hash as the key."),
    ],
    hours=3,
)
