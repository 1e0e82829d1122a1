"""What tools send to a hook."""

from typing import Any

from tests.features.capture_bench import Bench


def payload_of(bench: Bench, **more: str) -> dict[str, Any]:
    return {"session_id": bench.session, "transcript_path": str(bench.transcript), **more}
