"""Lists bring in new messages when they are asked to; finding a conversation never does."""

from cortext.features.listing.conversation_list import ConversationList
from tests.features.capture_bench import Bench


def test_find_captures_no_messages(claude_bench: Bench) -> None:
    claude_bench.bind()
    before = claude_bench.files
    conversations = ConversationList(claude_bench.workspace.root)
    assert [row.title for row in conversations.find("cache")] == ["The cache"]
    assert conversations.find("no such title") == []
    assert claude_bench.files == before


def test_list_captures_messages_only_on_request(claude_bench: Bench) -> None:
    claude_bench.bind()
    before = claude_bench.files
    conversations = ConversationList(claude_bench.workspace.root)
    conversations.list()
    assert claude_bench.files == before
    (row,) = (row for row in conversations.list(capture=True).rows if row.title == "The cache")
    assert claude_bench.said() == claude_bench.expected
    assert row.messages == len(claude_bench.messages())
