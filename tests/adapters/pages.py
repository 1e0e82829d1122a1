"""The how-to page of an adapter, as a person would copy it."""

import re
from pathlib import Path
from typing import Any

_PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "building-agents"
_BLOCKS = re.compile(r"^```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run_page(name: str) -> dict[str, Any]:
    """Run its blocks of Python, one after the other; what they define."""
    path = _PAGES / name
    blocks = _BLOCKS.findall(path.read_text(encoding="utf-8"))
    assert blocks, f"{path} has no block of Python"
    page: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks:
        exec(compile(block, str(path), "exec", dont_inherit=True), page)
    return page
