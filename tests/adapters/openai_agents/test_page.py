"""The how-to page is true."""

import asyncio
import re
from pathlib import Path
from typing import Any

from tests.adapters.openai_agents.scenes import call, pay, speaker

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "openai-agents.md"
BLOCKS = re.compile(r"^```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page: dict[str, Any] = {"__name__": "__page__"}
    for block in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(block, str(PAGE), "exec"), page)

    async def main() -> None:
        agent, _ = speaker("In Bergen.", "Still there.")
        assert await page["answer"](agent, "ada", "1", "Where is my parcel?") == "In Bergen."
        assert await page["answer"](agent, "ada", "1", "And now?") == "Still there."
        assert await page["chats_of"]("ada") == ["ada/1: Where is my parcel?"]
        assert await page["chats_of"]("bob") == []
        session = page["CortextSession"]("bill")
        agent, _ = speaker([call("pay", "p1", amount=3)], "Paid.", tools=[pay])
        assert await page["ask"](agent, session, "Pay the bill.") == "May I use pay?"
        assert await page["approve"](agent, session) == "Paid."
        assert await page["approve"](agent, session) == "Nothing waits."

    asyncio.run(main())
