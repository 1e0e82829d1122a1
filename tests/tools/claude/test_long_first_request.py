"""A glance at a transcript whose first request is longer than what a glance reads at once."""

import json
from pathlib import Path

from cortext.tools.claude.reader import ClaudeBridge

ID = "0a1b2c3d-0000-4000-8000-000000000000"


def test_glance_titles_session_by_very_long_first_request(tmp_path: Path) -> None:
    """Without a title a session is not listed, so it could not be imported either."""
    folder = tmp_path / "projects/-x"
    folder.mkdir(parents=True)
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Read this: " + "x" * 30_000}},
        {"type": "assistant", "message": {"role": "assistant", "content": "y" * 20_000}},
        {"type": "assistant", "message": {"role": "assistant", "content": "Done."}},
    ]
    common = {"sessionId": ID, "cwd": "/x", "timestamp": "2026-01-01T00:00:00Z", "version": "2"}
    whole = [{**common, "uuid": str(n), **line} for n, line in enumerate(lines)]
    text = "".join(f"{json.dumps(line)}\n" for line in whole)
    (folder / f"{ID}.jsonl").write_text(text, encoding="utf-8")
    bridge = ClaudeBridge(str(tmp_path))
    (source,) = bridge.sources()
    assert bridge.glance(source).title.startswith("Read this: x")
