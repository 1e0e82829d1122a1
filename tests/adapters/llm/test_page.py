"""The how-to page is true."""

import re
from pathlib import Path
from typing import Any

from tests.adapters.llm.scenes import model

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "llm.md"
BLOCKS = re.compile(r"^```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page: dict[str, Any] = {"__name__": "__page__"}
    for block in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(block, str(PAGE), "exec"), page)
    assert page["answer"](model(), "ada", "1", "Where is it?") == "echo: Where is it?"
    assert '"echo: Where is it?"' in page["answer"](model(), "ada", "1", "recall")
    assert page["chats_of"]("ada") == ["ada/1: Where is it?"]
    assert page["chats_of"]("bob") == []
    assert page["ask"](model(), "bills", 'call pay {"bill": "7"}') == "May I pay 7?"
    assert page["approve"](model(), "bills") == "got 7 is paid"
    assert page["approve"](model(), "bills") == "Nothing waits."
