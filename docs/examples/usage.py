"""Two sessions of Claude Code and one of Codex with known tokens, in an empty home."""

import json
from pathlib import Path

CLAUDE = ("3f0c2f6e-7d1b-4c8e-9a55-0b8f5f3f6a10", "5a1d3c77-2f64-4f0e-8f52-6f1f0c9b7d21")
CODEX = "019a2f64-5c1e-7b42-8f0d-6a1c2b3d4e5f"


def claude(session: str, folder: str, day: str, model: str, answers: int, output: int) -> None:
    head = {"sessionId": session, "cwd": folder, "version": "2.1.325"}
    request = {"role": "user", "content": "Make the parser faster"}
    lines = [{**head, "type": "user", "timestamp": f"{day}T09:00:00Z", "message": request}]
    for number in range(answers):
        usage = {
            "input_tokens": 12,
            "cache_read_input_tokens": 60_000,
            "cache_creation_input_tokens": 2_500,
            "output_tokens": output,
        }
        message = {"id": f"msg_{session[:4]}_{number}", "model": model, "usage": usage}
        time = f"{day}T09:{number:02}:00Z"
        answer = {**head, "type": "assistant", "timestamp": time, "message": message}
        lines.append({**answer, "requestId": f"req_{number}"})
    write(f".claude/projects/{folder.replace('/', '-')}/{session}.jsonl", lines)


def codex(day: str) -> None:
    totals = {"input_tokens": 80_000, "cached_input_tokens": 60_000, "output_tokens": 3_000}
    payloads = (
        ("session_meta", {"id": CODEX, "cwd": "/home/you/shop", "cli_version": "0.166.0"}),
        ("turn_context", {"model": "gpt-5.1-codex"}),
        ("event_msg", {"type": "user_message", "message": "Design the retry logic"}),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": totals}}),
    )
    lines = [
        {"timestamp": f"{day}T10:00:00Z", "type": type, "payload": item} for type, item in payloads
    ]
    year, month, date = day.split("-")
    write(f".codex/sessions/{year}/{month}/{date}/rollout-{day}T10-00-00-{CODEX}.jsonl", lines)


def write(name: str, lines: list[dict[str, object]]) -> None:
    path = Path.home() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


claude(CLAUDE[0], "/home/you/shop", "2026-01-12", "claude-sonnet-4-5", 40, 600)
claude(CLAUDE[1], "/home/you/docs", "2026-01-13", "claude-opus-4-5", 10, 900)
codex("2026-01-13")
