"""LangGraph's own suite for checkpointers, over every kind of store."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from cortext.adapters.langgraph import CortextSaver


@pytest.mark.parametrize("url", ["{}", "log:{}", "document:{}", "memory:"])
def test_saver_passes_full_langgraph_conformance_suite(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All capabilities are there, and each of their tests passes."""
    number = iter(range(100))

    @checkpointer_test(name=f"CortextSaver {url}")
    async def saver() -> AsyncGenerator[CortextSaver]:
        async with CortextSaver(url.format(tmp_path / str(next(number)))) as made:
            yield made

    with capsys.disabled():
        report = asyncio.run(validate(saver, progress=ProgressCallbacks.default()))
        report.print_report()
    assert report.conformance_level() == "FULL", report.to_dict()
    passed = {name for name, result in report.results.items() if result.passed}
    assert passed == {capability.value for capability in ALL_CAPABILITIES}
