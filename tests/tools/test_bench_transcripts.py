"""What the bench measures on is what the bridges can read: else its figures would say nothing."""

from pathlib import Path

import pytest

from bench.decoding import FOLDERS, TOOLS
from bench.transcripts import Words, write_one
from cortext.tools.registry import open_bridge


@pytest.mark.parametrize("tool", TOOLS)
def test_generated_bench_transcript_is_read_without_damage(tool: str, tmp_path: Path) -> None:
    """Nothing is wrong with it, everybody speaks in it, and each call has its result."""
    write_one(tool, tmp_path, Words(3), 200_000)
    bridge = open_bridge(tool, str(tmp_path / FOLDERS.get(tool, f".{tool}")))
    (source,) = bridge.sources()
    decoded = bridge.decode(source)
    said = decoded.session.messages
    assert list(decoded.damages) == []
    assert {"user", "assistant", "tool"} <= {message.role for message in said}
    calls = {call["id"] for message in said for call in message.tool_calls or ()}
    assert {message.tool_call_id for message in said if message.role == "tool"} == calls
    assert sum(len(message.content) for message in said) > 80_000
