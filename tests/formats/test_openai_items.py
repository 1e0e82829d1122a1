"""Items of openai-agents whose text is long: it is stored once, and comes back where it was."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from cortext.formats.openai_items import KEY, items_of, message_of

LONG = "a sentence that goes on for a while, " * 3


def part(text: str) -> dict[str, Any]:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": []}


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": "m", "content": [*parts], "role": "assistant", "type": "message"}


ONCE: list[dict[str, Any]] = [
    {"role": "user", "content": LONG},
    {"content": LONG, "role": "developer"},
    said(part(LONG)),
    said({"type": "output_text"}, part(LONG)),
    {"call_id": "c", "output": LONG, "type": "function_call_output"},
    {"call_id": "c", "output": [{"type": "input_text", "text": LONG}], "type": "mcp_call_output"},
]


@pytest.mark.parametrize("item", ONCE)
def test_long_text_is_stored_once_and_item_is_restored(item: dict[str, Any]) -> None:
    """The item is equal to what it was, in the order of its keys too."""
    message = message_of(item)
    assert message.content == LONG
    assert LONG not in json.dumps(message.extra)
    assert json.dumps(items_of(message)) == json.dumps([item])


@pytest.mark.parametrize("item", [said(part(LONG), part("more")), said(part("short"))])
def test_short_or_multipart_item_is_stored_unchanged(item: dict[str, Any]) -> None:
    """The text of several parts is not that of any of them."""
    message = message_of(item)
    assert message.extra == {KEY: item}
    assert items_of(message) == [item]


def test_items_of_returns_copies_of_stored_items() -> None:
    """Stores that keep messages in memory give them to others too."""
    message = message_of(said(part(LONG)))
    before = json.dumps(message.extra)
    items_of(message)[0]["content"][0]["text"] = "changed"
    assert json.dumps(message.extra) == before


def test_redacted_message_text_is_redacted_in_its_item() -> None:
    """What `redact` leaves of a message is all that an agent gets."""
    message = replace(message_of({"role": "user", "content": LONG}), content="[masked]")
    assert items_of(message) == [{"role": "user", "content": "[masked]"}]


@pytest.mark.parametrize(
    "path", ["x/9/y", "content/x/text", "content/0", "a/b/c/d", "role", "x", "", 5]
)
def test_invalid_text_path_yields_item_without_text(path: Any) -> None:
    """Whatever stands where the keys stood, there is an item."""
    message = message_of(said(part(LONG)))
    changed = replace(message, extra={**message.extra, f"{KEY}_text": path})
    assert items_of(changed) == [said(part(LONG) | {"text": None})]


def test_too_deeply_nested_item_raises_value_error() -> None:
    """In a sentence, and not by the end of a stack."""
    content: Any = LONG
    for _ in range(5000):
        content = [content]
    with pytest.raises(ValueError, match="nested too deeply"):
        message_of({"role": "user", "content": content})
