"""Messages of every kind, and what a log must give back of them."""

from typing import Any

import llm
from llm.parts import (
    AttachmentPart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.llm_log import LlmLog
from tests.adapters.llm.scenes import dumped

PNG = llm.Attachment(type="image/png", content=b"\x89PNG\0")
MESSAGES: list[Any] = [
    llm.system("be brief"),
    llm.user("hello"),
    llm.assistant("hi"),
    llm.user(""),
    Message("user", []),
    llm.user("two", "parts"),
    Message("user", [TextPart("see"), AttachmentPart(PNG), AttachmentPart(
        llm.Attachment(type="text/plain", url="https://example.org/a")), AttachmentPart(None)]),
    Message("assistant", [
        ReasoningPart("I think", provider_metadata={"signature": "gA=="}),
        ReasoningPart("", redacted=True),
        TextPart("so", provider_metadata={"b": 1, "a": [None, 1e22]}),
        ToolCallPart("look_up", {"z": 1, "key": "x"}, "c1"),
        ToolCallPart("look_up", {}, "c2"),
    ], provider_metadata={"id": "m1"}),
    Message("tool", [
        ToolResultPart("look_up", "found x", "c1", attachments=[PNG]),
        ToolResultPart("look_up", "", "c2", exception="ValueError: no"),
    ]),
    Message("assistant", [
        ToolCallPart("web_search", {"q": "x"}, "s1", server_executed=True),
        ToolResultPart("web_search", "a page", "s1", server_executed=True),
        TextPart("it says"),
    ]),
    Message("tool", [ToolResultPart("look_up", "of no id")]),
    Message("of a later release", [TextPart("\u2028\ud800")]),
]  # fmt: skip


def check_messages_round_trip(where: Any) -> None:
    """Check that a log, and another one, give back every message."""
    log = LlmLog(where)
    for end in range(1, len(MESSAGES) + 1):
        log.keep_chain("s", MESSAGES[:end])
    log.keep_chain("s", MESSAGES)
    found = [Message.from_dict(item) for item in log.read("s")[0]]  # type: ignore[arg-type]
    assert dumped(found) == dumped(MESSAGES)
    if where != "memory:":
        assert dumped(CortextLog(where).messages("s")) == dumped(MESSAGES)
    # One for each message, and one more for the second result.
    assert log.kept.store.load("s").message_count == len(MESSAGES) + 1
