"""The how-to page is true."""

import asyncio
import json
from pathlib import Path

import pytest
from claude_agent_sdk import project_key_for_directory

from tests.adapters.pages import run_page

SESSION = "0f0e0d0c-0b0a-4909-8807-060504030201"


def test_how_to_page_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks, one after the other, and what they define."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    directory = str(tmp_path)
    project = tmp_path / "claude" / "projects" / project_key_for_directory(directory)
    project.mkdir(parents=True)
    entry = {"type": "user", "uuid": SESSION, "sessionId": SESSION, "cwd": directory,
             "message": {"role": "user", "content": "Mend the roof"}}  # fmt: skip
    (project / f"{SESSION}.jsonl").write_text(f"{json.dumps(entry)}\n", encoding="utf-8")
    page = run_page("claude-agent-sdk.md")
    assert page["options"].session_store is page["store"]

    async def main() -> None:
        for _ in range(2):
            await page["take_over"](SESSION, directory)
        assert await page["titles"](directory) == ["Mend the roof"]

    asyncio.run(main())
