"""The how-to page is true."""

import asyncio

import pytest

from tests.adapters.pages import run_page
from tests.adapters.pydantic_ai.scenes import call, speaker


def test_how_to_page_code_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page = run_page("pydantic-ai.md")

    async def main() -> None:
        agent, script = speaker("In Bergen.", "Still there.")
        assert await page["answer"](agent, "ada", "1", "Where is my parcel?") == "In Bergen."
        assert await page["answer"](agent, "ada", "1", "And now?") == "Still there."
        assert len(script.seen[1]) == 3
        assert await page["chats_of"]("ada") == ["1"]
        assert await page["chats_of"]("bob") == []
        texts = [f"text {number}" for number in range(8)]
        crowd = [
            page["answer_among_others"](speaker(*["yes"] * 20)[0], "ada", "crowd", text)
            for text in texts
        ]
        assert await asyncio.gather(*crowd) == ["yes"] * 8
        kept = str(await page["store"].load("crowd", scope="ada"))
        assert [text for text in texts if kept.count(text) != 1] == []
        agent, _ = speaker("yes")
        with pytest.raises(page["OwnerConflict"], match="belongs to another owner"):
            await page["answer_among_others"](agent, "bob", "crowd", "mine?")
        agent, _ = speaker(call("pay", "p1", amount=3), "Paid.")
        assert await page["ask"](agent, "bill", "Pay the bill.") == "May I use pay?"
        assert await page["approve"](agent, "bill") == "Paid."
        assert await page["approve"](agent, "bill") == "Nothing waits."

    asyncio.run(main())
