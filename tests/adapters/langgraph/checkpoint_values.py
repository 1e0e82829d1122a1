"""Values of every kind, put into a checkpoint and read back."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.messages import (
    HumanMessage,
)
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Send

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.scenes import on

DEEP: Any = "bottom"
for _ in range(100):
    DEEP = {"down": [DEEP]}
DEEPER: Any = b"bottom"
for _ in range(200):
    DEEPER = {"down": DEEPER}
VALUES: dict[str, Any] = {
    "deep": DEEP, "deeper": DEEPER,
    "text": "a\u2028b\x00c", "number": -(2**63), "large": 2**64 - 1, "real": -0.0, "none": None,
    "list": [1, True, None, "x", [], {}, {"a": [1.5]}], "empty": [], "bytes": b"\xff\x00",
    "array": bytearray(b"ab"), "dict": {"a": {"b": 1}, "long": "x" * 1000}, "keys": {1: "a"},
    "time": datetime(2026, 1, 2, tzinfo=UTC), "set": {1, 2}, "uuid": UUID(int=7),
    "decimal": Decimal("1.50"), "send": [Send("node", {"x": 1})], "nan": float("inf"),
    "mixed": {"messages": [HumanMessage("m", id="m")]}, "path": Path("/x"), "true": True,
}  # fmt: skip


def put(saver: CortextSaver, values: dict[str, Any], config: Any = None) -> Any:
    checkpoint = empty_checkpoint()
    versions: dict[str, Any] = dict.fromkeys(values, 1)
    checkpoint |= {"channel_values": values, "channel_versions": versions}
    config = config or on("t", checkpoint_ns="")
    return saver.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, versions)


def got(place: Path, serde: Any = None) -> dict[str, Any]:
    found = CortextSaver(place, serde=serde).get_tuple(on("t"))
    assert found is not None
    return found.checkpoint["channel_values"]
