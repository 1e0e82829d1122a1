"""The how-to page is true."""

import asyncio

from tests.adapters.openai_agents.scenes import call, pay, speaker
from tests.adapters.pages import run_page


def test_how_to_page_code_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page = run_page("openai-agents.md")

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
