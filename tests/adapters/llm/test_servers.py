"""Conversations on a real Redis."""

from cortext.adapters.llm import CortextLog
from tests.adapters.llm.message_checks import check_messages_round_trip
from tests.adapters.llm.scenes import model
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order, stored


def test_redis_messages_of_every_kind_round_trip(redis_url: str) -> None:
    """As from a folder."""
    check_messages_round_trip(redis_url)


def write(url: str, name: str, count: int) -> None:
    conversation = CortextLog(url, owner="ada").conversation("shared", model())
    for number in range(count):
        conversation.prompt(f"{name}-{number}").text()


def test_eight_processes_prompt_in_one_conversation_without_loss(redis_url: str) -> None:
    """Nobody fails, and what was acknowledged is there once, with its answer."""
    written = eight_write(write, redis_url, 10)
    texts = [message.content for message in stored(redis_url).load("shared").messages]
    in_each_ones_order([text for text in texts if not text.startswith("echo")], written)
    assert sorted(text for text in texts if text.startswith("echo")) == sorted(
        f"echo: {text}" for text in written
    )
    assert [row.id for row in CortextLog(redis_url).conversations(owner="ada")] == ["shared"]
    assert CortextLog(redis_url).conversations(owner="bob") == []


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there."""
    fleet_of("llm.md", redis_url).conversation("s", model()).prompt("hi").text()
    assert len(CortextLog(redis_url).messages("s")) == 2
