"""The how-to page is true."""

import asyncio

from tests.adapters.pages import run_page
from tests.adapters.pydantic_ai.scenes import call, speaker


def test_the_page_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page = run_page("pydantic-ai.md")

    async def main() -> None:
        agent, script = speaker("In Bergen.", "Still there.")
        assert await page["answer"](agent, "ada", "1", "Where is my parcel?") == "In Bergen."
        assert await page["answer"](agent, "ada", "1", "And now?") == "Still there."
        assert len(script.seen[1]) == 3
        assert await page["chats_of"]("ada") == ["1"]
        assert await page["chats_of"]("bob") == []
        agent, _ = speaker(call("pay", "p1", amount=3), "Paid.")
        assert await page["ask"](agent, "bill", "Pay the bill.") == "May I use pay?"
        assert await page["approve"](agent, "bill") == "Paid."
        assert await page["approve"](agent, "bill") == "Nothing waits."

    asyncio.run(main())
