"""A transcript of Claude Code in an empty home, for the pages about the archive."""

import json
import os
from pathlib import Path

ID = "11111111-2222-4333-8444-555555555555"


def line(number: int, role: str, text: str) -> str:
    said = {"role": role, "content": text}
    who = {"type": role, "uuid": f"u{number}", "sessionId": ID, "cwd": "/home/you/project"}
    return json.dumps({**who, "timestamp": f"2026-01-12T09:3{number}:00Z", "message": said})


path = Path.home() / ".claude/projects/-home-you-project" / f"{ID}.jsonl"
path.parent.mkdir(parents=True, exist_ok=True)
texts = ("How do we make the parser faster?", "Measure first: where does the time go?")
lines = [line(n, ("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]
path.write_text("\n".join(lines) + "\n", encoding="utf-8")
os.utime(path, (1_768_210_260, 1_768_210_260))
