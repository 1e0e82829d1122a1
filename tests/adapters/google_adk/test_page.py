"""The how-to page is true."""

import asyncio
from typing import Any

from tests.adapters.google_adk.scenes import call, speaker
from tests.adapters.pages import run_page


def test_how_to_page_code_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page = run_page("google-adk.md")

    async def main() -> None:
        agent: Any = speaker(None, "In Bergen.", "Still there.")[0].agent
        assert await page["answer"](agent, "ada", "1", "Where is my parcel?") == "In Bergen."
        assert await page["answer"](agent, "ada", "1", "And now?") == "Still there."
        assert await page["chats_of"]("ada") == ["1"]
        assert await page["chats_of"]("bob") == []
        agent = speaker(None, call("pay", amount=3), "Paid.")[0].agent
        await page["answer"](agent, "ada", "bill", "Pay the bill.")
        assert await page["confirm"](agent, "ada", "bill") == "Paid."

    asyncio.run(main())
